"""The two indexes, byte by byte."""

from pathlib import Path

from kcli.broker.storage.index import OffsetIndex, TimeIndex


def test_offsets(tmp_path: Path) -> None:
    path = tmp_path / "0.index"
    index = OffsetIndex(path)
    for offset, position in ((5, 100), (9, 300), (9, 400), (4, 500), (20, 600)):
        index.add(offset, position)
    index.flush()
    assert path.read_bytes().hex() == "0000000500000064000000090000012c0000001400000258"
    assert [index.position_of(offset) for offset in (0, 5, 8, 9, 19, 20, 99)] == [0, 100, 100, 300, 300, 600, 600]
    again = OffsetIndex(path)
    again.load()
    assert list(again.offsets) == [5, 9, 20]


def test_times(tmp_path: Path) -> None:
    path = tmp_path / "0.timeindex"
    index = TimeIndex(path)
    for timestamp, offset in ((1000, 5), (900, 9), (-1, 9), (2000, 20)):
        index.add(timestamp, offset)
    index.flush()
    assert path.read_bytes().hex() == "00000000000003e80000000500000000000007d000000014"
    assert [index.offset_before(timestamp) for timestamp in (0, 1000, 1001, 2000, 2001)] == [0, 0, 5, 5, 20]


def test_much_is_written_as_it_comes(tmp_path: Path) -> None:
    index = OffsetIndex(tmp_path / "0.index")
    for number in range(2000):
        index.add(number + 1, number)
    written = (tmp_path / "0.index").stat().st_size
    assert 8 * 1500 <= written <= 8 * 2000
    index.flush()
    again = OffsetIndex(tmp_path / "0.index")
    again.load()
    assert (again.offsets, again.positions) == (index.offsets, index.positions)


def test_what_is_behind_the_entries_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "0.index"
    path.write_bytes(bytes.fromhex("0000000500000064") + bytes(803))
    index = OffsetIndex(path)
    index.load()
    assert list(index.offsets) == [5]
    index.add(6, 200)
    index.flush()
    assert path.read_bytes().hex() == "000000050000006400000006000000c8"
    assert not OffsetIndex(tmp_path / "none").offsets
