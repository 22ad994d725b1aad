"""A capture in parts gives each packet once."""

from pathlib import Path

import pytest

from kcli.capture.io import ranges
from kcli.errors import InputError
from tests.capture.wires import DATA, SAMPLES


@pytest.mark.parametrize("size", [100, 5_000, 17_001, 10**9])
def test_ranges_that_touch_give_every_packet_once(engine: str, size: int) -> None:
    path = str(SAMPLES / "java44-txn.pcap")
    whole = [row.data for row in ranges.rows(path)]
    parts = ranges.cut(path, size)[: 12 if size == 100 else None]
    found = [row.data for part in parts for row in ranges.rows(path, *part)]
    assert found == whole[: len(found)] and len(found) >= (5 if size == 100 else len(whole))
    assert [end for _, end in parts[:-1]] == [start for start, _ in parts[1:]]


@pytest.mark.parametrize("path", [SAMPLES / "ipv6.pcapng", DATA / "mid-stream.pcap.zst"])
def test_what_cannot_be_cut_is_one_part(engine: str, path: Path) -> None:
    assert ranges.cut(str(path), 100) == [(0, None)]
    assert len(list(ranges.rows(str(path)))) > 100


def test_rows_have_a_connection(engine: str) -> None:
    rows = list(ranges.rows(str(SAMPLES / "java44-txn.pcap")))
    assert len({row.connection for row in rows}) == 11
    assert {row.link for row in rows} == {1} and rows[0].length == len(rows[0].data)


def test_damage_is_passed_over(engine: str, tmp_path: Path) -> None:
    data = bytearray((SAMPLES / "java44-txn.pcap").read_bytes())
    data[30_000:32_000] = b"\xff" * 2000
    path = tmp_path / "damaged.pcap"
    path.write_bytes(data)
    whole = sum(1 for _ in ranges.rows(str(SAMPLES / "java44-txn.pcap")))
    assert whole - 12 < sum(1 for _ in ranges.rows(str(path))) < whole


def test_no_capture_at_all(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "no.pcap"
    path.write_bytes(b"GIF89a" + bytes(40))
    with pytest.raises(InputError, match=r"no\.pcap: not a capture: starts with"):
        list(ranges.rows(str(path)))
