import asyncio
import random

import pytest

from kcli.client.framing import SCRATCH, FrameProtocol, describe_first_bytes
from kcli.errors import NetworkError


class Sink:
    """A FrameProtocol fed by hand, in pieces of any size."""

    def __init__(self, limit: int = 1 << 20) -> None:
        self.frames: list[bytes] = []
        self.lost: list[Exception | None] = []
        self.protocol = FrameProtocol(lambda frame: self.frames.append(bytes(frame)), self.lost.append, limit)

    def feed(self, data: bytes, piece: int) -> None:
        left = memoryview(data)
        while left:
            buffer = self.protocol.get_buffer(-1)
            taken = min(len(buffer), piece, len(left))
            assert taken > 0
            buffer[:taken] = left[:taken]
            self.protocol.buffer_updated(taken)
            left = left[taken:]


def run(check: "object") -> None:
    async def inside() -> None:
        check()  # type: ignore[operator]

    asyncio.run(inside())


@pytest.mark.parametrize("piece", [1, 3, 1000, 65_536, SCRATCH, 1 << 22])
def test_frames_come_out_as_they_went_in_whatever_the_pieces(piece: int) -> None:
    chance = random.Random(7)
    sizes = [0, 1, 4, 100, 65_535, 65_536, 200_000] if piece < 1000 else [chance.randrange(400_000) for _ in range(40)]
    frames = [chance.randbytes(size) for size in sizes]

    def check() -> None:
        sink = Sink()
        sink.feed(b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames), piece)
        assert sink.frames == frames
        assert not sink.lost

    run(check)


def test_a_frame_longer_than_is_trusted_grows_as_it_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.client.framing.TRUSTED", 100_000)
    frame = random.Random(1).randbytes(777_777)

    def check() -> None:
        sink = Sink()
        sink.feed(len(frame).to_bytes(4, "big"), 4)
        assert len(sink.protocol.get_buffer(-1)) == 100_000
        sink.feed(frame, 50_000)
        assert sink.frames == [frame]

    run(check)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "HTTP"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "speaks TLS"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH"),
        (b"\xff\xff\xff\xff", "a frame of -1 bytes"),
        (b"\x00\x20\x00\x00", "a frame of 2097152 bytes"),
    ],
)
def test_what_is_not_kafka_ends_the_connection_with_a_word(data: bytes, words: str) -> None:
    def check() -> None:
        sink = Sink()
        sink.feed(data, len(data))
        (error,) = sink.lost
        assert isinstance(error, NetworkError)
        assert words in str(error)
        assert not sink.frames

    run(check)


def test_the_end_is_told_once() -> None:
    def check() -> None:
        sink = Sink()
        sink.protocol.abort(NetworkError("a"))
        sink.protocol.connection_lost(None)
        assert [str(error) for error in sink.lost] == ["a"]

    run(check)


def test_writes_of_one_turn_leave_together() -> None:
    class Pipe(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.writes: list[bytes] = []

        def write(self, data: bytes | bytearray | memoryview) -> None:
            self.writes.append(bytes(data))

        def is_closing(self) -> bool:
            return False

    async def inside() -> None:
        sink, pipe = Sink(), Pipe()
        sink.protocol.connection_made(pipe)
        sink.protocol.send(b"one")
        sink.protocol.send(b"")
        sink.protocol.send_raw(b"\xff")
        await asyncio.sleep(0)
        assert pipe.writes == [b"\0\0\0\3one\0\0\0\0\xff"]

    asyncio.run(inside())


def test_first_bytes_are_shown() -> None:
    assert "de ad be ef" in describe_first_bytes(b"\xde\xad\xbe\xef", 10)
