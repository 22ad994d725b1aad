import pytest

from kcli.errors import InputError
from kcli.snapshots.reading.folders import FolderNode
from kcli.snapshots.reading.log_batches import last_batch, log_batches, offset_at
from tests.snapshots.files import partition_folder

NODE = FolderNode("a", partition_folder("431-single/n1"))


def test_times() -> None:
    all_of_them = list(log_batches(NODE.segments))
    first, last = all_of_them[0], all_of_them[-1]
    assert last_batch(NODE.segments) == last
    assert offset_at(NODE.segments, first.append_timestamp - 1, "a") == 0
    assert offset_at(NODE.segments, last.append_timestamp, "a") == NODE.end == 1602
    for batch in all_of_them[::50]:
        assert offset_at(NODE.segments, batch.append_timestamp, "a") > batch.last_offset
        assert offset_at(NODE.segments, batch.append_timestamp - 1, "a") <= batch.base_offset
    late = FolderNode("b", partition_folder("440-three/n1"))
    with pytest.raises(InputError, match=r"b: the log begins at offset 2440, 2026-11-21T"):
        offset_at(late.segments, 0, "b")


def test_without_a_log_there_are_no_times() -> None:
    assert last_batch([]) is None
    with pytest.raises(InputError, match="no log here"):
        offset_at([], 1, "c")
