"""Logs that are no metadata logs: one line, whatever is asked of them."""

import shutil
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.records import build_batch
from kcli.snapshots.reading.foreign import OTHER_TOPIC, PREVIEW, foreign_log
from tests.snapshots.files import DATA
from tests.snapshots.made import snapshot

LOG = DATA / "preview" / f"{0:020d}.log"


def test_frames() -> None:
    data = LOG.read_bytes()
    assert foreign_log(memoryview(data)) == PREVIEW
    assert foreign_log(memoryview(snapshot())) is None
    assert foreign_log(memoryview(b"")) is None
    # One whose bytes are not as they were written is damaged, and not of the preview for all that is known.
    assert foreign_log(memoryview(data[:150] + b"\7" + data[151:])) is None


def test_records_of_another_topic() -> None:
    commit = b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\3" + bytes(26)  # begins as a frame of the preview, but has a key
    for rows in ((commit, commit), ((None, b"text"), (None, None)), ((b"key", b"\1\2\0"), (b"key", None))):
        data = build_batch([(number, *row, ()) for number, row in enumerate(rows)])
        assert foreign_log(memoryview(data)) == OTHER_TOPIC
        assert foreign_log(memoryview(data[:-1] + b"\7")) is None


PLACES = {"@metadata-0": PREVIEW, "__cluster_metadata-0": PREVIEW, "orders-0": OTHER_TOPIC}
COMMANDS = ["verify", "image", "log", "doctor", "check --against 3.9", "plan", "create --log", "restore", "backup"]


@pytest.mark.parametrize("command", COMMANDS)
def test_one_line(command: str, samples: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    verb, *options = command.split()
    if verb == "backup":
        options = ["-o", str(tmp_path / "copy")]
    for name, reason in PLACES.items():
        place = tmp_path / name.strip("@") / name
        place.mkdir(parents=True)
        shutil.copy(LOG if reason == PREVIEW else samples / "orders-0" / LOG.name, place)
        folder = place if reason == OTHER_TOPIC else place.parent
        assert main(["snapshot", verb, *options, str(folder)]) in (2, 3)
        out, err = capfd.readouterr()
        assert out == (f"{folder}: 1 file not read\n" if command == "verify" and name[0] != "@" else "")
        assert err.count("\n") == 1
        assert reason in err
        assert str(folder) in err
