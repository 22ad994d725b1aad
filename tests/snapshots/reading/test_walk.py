import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from kcli.errors import InputError
from kcli.snapshots.reading.framing import Batch
from kcli.snapshots.reading.walk import PROBLEMS, SOFT, Entry, entries, metadata_rows, opened, walk
from tests.oracle.snapshots import walk_batch
from tests.snapshots.files import all_files, damaged
from tests.snapshots.made import headers, raw_records, snapshot

SNAPSHOT = snapshot()
BATCH = headers(SNAPSHOT)[1]
BODY = raw_records(SNAPSHOT)


def both(records: bytes, batch: Batch) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [tuple(row) for row in walk_batch(memoryview(records), batch)]
    assert [tuple(row) for row in walk(memoryview(records), batch)] == rows
    return rows


def test_the_kernel_and_the_reference_agree_on_real_files() -> None:
    for file, _ in all_files():
        data = file.read_bytes()
        for batch in headers(data):
            both(bytes(opened(memoryview(data), batch)), batch)


@settings(max_examples=150, deadline=None)
@given(some.integers(0, len(BODY) - 1), some.integers(0, 255), some.integers(0, 2**32))
def test_they_agree_on_damage(place: int, value: int, seed: int) -> None:
    changed = bytearray(BODY)
    changed[place] = value
    if seed % 3 == 0:
        del changed[random.Random(seed).randrange(len(changed)) :]
    both(bytes(changed), BATCH)


@settings(max_examples=50, deadline=None)
@given(some.binary(max_size=60), some.integers(-1, 5), some.booleans())
def test_they_agree_on_noise(noise: bytes, count: int, control: bool) -> None:
    attributes = 0x20 if control else 0
    both(noise, BATCH._replace(record_count=count, attributes=attributes))


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("null-value", "null-value"),
        ("empty-value", "empty-value"),
        ("with-key", "key"),
        ("unknown-frame-version", "frame-version"),
        ("unknown-type-large", "frame-range"),
    ],
)
def test_problems_of_real_damage(case: str, problem: str) -> None:
    data = damaged(case).read_bytes()
    rows = [row for batch in headers(data) for row in both(bytes(opened(memoryview(data), batch)), batch)]
    assert [(row[0], row[5]) for row in rows if row[5]] == [(191, problem)]
    assert problem in PROBLEMS
    assert (problem in SOFT) == (problem == "key")


def test_surplus_and_missing_records() -> None:
    assert both(BODY, BATCH._replace(record_count=BATCH.record_count - 1))[-1][5] == "surplus"
    assert both(BODY, BATCH._replace(record_count=BATCH.record_count + 1))[-1][5] == "record"


def test_entries_have_the_message_s_bytes() -> None:
    (entry, data), *_ = entries(memoryview(SNAPSHOT), BATCH)
    assert isinstance(entry, Entry)
    assert (entry.offset, entry.key, entry.version) == (1, 12, 0)
    assert bytes(data).endswith(b"metadata.version\x00\x1e\x00")


def test_an_unknown_codec_is_an_input_error() -> None:
    with pytest.raises(InputError):
        opened(memoryview(SNAPSHOT), BATCH._replace(attributes=7))


def test_a_compressed_batch_is_opened() -> None:
    data = damaged("compressed-gzip").read_bytes()
    assert sum(1 for batch in headers(data) for _ in walk(opened(memoryview(data), batch), batch)) == 483 + 4


def test_rows_of_metadata_are_those_of_no_control_batch() -> None:
    controls = [batch for batch in headers(SNAPSHOT) if batch.is_control]
    rows = [*metadata_rows(memoryview(SNAPSHOT))]
    assert len(controls) == 2 and len(rows) == sum(
        batch.record_count for batch in headers(SNAPSHOT) if not batch.is_control
    )
