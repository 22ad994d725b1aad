"""What library calls take as files."""

import io
import os
from pathlib import Path
from typing import Any

import pytest

from kcli.errors import UsageError
from kcli.filelike import Stream, files_of, name_of


def test_paths_and_open_files_alone_or_several(tmp_path: Path) -> None:
    assert files_of("a", "f") == files_of(Path("a"), "f") == files_of(["a"], "f") == ["a"]
    assert files_of((Path("a"), "b"), "f") == ["a", "b"]
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    with path.open("rb") as opened:
        (stream,) = files_of(opened, "f")
        assert isinstance(stream, Stream) and name_of(stream) == str(path)
        assert stream.read() == b"abc"
        assert files_of([stream], "f") == [stream]
        stream.close()
        assert not opened.closed
    assert name_of(Stream(io.BytesIO())) == "the open file"
    assert (name_of("-"), name_of("a")) == ("standard input", "a")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (b"bytes", r"f: a path or an open file expected, not bytes \(for bytes: io.BytesIO\(data\)\)"),
        (3, "f: a path, a file opened in binary mode, or several of these expected, not int"),
        (["a", 3], "f: a path, a file opened in binary mode, or several of these expected, not int"),
        (io.StringIO("x"), r"f: a file opened in binary mode expected"),
        ([], "f: no file was given"),
        ("", "f: an empty path"),
    ],
)
def test_what_is_no_file_is_refused(given: Any, why: str) -> None:
    with pytest.raises(UsageError, match=f"^{why}"):
        files_of(given, "f")


def test_a_file_that_gives_text_is_refused_when_it_is_read() -> None:
    class Lines:
        def read(self, size: int) -> str:
            return "text"

    (stream,) = files_of(Lines(), "f")  # type: ignore[arg-type]
    assert isinstance(stream, Stream)
    with pytest.raises(UsageError, match="binary mode expected"):
        stream.read(10)


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_pipe_gives_what_is_there(buffering: int) -> None:
    end, begin = os.pipe()
    with os.fdopen(end, "rb", buffering) as pipe, os.fdopen(begin, "wb", 0) as written:
        stream, room = Stream(pipe), bytearray(100)
        written.write(b"abc")
        assert stream.readinto(room) == 3 and room.startswith(b"abc")
        os.set_blocking(end, False)
        assert stream.readinto(room) is None
        written.write(b"d")
        assert stream.readinto(room) == 1 and room.startswith(b"d")
        written.close()
        assert stream.readinto(room) == 0
