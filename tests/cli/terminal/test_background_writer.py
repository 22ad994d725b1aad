"""A file written in a thread: all of it, in order, and what went wrong is raised."""

import errno
import io
from pathlib import Path

import pytest

from kcli.cli.terminal import background_writer
from kcli.cli.terminal.background_writer import MOST_WAITING, BackgroundWriter, PausingWriter


def test_all_is_there_when_it_is_left() -> None:
    out = io.BytesIO()
    with BackgroundWriter(out, lambda: None) as writer:
        for number in range(5 * MOST_WAITING):
            writer.write(b"%d " % number)
    assert out.getvalue() == b"".join(b"%d " % number for number in range(5 * MOST_WAITING))


class Full(io.BytesIO):
    """A disk with room for some bytes."""

    def write(self, data: object) -> int:
        if self.tell() > 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)  # type: ignore[arg-type]


def test_a_full_disk_is_reported_once() -> None:
    said: list[str] = []

    def work() -> None:
        with BackgroundWriter(Full(), lambda: said.append("failed")) as writer:
            for _ in range(2 * MOST_WAITING):
                writer.write(b"123456")

    with pytest.raises(OSError, match="No space left"):
        work()
    assert said == ["failed"]


class Filling(io.FileIO):
    """A file on a disk that has room for `room` bytes."""

    room = 20

    def write(self, data: object) -> int:
        piece = bytes(data)[: max(0, self.room - self.tell())]  # type: ignore[call-overload]
        if not piece:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(piece)


@pytest.mark.parametrize("room", [0, 3, 20])
def test_a_full_disk_is_a_pause(room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is whole pieces, the beginning first; what came meanwhile is counted, and each pause is said."""
    monkeypatch.setattr(background_writer, "AGAIN_SECONDS", 0.0)
    said: list[str] = []
    with Filling(tmp_path / "out", "wb") as file:
        file.room = room
        writer = PausingWriter(file, pytest.fail, said.append)
        writer.put(b"start;")
        for _ in range(4):
            writer.put(b"middle;")
        file.room = 100
        writer.put(b"end;")
        writer.put(b"end;")
    whole = {0: b"start;end;end;", 3: b"start;end;end;", 20: b"start;middle;middle;end;end;"}[room]
    assert (tmp_path / "out").read_bytes() == whole
    lost = 6 + 4 * 7 if room < 20 else 2 * 7
    assert said == [
        "[Errno 28] No space left on device: recording pauses, traffic continues",
        f"recording continues: {lost} bytes of packets are missing",
    ]


def test_a_full_disk_is_not_tried_for_each_piece(tmp_path: Path) -> None:
    said: list[str] = []
    with Filling(tmp_path / "out", "wb") as file:
        writer = PausingWriter(file, pytest.fail, said.append)
        for number in range(50):
            writer.put(b"piece %d;" % number)
            file.room = 20 if number < 10 else 1000
    assert (tmp_path / "out").read_bytes() == b"piece 0;piece 1;" and len(said) == 1 and writer.left_out > 300


def test_a_pipe_that_nobody_reads_is_a_failure() -> None:
    class Broken(io.BytesIO):
        def write(self, data: object) -> int:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    said: list[str] = []
    with (
        pytest.raises(BrokenPipeError),
        PausingWriter(Broken(), lambda: said.append("failed"), pytest.fail) as writer,
    ):
        writer.write(b"piece")
    assert said == ["failed"]
