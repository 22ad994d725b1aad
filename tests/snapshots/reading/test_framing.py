import mmap
from pathlib import Path

import pytest

from kcli.core.records.batches import HEADER_SIZE
from kcli.snapshots.reading.framing import Batch, Fault, batches, body, checksum, release
from tests.snapshots.files import damaged, log_file
from tests.snapshots.made import headers, snapshot

FILE = "431-single/n1/__cluster_metadata-0/00000000000000001600-0000000001.checkpoint"


def test_the_batches_of_a_real_snapshot() -> None:
    data = memoryview(log_file(FILE).read_bytes())
    first, middle, last = (each for each in batches(data) if isinstance(each, Batch))
    assert (first.base_offset, first.last_offset, first.is_control, first.leader_epoch) == (0, 2, True, 1)
    assert (middle.position, middle.size, middle.record_count, middle.is_control) == (166, 38128, 483, False)
    assert (middle.compression, middle.append_timestamp) == ("none", 1795223773241)
    assert last.end == len(data)
    assert all(checksum(data, batch) == batch.crc for batch in (first, middle, last))
    assert len(body(data, middle)) == middle.size - HEADER_SIZE


@pytest.mark.parametrize(
    ("case", "code", "position"),
    [
        ("cut-in-footer", "cut", 38294),
        ("cut-in-data", "cut", 166),
        ("cut-in-first-batch", "cut", 0),
        ("trailing-zeros", "zeros", 38369),
        ("trailing-garbage", "magic", 38369),
    ],
)
def test_cutting_stops_where_it_has_to(case: str, code: str, position: int) -> None:
    found = list(batches(memoryview(damaged(case).read_bytes())))
    fault = found[-1]
    assert isinstance(fault, Fault)
    assert (fault.code, fault.position) == (code, position)
    assert not any(isinstance(each, Fault) for each in found[:-1])


def test_a_length_below_a_header_s() -> None:
    data = bytearray(snapshot())
    data[8:12] = (30).to_bytes(4, "big")
    assert [each.code for each in batches(memoryview(bytes(data))) if isinstance(each, Fault)] == ["batch-length"]


def test_a_checksum_that_covers_more_than_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    data = snapshot()
    monkeypatch.setattr("kcli.snapshots.reading.framing.PIECE", 50)
    assert [checksum(memoryview(data), batch) for batch in headers(data)] == [batch.crc for batch in headers(data)]


def test_pages_given_back_can_be_read_again(tmp_path: Path) -> None:
    file = tmp_path / "pages"
    file.write_bytes(bytes(range(256)) * 256)
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        release(mapped, 100, 60_000)
        assert mapped[300] == 300 % 256
    release(None, 0, 10)
