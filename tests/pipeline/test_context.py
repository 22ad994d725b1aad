"""What every part of a run needs."""

from pathlib import Path

from kcli.pipeline.context import Options, RunContext
from kcli.pipeline.journal import Journal
from kcli.pipeline.writing import WrittenFile
from tests.pipeline.outputs import Here


def test_steps_are_reported_and_files_found(tmp_path: Path) -> None:
    reported: list[tuple[str, int, int]] = []
    journal = Journal(str(tmp_path))

    def note(step: str, done: int, total: int) -> None:
        reported.append((step, done, total))

    context = RunContext(Here(), journal, journal.begin(), Options("x"), note)
    assert context.hand_out("adding", [1, 2], lambda number: number + 1) == [2, 3]
    assert (reported[0], reported[-1]) == (("adding", 0, 2), ("adding", 2, 2))
    context.entry.add([WrittenFile("lineage", None, "lineage/a.parquet", 1)])
    assert context.files("lineage") == [context.uri("lineage/a.parquet")]
    assert context.files("quorum") == []
    assert (context.rows("lineage"), context.rows("quorum")) == (1, 0)
