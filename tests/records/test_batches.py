import pytest

from kcli.errors import InputError
from kcli.records import Batch, Record, scan
from kcli.records.damage import Damage
from tests.records.vectors import Case, bad, good, mixed_batches, named, truth


@pytest.mark.parametrize("case", good(), ids=str)
def test_batches_are_those_that_kafka_reads(case: Case) -> None:
    batches = list(scan(case.data))
    for batch, (row, records) in zip(batches, truth(case.dump), strict=True):
        assert (batch.position, batch.size, batch.magic) == (row["position"], row["sizeInBytes"], row["magic"])
        assert (batch.last_offset, batch.crc, batch.crc_valid) == (row["lastOffset"], row["crc"], True)
        assert batch.compression == row["compression"]
        assert [record.offset for record in batch.records()] == [record["offset"] for record in records]
        if batch.magic == 2:
            assert batch.timestamp_type == row["timestampType"] and batch.max_timestamp == row["maxTimestamp"]
            assert (batch.base_offset, batch.count) == (row["baseOffset"], row["count"])
            assert (batch.is_control, batch.is_transactional) == (row["isControl"], row["isTransactional"])
            assert (batch.last_sequence, batch.delete_horizon) == (row["lastSequence"], row.get("deleteHorizonMs"))


@pytest.mark.parametrize("case", [case for case in bad() if any(r["type"] == "error" for r in case.dump)], ids=str)
def test_damage_is_an_error_behind_what_can_be_read(case: Case) -> None:
    with pytest.raises(InputError):
        for batch in scan(case.data):
            list(batch.records())


def test_damage_is_passed_over_when_asked_for() -> None:
    one = named("one-record")
    damages: list[Damage] = []
    batches = list(scan(one + b"\1" * 30 + one, damages=damages))
    assert [batch.position for batch in batches] == [0, len(one) + 30]
    assert [(damage.start, damage.end) for damage in damages] == [(len(one), len(one) + 30)]


def test_a_cut_batch_ends_the_walk() -> None:
    data = mixed_batches()
    assert len(list(scan(data[:-1]))) == len(list(scan(data))) - 1


def test_values() -> None:
    first = next(scan(mixed_batches()))
    assert isinstance(first, Batch)
    record = next(first.records())
    assert record == Record(0, 1000, b"k0", b"value 0" * 5, (("h", b"x"), ("n", None)))
    assert bytes(first.bytes)[16] == 2 and len(first.payload or b"") == first.size - 61
    assert "offsets 0-4" in repr(first) and first.next_offset == 5


def test_checksums_can_be_left_out() -> None:
    assert {batch.crc_valid for batch in scan(mixed_batches(), check=False)} == {None}
