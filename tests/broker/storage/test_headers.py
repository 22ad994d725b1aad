"""Walking over batches by their headers."""

from pathlib import Path

from kcli.broker.storage.file_pool import LogFile
from kcli.broker.storage.headers import first_from, walk
from kcli.records import build_message_set
from tests.broker.talk import batch


def file_of(tmp_path: Path, data: bytes) -> LogFile:
    (tmp_path / "x.log").write_bytes(data)
    return LogFile(tmp_path / "x.log")


def test_every_magic_and_any_size(tmp_path: Path) -> None:
    batches = [
        build_message_set([(1, None, b"a")], 0, magic=0),
        build_message_set([(50, None, b"b" * 9000)], 1, magic=1),
        batch("c", "d", base_offset=2, time=70),
        batch("e" * 20_000, base_offset=4, time=60),
        build_message_set([(1, None, b"")], 5, magic=0),
    ]
    file = file_of(tmp_path, b"".join(batches))
    found = list(walk(file, 0, sum(map(len, batches))))
    assert [each.size for each in found] == [len(each) for each in batches]
    assert [(each.base_offset, each.last_offset) for each in found] == [(0, 0), (1, 1), (2, 3), (4, 4), (5, 5)]
    assert [each.max_timestamp for each in found] == [-1, 50, 71, 60, -1]


def test_it_stops_at_what_is_no_whole_batch(tmp_path: Path) -> None:
    one = batch("a")
    for tail in (b"", b"\0" * 5, b"\0" * 60, one[:-1], b"\xff" * 40):
        file = file_of(tmp_path, one + tail)
        assert len(list(walk(file, 0, len(one + tail)))) == 1


def test_the_first_that_holds_an_offset(tmp_path: Path) -> None:
    data = batch("a", "b") + batch("c", base_offset=7)
    file = file_of(tmp_path, data)
    for offset, base in ((0, 0), (1, 0), (2, 7), (7, 7)):
        found = first_from(file, 0, len(data), offset)
        assert found is not None
        assert found.base_offset == base
    assert first_from(file, 0, len(data), 8) is None
