"""The likely slip of batches: how many are named, that right ones have none, and where it stands among several."""

import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.records.batches import scan
from kcli.records.slips.hints import LARGEST, batch_hints, batch_text
from tests.grammar.slips.judge import share, table
from tests.grammar.slips.making import varint
from tests.records.slips.judge import falsely_named, score
from tests.records.slips.making import MAKERS, Sample, batch_bytes, batches_of, checked, put, with_length, write, zigzag
from tests.records.slips.making import right as right_number

SAMPLES = sorted(map(str, (Path(__file__).parents[3] / "samples").glob("*.pcap*")))
CAN_BE_KNOWN = 90.0  # per cent
PAIRS = [(b"k", b"one"), (None, b"two"), (b"k", None)]
BATCH = batch_bytes(PAIRS)


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return [*batches_of(SAMPLES)][::2]


def test_slips_made_in_real_batches_are_named(samples: list[Sample]) -> None:
    scores = score(samples, seed=20)
    poor = {kind: share(each.counts) for kind, each in scores.items() if share(each.counts) < CAN_BE_KNOWN}
    assert not poor, table(scores)
    assert all(scores[kind].counts.total() for kind in MAKERS)


def test_right_batches_have_no_hint(samples: list[Sample]) -> None:
    assert falsely_named(samples) == []


def test_the_place_is_that_in_all_the_data() -> None:
    wrong = put(BATCH, 17, bytes(4))
    for data, at in ((BATCH + wrong, len(BATCH) + 17), (BATCH + wrong + BATCH, len(BATCH) + 17), (wrong, 17)):
        assert [hint.at for hint in batch_hints(data)] == [at]
    at = len(BATCH) + 17
    text = batch_text(batch_hints(BATCH + wrong), 0x100)
    assert text.endswith(f"at {at:#x} of the batches ({at + 0x100:#x} of the input): was it left 0?")


def test_offset_deltas_that_do_not_run_on() -> None:
    second = BATCH.index(b"two") - 3
    assert BATCH[second] == 2
    assert batch_text(batch_hints(checked(put(BATCH, second, b"\6")))) == (
        f"the batch is right with an offset delta of 1 in records[1] at {second:#x}: is it 3?"
    )
    text = batch_text(batch_hints(checked(put(BATCH, second, b"\1"))))
    assert "with offsetDelta in records[1] as zigzag varint" in text


def batch_of(number: Callable[[str, int, int], bytes], payload: Callable[[bytes], bytes] = bytes) -> bytes:
    """A batch of records with keys, whose numbers are written so, in a payload made of them."""
    sample = Sample(next(iter(scan(batch_bytes([(b"key-1", b"hello"), (b"key-2", b"world")])))))
    return with_length(BATCH[:57] + b"\0\0\0\2" + payload(write(sample.batch, sample.records, number).data))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("key", "value"), "the lengths of key and value"),
        (("length", "key", "value", "headers"), "all lengths"),
        (("length", "timestampDelta", "offsetDelta", "key", "value", "headers"), "all numbers"),
    ],
)
@pytest.mark.parametrize(
    ("form", "question"),
    [
        (lambda value: varint(value), "was zigzag left out?"),
        (lambda value: value.to_bytes(4, "big"), "was it written as int32?"),
        (lambda value: value.to_bytes(2, "big"), "was it written as int16?"),
    ],
)
def test_numbers_that_programs_write_alike(
    names: tuple[str, ...], said: str, form: Callable[[int], bytes], question: str
) -> None:
    batch = batch_of(lambda name, _record, value: form(value) if name in names else zigzag(value))
    (first, *_) = batch_hints(checked(put(batch, 23, b"\0\0\0\1")))
    assert (first.words, first.question) == (f"with {said} in each record as zigzag varint", question)


def test_attributes_left_out_are_named_and_no_delta_that_would_give_odd_ones() -> None:
    right = batch_of(right_number)
    size, body = right[61] >> 1, right[62:]
    records = [body[:size], body[size + 1 :]]
    made = b"".join(zigzag(len(record) - 1) + record[1:] for record in records)
    made = made.replace(records[1][1:4], b"\x0a" + records[1][2:4])  # a time's delta
    (only,) = batch_hints(checked(with_length(put(right[:61], 23, b"\0\0\0\1") + made)))
    assert (only.slip, only.at) == ("record attributes left out", 62)


@pytest.mark.parametrize(
    ("window", "question"), [(zlib.MAX_WBITS, "are they a zlib stream?"), (-zlib.MAX_WBITS, "are they raw deflate?")]
)
def test_records_deflated_in_another_wrapper(window: int, question: str) -> None:
    packer = zlib.compressobj(wbits=window)
    gzip = batch_bytes(PAIRS, 1)
    (first, *_) = batch_hints(checked(with_length(gzip[:61] + packer.compress(BATCH[61:]) + packer.flush())))
    assert (first.slip, first.at, first.question) == ("codec", 61, question)


@pytest.mark.parametrize("length", [len(BATCH).to_bytes(4, "big"), varint(len(BATCH)), varint(len(BATCH) + 1)])
def test_a_length_in_front_of_a_batch(length: bytes) -> None:
    (only,) = batch_hints(length + BATCH)
    assert (only.slip, only.at, only.frame) == ("framing", 0, BATCH)


def test_what_nothing_explains_has_no_hint() -> None:
    assert batch_hints(b"") == batch_hints(BATCH[:30]) == batch_hints(bytes(100)) == []
    assert batch_hints(put(BATCH, 17, b"abcd")) == []
    assert batch_text([]) == ""
    assert batch_hints(put(batch_bytes([(None, bytes(LARGEST))]), 17, bytes(4))) == []


def test_any_bytes_have_an_answer() -> None:
    chance = random.Random(7)
    for codec in range(5):
        batch = batch_bytes(PAIRS, codec)
        for _ in range(60):
            data = bytearray(batch)
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            batch_text(batch_hints(bytes(data[: chance.randrange(len(data) + 1)] if chance.random() < 0.3 else data)))
