from kcli.snapshots.rules.evidence import MOST, Control, Noted
from kcli.snapshots.rules.examination import examine
from tests.snapshots.files import all_files, damaged
from tests.snapshots.made import NAME, snapshot


def test_a_file_is_a_snapshot_by_its_content_too() -> None:
    file = damaged("wrong-name-log")
    assert examine(memoryview(file.read_bytes()), file.name).is_snapshot
    assert not examine(memoryview(all_files()[0][0].read_bytes()), "x.log").is_snapshot


def test_lists_are_bounded() -> None:
    noted = Noted()
    for number in range(MOST + 50):
        noted.add(number)
    assert (len(noted.items), len(noted)) == (MOST, MOST + 50)


def test_a_log_is_no_snapshot() -> None:
    found = examine(memoryview(snapshot()), "00000000000000000000.log")
    assert found.base == 0
    assert Control(1, 0, 0, 99, 0, None).name == "control type 99"
    assert examine(memoryview(b""), NAME).end_offset is None
