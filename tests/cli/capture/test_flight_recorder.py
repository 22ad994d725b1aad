"""The latest packets, and no others."""

import errno
import os
from pathlib import Path

import pytest

from kcli.cli.capture.flight_recorder import FlightRecorder
from kcli.cli.capture.packet_capture import PacketBlock
from kcli.named_file import NamedFile

HEADER = b"h" * 24
NOON = 1_764_000_000


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_at_least_so_long_is_kept(tmp_path: Path) -> None:
    recorder = FlightRecorder(tmp_path / "kept", 100, None)
    recorder.make_folder()
    for second in range(500):
        recorder.write(HEADER, PacketBlock(b"%04d" % second, NOON + second))
        found = sorted(int(text) for path in (tmp_path / "kept").iterdir() for text in fours(path.read_bytes()[24:]))
        assert found == list(range(found[0], second + 1))
        assert max(0, second - 115) <= found[0] <= max(0, second - 99)
    recorder.close()
    assert names(tmp_path / "kept")[0].startswith("kcli-20251124T")


def fours(data: bytes) -> list[bytes]:
    return [data[at : at + 4] for at in range(0, len(data), 4)]


def test_no_more_than_so_much_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.cli.capture.flight_recorder.LEAST_BYTES", 1)
    recorder = FlightRecorder(tmp_path, None, 10_000)
    for number in range(1000):
        recorder.write(HEADER, PacketBlock(bytes(100), NOON + number // 100))
        sizes = sum(path.stat().st_size for path in tmp_path.iterdir())
        assert sizes <= 10_000 + 100 + 24
        assert number < 120 or sizes > 8_500
    recorder.close()


def test_what_is_around_a_moment_stays(tmp_path: Path) -> None:
    recorder = FlightRecorder(tmp_path, 100, None)
    for second in range(1000):
        recorder.write(HEADER, PacketBlock(b"%04d" % second, NOON + second))
        if second in (300, 350):
            assert (recorder.keep() is not None) == (second == 300)
    recorder.close()
    (moment,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    kept = sorted(int(text) for path in moment.iterdir() for text in fours(path.read_bytes()[24:]))
    assert kept == list(range(kept[0], kept[-1] + 1))
    assert kept[0] <= 200
    assert 400 <= kept[-1] < 425
    assert FlightRecorder(tmp_path / "new", 1, None).keep() is None


def test_a_file_that_is_gone_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.cli.capture.flight_recorder.LEAST_BYTES", 1)
    recorder = FlightRecorder(tmp_path, 10, 1000)
    for number in range(50):
        for path in tmp_path.iterdir():
            path.unlink()
        recorder.write(HEADER, PacketBlock(bytes(300), NOON + number))
    recorder.close()
    assert len(names(tmp_path)) == 1


def test_one_that_begins_in_the_same_second_as_another(tmp_path: Path) -> None:
    for text in (b"first", b"again"):
        recorder = FlightRecorder(tmp_path, 10, None)
        recorder.write(HEADER, PacketBlock(text, NOON))
        recorder.close()
    assert sorted(path.read_bytes()[24:] for path in tmp_path.iterdir()) == [b"again", b"first"]


def test_only_so_many_moments_are_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.cli.capture.flight_recorder.MOST_MOMENTS", 3)
    recorder = FlightRecorder(tmp_path, 10, None)
    saved = []
    for second in range(200):
        recorder.write(HEADER, PacketBlock(bytes(10), NOON + second))
        saved.append(recorder.keep())
    recorder.close()
    assert recorder.moments == len([folder for folder in saved if folder is not None]) == 3
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 3


class Disk:
    """A disk with so much room, for all files below a folder."""

    def __init__(self, folder: Path, room: int) -> None:
        self.folder, self.room = folder, room

    def write_some(self, file: NamedFile, pieces: list[memoryview]) -> int:
        used = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        left = self.room - used
        if left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device", file.shown)
        return os.write(file.fileno(), b"".join(pieces)[:left])


def test_a_full_disk_costs_the_oldest_packets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest ones stay, in files of whole packets."""
    disk = Disk(tmp_path, 1000)
    monkeypatch.setattr(NamedFile, "write_some", lambda file, pieces: disk.write_some(file, pieces))
    recorder = FlightRecorder(tmp_path, 500, None)
    for second in range(2000):
        recorder.write(HEADER, PacketBlock(b"%04d" % second, NOON + second))
        found = sorted(int(text) for path in tmp_path.iterdir() for text in fours(path.read_bytes()[24:]))
        assert found == list(range(found[0], second + 1)) and (len(found) > 120 or second < 200)
    disk.room = 500
    recorder.write(HEADER, PacketBlock(b"2000", NOON + 2000))
    recorder.close()
    found = sorted(int(text) for path in tmp_path.iterdir() for text in fours(path.read_bytes()[24:]))
    assert found[-1] == 2000 and len(found) > 50


@pytest.mark.parametrize("room", [0, 10, 30])
def test_a_disk_that_others_fill_ends_it(room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(tmp_path, 1000)
    monkeypatch.setattr(NamedFile, "write_some", lambda file, pieces: disk.write_some(file, pieces))
    recorder = FlightRecorder(tmp_path, 500, None)
    recorder.write(HEADER, PacketBlock(b"0001", NOON))
    disk.room = room
    with pytest.raises(OSError, match="No space left") as failure:
        recorder.write(HEADER, PacketBlock(b"0002" * 4, NOON + 1))
    assert failure.value.filename
    recorder.close()
