"""Logs of KRaft's preview in 2.8: one line, whatever is asked of them."""

import shutil
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.snapshots.reading.preview import REASON, is_preview
from tests.snapshots.files import DATA
from tests.snapshots.made import snapshot

LOG = DATA / "preview" / f"{0:020d}.log"


def test_frames_of_the_preview() -> None:
    data = LOG.read_bytes()
    assert is_preview(memoryview(data))
    assert not is_preview(memoryview(snapshot()))
    assert not is_preview(memoryview(b""))
    # One whose bytes are not as they were written is damaged, and not of the preview for all that is known.
    assert not is_preview(memoryview(data[:150] + b"\7" + data[151:]))


@pytest.mark.parametrize("command", ["verify", "image", "log", "doctor", "check --against 3.9", "plan", "create --log"])
@pytest.mark.parametrize("name", ["@metadata-0", "__cluster_metadata-0"])
def test_one_line(command: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / name
    place.mkdir()
    shutil.copy(LOG, place)
    verb, *options = command.split()
    assert main(["snapshot", verb, *options, str(tmp_path)]) in (2, 3)
    out, err = capfd.readouterr()
    assert out == (f"{tmp_path}: 1 file not read\n" if command == "verify" and name == "__cluster_metadata-0" else "")
    assert err.count("\n") == 1
    assert REASON in err
