"""The likely slip of batches: how many are named, that right ones have none, and where it stands among several."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kcli.records.slips.hints import LARGEST, batch_hints, batch_text
from tests.grammar.slips.judge import share, table
from tests.records.slips.judge import falsely_named, score
from tests.records.slips.making import MAKERS, Sample, batch_bytes, batches_of, checked, put

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
    assert batch_text(batch_hints(BATCH + wrong), 0x100).endswith(f"at {len(BATCH) + 17 + 0x100:#x}: was it left 0?")


def test_offset_deltas_that_do_not_run_on() -> None:
    second = BATCH.index(b"two") - 3
    assert BATCH[second] == 2
    assert batch_text(batch_hints(checked(put(BATCH, second, b"\6")))) == (
        f"the batch is right with an offset delta of 1 in records[1] at {second:#x}: is it 3?"
    )
    text = batch_text(batch_hints(checked(put(BATCH, second, b"\1"))))
    assert "with offsetDelta in records[1] as zigzag varint" in text


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
