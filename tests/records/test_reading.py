"""Log segments as programs read them."""

import io
import shutil
from pathlib import Path
from typing import Any

import pytest

import kcli
from kcli.errors import InputError
from kcli.records.batches import scan
from kcli.records.builder import build_batch
from kcli.records.reading import read_segment
from tests.capture.wires import SAMPLES

LOG = Path(__file__).parents[2] / "samples" / "orders-0" / "00000000000000000000.log"


def values(batches: Any) -> list[Any]:
    return [record for batch in batches for record in batch.records()]


def test_batches_are_those_of_the_bytes() -> None:
    data = LOG.read_bytes()
    expected = list(scan(data))
    for given in (LOG, str(LOG), io.BytesIO(data), LOG.parent):
        found = list(read_segment(given))
        assert values(found) == values(expected)
        assert [repr(batch) for batch in found] == [repr(batch) for batch in expected]
    assert len(values(read_segment([LOG, io.BytesIO(data)]))) == 2 * len(values(expected))


def test_batches_that_are_kept_stay_as_they_are() -> None:
    """Longer than the buffers that a segment is read in: none may be used again."""
    data = b"".join(build_batch([(0, None, bytes([n]) * 5000, ())] * 40, base_offset=40 * n) for n in range(40))
    kept = list(read_segment(io.BytesIO(data)))
    assert [batch.base_offset for batch in kept] == [40 * n for n in range(40)]
    assert [batch.file_position for batch in kept] == [n * len(data) // 40 for n in range(40)]
    for n, batch in enumerate(kept):
        assert {record.value for record in batch.records()} == {bytes([n]) * 5000}


def test_a_directory_is_read_by_offset(tmp_path: Path) -> None:
    for base in (30, 4, 100):
        (tmp_path / f"{base}.log").write_bytes(build_batch([(0, None, b"x", ())], base_offset=base))
    shutil.copy(LOG.with_suffix(".index"), tmp_path)
    assert [batch.base_offset for batch in read_segment(tmp_path)] == [4, 30, 100]


def test_what_is_wrong_comes_behind_what_could_be_read(tmp_path: Path) -> None:
    first, last = (build_batch([(0, None, b"x", ())], base_offset=at) for at in (0, 1))
    bad = tmp_path / "bad.log"
    bad.write_bytes(first + b"\xff" * 30 + last + first[:-5])
    found: list[kcli.Batch] = []
    with pytest.raises(kcli.InputError, match=r"bad\.log: .*30 bytes passed over\) \(and 1 more\)"):
        found.extend(read_segment([bad, tmp_path / "none.log"]))
    with pytest.raises(kcli.InputError, match=r"none\.log: No such file"):
        found.extend(read_segment(tmp_path / "none.log"))
    with pytest.raises(kcli.InputError, match="no log segment"):
        found.extend(read_segment(Path(__file__).parent))
    assert not list(read_segment(io.BytesIO(b""))) and not list(read_segment(io.BytesIO(first[:-5])))
    wrong = bytearray(first)
    wrong[-1] ^= 1
    (batch,) = read_segment(io.BytesIO(wrong))
    assert batch.crc_valid is False


def test_a_file_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(kcli.UsageError, match="read_segment: a path or an open file expected, not bytes"):
        read_segment(b"bytes")  # type: ignore[arg-type]


def test_batches_and_records_in_a_notebook() -> None:
    batch = next(read_segment(LOG))
    assert "offsets 0 to 59" in batch._repr_html_()
    assert repr(next(batch.records())).startswith("<Record 0 at 1795255718559 ms: b'customer-20': b'{")
    long = kcli.Record(5, 6, None, b"v" * 1000, (("h", None),))
    assert repr(long) == f"<Record 5 at 6 ms: null: {b'v' * 60!r}...(1,000), 1 headers>"


def test_another_kind_of_file_is_named() -> None:
    with pytest.raises(InputError, match=r"no record batches \(looks like a capture: kcli decode pcap reads that\)"):
        list(read_segment(SAMPLES / "java44-txn.pcap"))


@pytest.mark.parametrize(("kind", "text"), [({}, ""), ({"transactional": True}, "transactional")])
def test_a_batch_s_kind_in_a_notebook(kind: dict[str, Any], text: str) -> None:
    (batch,) = read_segment(io.BytesIO(build_batch([(1, b"k", b"v", ())], producer_id=3, producer_epoch=0, **kind)))
    shown = batch._repr_html_()
    assert ("kind" in shown) == bool(text) and text in shown
