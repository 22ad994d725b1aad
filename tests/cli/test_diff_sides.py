"""The fields of what `kcli diff` compares."""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.diff_sides import batch_side, message_differences, message_side, unframed
from kcli.core import COMPILED
from kcli.errors import DecodeError, UsageError
from kcli.grammar.difference import differences
from tests.cli.test_coprocess import BATCH
from tests.cli.test_decode_message import FETCH
from tests.grammar.slips.making import Sample, frames_of
from tests.grammar.test_difference import damaged

OPTIONS = {"dialect": None, "api": None, "api_version": None, "secrets": False}


def test_a_message_with_its_header() -> None:
    side = message_side(FETCH, OPTIONS)
    assert side.spans[0].path == "header.requestApiKey" and side.problem == ""
    cut = message_side(FETCH[:-1], OPTIONS)
    assert cut.spans == side.spans[: len(cut.spans)] and "needs 1 byte" in cut.problem
    assert message_side(FETCH + b"x", OPTIONS).spans[-1].path == "_trailing"
    with pytest.raises(DecodeError):
        message_side(b"\x7f\xff\0\0" + bytes(8), OPTIONS)


def test_the_length_in_front_is_none_of_it() -> None:
    assert unframed(len(FETCH).to_bytes(4, "big") + FETCH) == unframed(FETCH) == FETCH


def test_batches() -> None:
    assert batch_side(BATCH, False).problem == ""
    assert batch_side(BATCH[:-1], False).problem


def test_the_core_says_what_the_fields_of_both_say(samples: Path) -> None:
    if not COMPILED:
        pytest.skip("the core is not built")
    chance, found = random.Random(3), 0
    captures = [str(samples / name) for name in ("java44-txn.pcap", "kcat-codecs.pcap", "sasl-plain-scram.pcap")]
    frames = sorted(frames_of(captures), key=lambda each: each[1:])
    for _, group in groupby(frames, key=lambda each: each[1:]):
        alike = [*group]
        for one in alike:
            other = chance.choice(alike)
            for pair in (
                (one.frame, other.frame),
                (one.frame, damaged(one.frame, chance)),
                (one.frame, other.frame + b"x"),
            ):
                found += agrees(*pair, options_of(one))
    assert found > len(frames)


def agrees(one: bytes, other: bytes, options: dict[str, Any]) -> bool:
    """Whether the core can say; then it must say the same."""
    try:
        found = message_differences(one, other, options)
    except (DecodeError, UsageError):
        return False
    if found is not None:
        mine, its = message_side(one, options), message_side(other, options)
        assert repr(found) == repr([*differences(mine.spans, one, its.spans, other)])
        assert not mine.problem and not its.problem
    return found is not None


def options_of(sample: Sample) -> dict[str, Any]:
    return OPTIONS if sample.is_request else OPTIONS | {"api": str(sample.api), "api_version": sample.version}
