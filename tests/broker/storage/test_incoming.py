"""Batches made ready: numbered, stamped, compressed anew where they have to be."""

from typing import Any

import pytest

from kcli.broker.storage.incoming import numbered, read_incoming, stored
from kcli.records import build_message_set, scan
from kcli.records.acceptance import RefusedError
from tests.broker.talk import batch


def written(data: bytes, base: int, **more: Any) -> bytes:
    parts = []
    for each in read_incoming(data, 1 << 20, **more):
        made, place = numbered(each, base, 4, 0)
        parts.append(b"".join(made))
        assert place.size == len(parts[-1])
        base += each.offsets
    return b"".join(parts)


def test_magic_2_is_patched_before_its_checksum() -> None:
    made = next(scan(written(batch("a", "b", "c"), 100)))
    assert (made.base_offset, made.last_offset, made.partition_leader_epoch, made.crc_valid) == (100, 102, 4, True)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages(magic: int, codec: str) -> None:
    sets = build_message_set([(7, None, b"a"), (9, None, b"b")], magic=magic, codec=codec)
    made = list(scan(written(sets, 100)))
    assert [record.offset for each in made for record in each.records()] == [100, 101]
    assert [record.value for each in made for record in each.records()] == [b"a", b"b"]
    assert all(each.crc_valid for each in made)


def test_odd_inner_offsets_are_made_even() -> None:
    """Offsets with a gap inside a compressed set of magic 1: numbered and compressed anew."""
    sets = build_message_set([(7, None, b"a"), (9, None, b"b")], magic=1, codec="gzip", offsets=[0, 5])
    made = list(scan(written(sets, 100)))
    assert [record.offset for each in made for record in each.records()] == [100, 101]


@pytest.mark.parametrize("magic", [1, 2])
def test_the_brokers_time(magic: int) -> None:
    data = batch("a", time=5) if magic == 2 else build_message_set([(5, None, b"a")], magic=1)
    made = next(scan(written(data, 0, append_time=123_456)))
    assert made.crc_valid
    assert made.timestamp_type == "LogAppendTime"
    assert [record.timestamp for record in made.records()] == [123_456]


def test_a_set_in_a_set_is_refused() -> None:
    from kcli.core.records.record_values import write_message
    from kcli.records import compress

    inner = build_message_set([(1, None, b"a")], magic=1, codec="gzip")
    nested = write_message(0, 1, 1, 1, None, bytes(compress(1, inner, 1)))
    with pytest.raises(RefusedError, match="holds other things"):
        read_incoming(nested, 1 << 20)


def test_stored_batches_are_taken_as_they_are() -> None:
    data = batch("a", base_offset=9) + batch("b", base_offset=20)
    damaged = bytearray(data + batch("c", base_offset=30))
    damaged[-1] ^= 1
    for each in (data, bytes(damaged), data + b"\0" * 5):
        assert [one.head.base_offset for one in stored(each)] == [9, 20]
