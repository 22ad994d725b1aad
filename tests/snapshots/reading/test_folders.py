import shutil
from pathlib import Path

import pytest

from kcli.errors import InputError
from kcli.snapshots.history.history import Event
from kcli.snapshots.reading.folders import FolderNode
from tests.snapshots.files import partition_folder

NODE = partition_folder("431-single/n1")


def test_real_nodes_that_lag() -> None:
    node = FolderNode("a", partition_folder("440-three/n1"))
    assert (node.log, node.end, node.epoch, node.starts) == ((2440, 3443), 3443, 1, [2555, 2693, 2872, 3436])
    assert [node.shows(offset) for offset in (2440, 2554, 2555, 3000, 3443, 3444)] == [
        False,
        False,
        True,
        True,
        True,
        False,
    ]


def test_an_empty_folder_is_no_node(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a snapshot nor a log segment"):
        FolderNode("x", tmp_path)
    shutil.copy(partition_folder("431-single/n1") / "00000000000000001150.log", tmp_path)
    assert FolderNode("x", tmp_path).shows(1602) is False  # no snapshot leads there


def test_a_history_begins_with_the_state_before() -> None:
    node, events = FolderNode("a", NODE), list[Event]()
    assert [node.base(each) for each in (0, 44, 900, 1000, 9999)] == [0, 44, 44, 952, 1600]
    whole = node.history(events.append)
    assert (whole.problems, events[0].offset, whole.image.provenance.end_offset) == ([], 0, 1602)
    late = list[Event]()
    node.history(late.append, since=1000, until=1150)
    assert late == [each for each in events if 952 <= each.offset < 1150]
    assert FolderNode("b", partition_folder("440-three/n1")).base(2450) == 2555
