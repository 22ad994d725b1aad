"""What has come is in the file, whatever ends the command."""

import os
from pathlib import Path

import pytest

from kcli.cli.capture.live_output import open_live_output


def test_it_grows_under_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with open_live_output(str(path)) as out:
        out.write(b"one")
        out.flush()
        assert path.read_bytes() == b"one"
        out.write(b"two")
    assert path.read_bytes() == b"onetwo"


def test_what_has_come_stays_when_the_command_fails(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"something longer, from before")
    with pytest.raises(RuntimeError), open_live_output(str(path)) as out:
        out.write(b"new")
        out.flush()
        raise RuntimeError
    assert path.read_bytes() == b"new"


def test_what_was_there_stays_until_something_comes(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"old")
    for path in (old, new):
        with pytest.raises(RuntimeError), open_live_output(str(path)):
            raise RuntimeError
    assert old.read_bytes() == b"old"
    assert not new.exists()


def test_errors_have_the_name_as_it_was_given(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing, open_live_output(str(tmp_path / "no" / "x")):
        pass
    assert missing.value.filename == str(tmp_path / "no" / "x")
    with pytest.raises(OSError, match="No space left") as full, open_live_output("/dev/full") as out:
        out.write(b"x")
    assert full.value.filename == "/dev/full"


def test_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with open_live_output(f"/dev/fd/{writer}") as out:
        out.write(b"x")
    os.close(writer)
    assert os.read(reader, 10) == b"x"
    os.close(reader)
