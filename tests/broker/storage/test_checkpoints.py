"""Kafka's small text files."""

from pathlib import Path

import pytest

from kcli.broker.storage import checkpoints
from kcli.errors import InputError


def test_offsets_of_partitions_with_any_name(tmp_path: Path) -> None:
    path = tmp_path / "log-start-offset-checkpoint"
    assert checkpoints.read_offsets(path) == {}
    checkpoints.write_offsets(path, {("b-1", 3): 9, ("a.x", 0): 1 << 40})
    assert path.read_text() == f"0\n2\na.x 0 {1 << 40}\nb-1 3 9\n"
    assert checkpoints.read_offsets(path) == {("b-1", 3): 9, ("a.x", 0): 1 << 40}


@pytest.mark.parametrize("text", ["", "0\n", "1\n0\n", "0\n2\na 0 1\n", "0\nx\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "checkpoint"
    path.write_text(text)
    with pytest.raises(InputError, match="not a checkpoint"):
        checkpoints.read_offsets(path)


def test_topic_ids(tmp_path: Path) -> None:
    assert checkpoints.read_topic_id(tmp_path) is None
    checkpoints.write_topic_id(tmp_path, "x" * 22)
    assert (tmp_path / "partition.metadata").read_text() == f"version: 0\ntopic_id: {'x' * 22}\n"
    assert checkpoints.read_topic_id(tmp_path) == "x" * 22
