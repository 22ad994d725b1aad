"""How the stages of a run are laid out; what comes of them is tested in test_run."""

from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline import stages
from kcli.pipeline.context import Options, RunContext
from kcli.pipeline.journal import Journal
from kcli.pipeline.rows.topic_name_fill import LearnedNames
from kcli.pipeline.run import quiet
from kcli.pipeline.storage import StoredFile
from tests.pipeline.outputs import Here


def made(folder: Path, cores: int, **options: Any) -> stages.Stages:
    journal = Journal(str(folder))
    context = RunContext(Here(cores), journal, journal.begin(), Options("x", **options), quiet)
    return stages.Stages(context, LearnedNames(context))


@pytest.mark.parametrize(("cores", "size", "is_one"), [
    (1, 1 << 30, True), (2, 1 << 30, False), (2, 1 << 20, True), (1, 1 << 40, False),
])  # fmt: skip
def test_when_a_task_reads_everything(cores: int, size: int, is_one: bool, tmp_path: Path) -> None:
    assert made(tmp_path, cores).is_one_task([StoredFile("a", size, 0)]) == is_one
    assert not made(tmp_path, cores, shares=3).is_one_task([StoredFile("a", size, 0)])
