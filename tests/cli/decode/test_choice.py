"""`kcli decode FILE`: the kind of the file chooses the command."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.inside import kcli


def test_a_folder_of_snapshots_alone_is_inspected(samples: Path, tmp_path: Path) -> None:
    """It was "no log segment in this directory", though `kcli DIR` reads it."""
    snapshot = min(samples.rglob("*.checkpoint"))
    folder = tmp_path / "data" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    shutil.copy(snapshot, folder)
    for place in (folder, folder.parent):
        done = kcli("decode", str(place))
        assert (done.returncode, done.stdout) == (0, kcli("snapshot", "inspect", str(place)).stdout)
    shutil.copy(next(iter(samples.rglob("orders-0/*.log"))), folder)
    assert kcli("decode", str(folder)).stdout.startswith(kcli("decode", "segment", str(folder)).stdout[:200])
