"""What is wrong with batches, for whoever reads them: nothing where a log may hold them."""

import pytest

from kcli.records import build_batch, build_marker
from kcli.records.record_faults import field_faults
from tests.real.batch_cases import by_hand, changed
from tests.records import vectors

ROWS = [(5, b"k", b"v", ())] * 3
CASES = {case.name: case.records for case in by_hand()}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wrong checksum", "crc: 00000001 is wrong"),
        ("magic 3", "magic: magic 3: 0, 1 or 2 expected"),
        ("magic -1", "magic -1: 0, 1 or 2 expected"),
        ("bits of codec 5", "attributes: codec 5: 0 to 4 expected"),
        ("last offset delta 3", "lastOffsetDelta: 3: 2 expected for 3 records"),
        ("last offset delta 1", "lastOffsetDelta: 1: 2 expected for 3 records"),
        ("count and last 2 of 3", "the batch says 2 records"),
        ("count and last 4 of 3", "the batch says 4 records, 3 are here"),
        ("count 0", "recordCount: 0: 1 or more expected"),
        ("a byte behind the records", "bytes are left behind them"),
        ("length +2", "records[0].length"),
        ("key length +40", "records[0]"),
        ("value length +40", "records[0]"),
        ("same offsets", "offset deltas 0 to 2 in order expected"),
        ("transactional", "attributes: transactional without a producer id"),
        ("producer without sequence", "baseSequence: -1 with producer id 5"),
    ],
)
def test_each_fault_is_named(codec: str, name: str, said: str) -> None:
    assert said in "; ".join(field_faults(CASES[f"{codec}: {name}"]))


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_bits_of_a_codec_over_other_bytes(codec: str) -> None:
    number = ("gzip", "snappy", "lz4", "zstd").index(codec) + 1
    assert field_faults(CASES[f"none: bits of codec {number}"])[0].startswith(f"batch at 0x0: records: {codec}")
    assert field_faults(CASES[f"{codec}: bits of codec 0"])


def test_sound_batches_have_no_fault() -> None:
    for case in vectors.good():
        assert field_faults(case.data) == [], case.name


def test_what_logs_hold_is_no_fault() -> None:
    compacted = build_batch(ROWS, 70, offsets=[70, 72, 75], partition_leader_epoch=3)
    assert field_faults(compacted + changed(compacted, lastOffsetDelta=9)) == []
    assert field_faults(compacted, produced=True) != []
    assert field_faults(build_marker(True, 1, 7, 5, 0, 0)) == []
    assert field_faults(compacted + compacted[:30]) == []


def test_what_is_checked_already_is_left_out() -> None:
    assert field_faults(CASES["none: wrong checksum"], problems=[]) == []
