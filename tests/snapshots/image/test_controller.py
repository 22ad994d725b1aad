"""What a 4.4 controller refuses and takes; `tests/real/test_snapshots.py` holds the cases to its own classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.snapshots.history.replayed import replay_folder
from kcli.snapshots.reading.api import take_log
from kcli.snapshots.reading.load import Loader
from tests.snapshots.refused import BASE, CASES, write


def first_refused(folder: Path, *, fast: bool = True) -> int | None:
    loader = Loader(strict=False).judged()
    if not fast:
        loader.changes = None
    take_log(loader, folder, None)
    loader.judge_open()
    return min((offset for offset, _ in (*loader.refusals, *loader.problems)), default=None)


@pytest.mark.parametrize("name", CASES)
def test_a_controller_refuses_it_or_takes_it(name: str, tmp_path: Path) -> None:
    records, which = CASES[name]
    folder = write(tmp_path, records)
    expected = None if which is None else len(BASE) + which
    assert first_refused(folder) == first_refused(folder, fast=False) == expected
    errors = [each.message for each in replay_folder(folder) if each.is_error]
    assert bool(errors) == (which is not None)
    assert which is None or f"record {expected}: " in errors[0]
