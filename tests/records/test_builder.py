import pytest

from kcli.errors import EncodeError
from kcli.records.batches import scan
from kcli.records.builder import build_batch, build_control_batch, build_marker, build_message_set
from kcli.records.control import decode_control

ROWS = [(1000 + n, b"key %d" % n, None if n == 3 else b"value" * n, {"a": b"1", "b": None}) for n in range(6)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_batch_holds_its_records(codec: str) -> None:
    (batch,) = scan(build_batch(ROWS, 40, codec=codec, partition_leader_epoch=3))
    assert batch.crc_valid and batch.compression == codec and batch.partition_leader_epoch == 3
    assert (batch.base_offset, batch.last_offset, batch.count) == (40, 45, 6)
    assert (batch.base_timestamp, batch.max_timestamp) == (1000, 1005)
    found = [(r.timestamp, r.key, r.value, dict(r.headers)) for r in batch.records()]
    assert found == ROWS


def test_producer_fields_and_gaps() -> None:
    offsets = [7, 9, 10, 11, 30, 31]
    (batch,) = scan(
        build_batch(ROWS, 7, producer_id=5, producer_epoch=6, base_sequence=8, transactional=True, offsets=offsets)
    )
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (5, 6, 8) and batch.is_transactional
    assert [record.offset for record in batch.records()] == offsets


def test_the_brokers_time_stands_for_all() -> None:
    (batch,) = scan(build_batch(ROWS, append_time=99))
    assert {record.timestamp for record in batch.records()} == {99} and batch.timestamp_type == "LogAppendTime"


def test_a_batch_needs_a_record() -> None:
    with pytest.raises(EncodeError, match="needs at least one record"):
        build_batch([])
    with pytest.raises(EncodeError, match="brotli"):
        build_batch(ROWS, codec="brotli")


def test_markers() -> None:
    for commit, name in ((True, "COMMIT"), (False, "ABORT")):
        (batch,) = scan(build_marker(commit, 5, 10, 1, 2, 77))
        (record,) = batch.records()
        assert batch.is_control and batch.is_transactional and batch.size == 78
        assert decode_control(record.key, record.value) == {
            "type": name,
            "version": 0,
            "data": {"coordinatorEpoch": 77},
        }


def test_control_batches_without_a_producer() -> None:
    (batch,) = scan(build_control_batch([(b"\0\0\0\2", b"\0\0\0\0\0\1\0\0\0")], 5, 10, partition_leader_epoch=1))
    assert batch.is_control and not batch.is_transactional and batch.producer_id == -1


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_message_sets(magic: int, codec: str) -> None:
    rows = [row[:3] for row in ROWS]
    batches = list(scan(build_message_set(rows, 100, magic=magic, codec=codec)))
    assert len(batches) == (1 if codec != "none" else 6) and all(batch.crc_valid for batch in batches)
    found = [record for batch in batches for record in batch.records()]
    assert [(r.offset, r.key, r.value) for r in found] == [(100 + n, row[1], row[2]) for n, row in enumerate(rows)]
    assert {record.timestamp for record in found} == ({-1} if magic == 0 else {row[0] for row in rows})


def test_old_messages_have_no_zstd() -> None:
    with pytest.raises(EncodeError, match="zstd needs magic 2"):
        build_message_set([(0, None, b"x")], codec="zstd")
