"""The folder of a broker, and what killed ones leave behind."""

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from kcli.broker.configs import Configs
from kcli.broker.datadir import ORPHAN_SECONDS, DataDir
from kcli.snapshots.reading.names import META_PROPERTIES


def folder(at: Path, name: str, *, age: float = ORPHAN_SECONDS + 60, meta: bool = True) -> Path:
    made = at / name
    made.mkdir()
    (made / ".lock").touch()
    moment = (made / ".lock").stat().st_mtime - age
    os.utime(made / ".lock", (moment, moment))
    if meta:
        (made / META_PROPERTIES).write_text("version=1\n")
    return made


def test_folders_of_killed_brokers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = folder(tmp_path, "kcli-broker-dead")
    kept = [
        folder(tmp_path, "kcli-broker-new", age=1),
        folder(tmp_path, "kcli-broker-other", meta=False),
        folder(tmp_path, "kafka-dead"),
    ]
    held = folder(tmp_path, "kcli-broker-alive")
    elsewhere = folder(tmp_path, "elsewhere")
    (tmp_path / "kcli-broker-link").symlink_to(elsewhere)
    monkeypatch.setattr(DataDir, "looked", False)
    notes: list[str] = []
    with (held / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = DataDir(None, Configs(), notes.append)
        made.close()
    assert not gone.exists() and all(each.exists() for each in (*kept, held, elsewhere))
    assert notes == [f"{gone}: removed: its broker was killed"]
    # A folder that the user named stays, whatever became of its broker.
    monkeypatch.setattr(DataDir, "looked", False)
    named = folder(tmp_path, "kcli-broker-named")
    DataDir(named, Configs()).close()
    assert named.exists()
