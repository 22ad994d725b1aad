import pytest

from kcli.records import codecs
from tests.records.vectors import bad, mixed_batches

core = pytest.importorskip("kcli.core.records.record_columns")


def decompress(codec: int, payload: memoryview, magic: int, _number: int) -> object:
    return codecs.decompress(codec, payload, magic)


def column(columns: object, name: str) -> list[int]:
    return list(memoryview(columns.column(name)).cast("q" if name in core.WIDE else "i"))  # type: ignore[attr-defined]


def test_places_and_sizes_lead_to_the_bytes() -> None:
    data = mixed_batches()
    columns = core.Columns(data, 0, len(data), decompress)
    everything = data + columns.extra
    keys = [
        everything[at : at + n] for at, n in zip(column(columns, "key_at"), column(columns, "key_size"), strict=True)
    ]
    assert columns.count == len(keys) == 57 and keys[:5] == [b"k0", b"k1", b"k2", b"k3", b"k4"]
    assert set(column(columns, "header_count")) == {0, 2} and columns.batches == 20
    assert column(columns, "batch")[:6] == [0, 0, 0, 0, 0, 1] and columns.stopped == len(data)


def test_gather_tells_null_from_empty() -> None:
    import array

    places, sizes = array.array("q", [0, -1, 3, 5]), array.array("i", [3, 0, 0, 2])
    offsets, values, validity, nulls = core.gather(b"abc", b"__de", places, sizes)
    assert (list(memoryview(offsets).cast("i")), values, validity, nulls) == ([0, 3, 3, 3, 5], b"abcde", b"\x0d", 1)
    assert core.gather(b"", b"", array.array("q", [-1]), array.array("i", [0]))[2] == b"\0" and bytes(1) == b"\0"


def test_columns_hold_their_memory_themselves() -> None:
    data = mixed_batches()
    kept = core.Columns(data, 0, len(data), decompress).column("offset")
    assert memoryview(kept).cast("q")[0] == 0


@pytest.mark.parametrize("case", bad(), ids=str)
def test_damage_is_noted(case: object) -> None:
    data = case.data  # type: ignore[attr-defined]
    columns = core.Columns(data, 0, len(data), decompress)
    fails = [row for row in case.dump if row["type"] == "error"]  # type: ignore[attr-defined]
    assert bool(columns.problems or columns.stopped < len(data)) >= bool(fails)


def test_checksums() -> None:
    data = bytearray(mixed_batches())
    assert core.checksums(data) == (20, 0, len(data))
    data[70] ^= 1
    assert core.checksums(data) == (20, 1, len(data))
    assert core.checksums(data[:-1])[0] == 19
