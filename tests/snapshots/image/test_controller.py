"""What a 4.4 controller refuses and takes; `tests/real/test_snapshots.py` holds the cases to its own classes."""

from pathlib import Path

import pytest

from kcli.snapshots.history.replayed import replay_folder
from kcli.snapshots.reading.api import take_log
from kcli.snapshots.reading.load import Loader
from tests.snapshots.refused import BASE, CASES, feature, write


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


@pytest.mark.parametrize(
    ("name", "level", "said"),
    [
        ("group.version", 9, "feature group.version level 9; 4.4 has 0 to 1 of it"),
        ("metadata.version", 99, "feature metadata.version level 99; 4.4 has"),
    ],
)
def test_a_level_has_a_name_where_it_is_of_metadata(name: str, level: int, said: str, tmp_path: Path) -> None:
    folder = write(tmp_path, [feature(name, level)])
    assert said in next(each.message for each in replay_folder(folder) if each.is_error)
