"""The buffer that words read from, and streams as one."""

import io

import pytest

from kcli.errors import DecodeError
from kcli.grammar.words.source import ByteSource, StreamSource, Window, leave, source_of


def test_a_source_reads_no_further_than_its_limit() -> None:
    source = ByteSource(b"abcdef", 1)
    source.limit = 4
    assert source.take(2, "x") == b"bc"
    with pytest.raises(DecodeError, match="x: needs 2 bytes at 0x3, 1 left"):
        source.take(2, "x")
    assert source.left() == 1


def test_a_stream_is_read_as_far_as_words_ask() -> None:
    stream = io.BufferedReader(io.BytesIO(b"??abcdef"))
    stream.seek(2)
    source = source_of(stream)
    assert isinstance(source, StreamSource)
    assert (source.tell(), source.left()) == (2, 6)
    assert source.take(2, "") == b"ab"
    source.seek(2)
    assert source.read(3) == b"abc"
    leave(stream, source)
    assert stream.read() == b"def"
    with pytest.raises(DecodeError, match="needs 9 bytes at 0x5, 3 left"):
        source.take(9, "")


def test_a_pipe_has_no_end_until_it_is_there() -> None:
    class Pipe:
        def __init__(self, data: bytes) -> None:
            self.read = io.BytesIO(data).read

    source = StreamSource(Pipe(b"abcd"))  # type: ignore[arg-type]
    assert source.take(2, "") == b"ab"
    with pytest.raises(DecodeError, match="needs 5 bytes at 0x2, 2 left"):
        source.take(5, "")
    assert source.read() == b"cd"
    assert StreamSource(Pipe(b"abcd")).read() == b"abcd"  # type: ignore[arg-type]


def test_a_window_ends_at_the_limit() -> None:
    source = ByteSource(b"abcdef", 1)
    source.limit = 4
    window = Window(source)
    assert (window.read(1), window.read(), window.read(1)) == (b"b", b"cd", b"")
    assert (window.seek(0, io.SEEK_END), window.seek(-1, io.SEEK_CUR), window.seek(2)) == (4, 3, 2)
    assert source_of(window) is source and window.tell() == source.tell() == 2


def test_a_buffer_is_not_copied() -> None:
    data = bytes(1000)
    memory = io.BytesIO(data)
    memory.seek(3)
    source = source_of(memory)
    assert source.getvalue() is data and source.tell() == 3
    source.read(4)
    leave(memory, source)
    assert memory.tell() == 7
    assert source_of(source) is source
