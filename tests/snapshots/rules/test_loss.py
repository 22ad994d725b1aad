import random
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from kcli.errors import InputError
from kcli.snapshots.reading.api import Wanted, load_image
from kcli.snapshots.reading.folder_survey import FolderSurvey
from kcli.snapshots.reading.names import SnapshotId
from kcli.snapshots.rules.loss import MOST, LogFile, losses, reach
from tests.snapshots.files import NODES, partition_folder


@pytest.mark.parametrize("node", NODES)
def test_what_is_left_is_what_can_be_loaded(node: str, tmp_path: Path) -> None:
    """Each file away in turn: the image of the others ends where the loss says."""
    folder = partition_folder(node)
    survey = FolderSurvey(folder)
    found = list(losses(survey.files, survey.spans))
    assert {each.file.name for each in found} == {each.name for each in folder.glob("0*")}
    for each in found:
        left = Path(shutil.copytree(folder, tmp_path / each.file.name))
        (left / each.file.name).unlink()
        try:
            loader = load_image(Wanted(str(left))).loader
        except InputError:
            assert each.reach in (None, each.covered.end_offset if each.covered else None), each
            continue
        assert loader.image.provenance.end_offset >= (each.reach or 0), each
        if not loader.problems:
            assert loader.image.provenance.end_offset == (each.reach or 0), each


def test_the_tail_of_a_log() -> None:
    survey = FolderSurvey(partition_folder("440-three/n1"))
    found = {each.file.name: each for each in losses(survey.files, survey.spans)}
    last = found["00000000000000003249.log"]
    assert (last.covered, last.reach, sum(last.records.values())) == (None, 3436, 7)
    newest = found["00000000000000003436-0000000001.checkpoint"]
    assert (newest.covered, newest.reach, newest.records) == (None, 3443, {})
    first = found["00000000000000002555-0000000001.checkpoint"]
    assert (first.covered, first.records) == (SnapshotId(3436, 1), {})


def at(*ends: int) -> Iterable[LogFile]:
    return (LogFile(f"{end}.checkpoint", 1, 0, end, SnapshotId(end, 1)) for end in ends)


def log(*bounds: tuple[int, int]) -> Iterable[LogFile]:
    return (LogFile(f"{start}.log", 1, start, end) for start, end in bounds)


def test_where_states_end() -> None:
    assert reach([]) is None
    assert reach([*log((5, 9))]) is None
    assert reach([*log((0, 9))]) == 9
    assert reach([*at(5), *log((5, 9), (9, 12), (13, 20))]) == 12
    assert reach([*at(5, 14), *log((5, 9), (13, 20))]) == 20
    assert reach([*at(5, 30), *log((5, 9))]) == 30
    assert reach([*at(4), *log((5, 9))]) == 4


def test_it_is_the_same_one_base_at_a_time() -> None:
    rng = random.Random(1)
    for _ in range(300):
        ends = [rng.randrange(20) for _ in range(rng.randrange(4))]
        bounds = [(start, start + rng.randrange(6)) for start in (rng.randrange(20) for _ in range(rng.randrange(5)))]
        slow = []
        for end in [*ends, *([0] if any(start == 0 for start, _ in bounds) else [])]:
            while longer := [b for a, b in bounds if a <= end < b]:
                end = max(longer)
            slow.append(end)
        assert reach([*at(*ends), *log(*bounds)]) == max(slow, default=None), (ends, bounds)


def test_many_files_are_bounded() -> None:
    assert len(list(losses([*at(*range(2 * MOST))], []))) == MOST
