"""What was deleted on a real cluster comes back by the lines that `kcli snapshot diff --commands` prints."""

from pathlib import Path

from tests.real.lab import Cluster
from tests.real.undoing import trial


def test_deletions_are_undone(tmp_path: Path) -> None:
    """Ten of them; `python -m tests.real.undoing` tries more, other seeds and releases."""
    with Cluster("4.4.0", acl=True, heap="256m") as cluster:
        assert trial(cluster, tmp_path, 10, seed=3) == []
