"""How the stages of a run are laid out; what comes of them is tested in test_run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline import stages
from kcli.pipeline.context import Options, RunContext
from kcli.pipeline.journal import Journal
from kcli.pipeline.rows.naming import TopicNames
from kcli.pipeline.run import quiet
from kcli.pipeline.storage import StoredFile
from tests.pipeline.outputs import Here


def made(folder: Path, cores: int, **options: Any) -> stages.Stages:
    journal = Journal(str(folder))
    context = RunContext(Here(cores), journal, journal.begin(), Options("x", **options), quiet)
    return stages.Stages(context, TopicNames(context))


@pytest.mark.parametrize(("cores", "evenness", "size", "tasks"), [
    (1, 1.0, 1 << 30, 1), (2, 0.5, 1 << 30, 2), (2, 0.9, 1 << 30, 0), (2, 0.9, 1 << 20, 1), (4, 0.28, 1 << 30, 4),
    (8, 0.13, 1 << 30, 0), (1, 1.0, 1 << 40, 0), (2, 0.5, 1 << 40, 0),
])  # fmt: skip
def test_when_tasks_read_everything(
    cores: int, evenness: float, size: int, tasks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "largest_share", lambda *_: evenness)
    assert made(tmp_path, cores).whole_tasks([StoredFile("a", size, 0)]) == tasks
    assert made(tmp_path, cores, shares=3).whole_tasks([StoredFile("a", size, 0)]) == 0
