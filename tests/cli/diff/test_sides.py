"""The fields of what `kcli diff` compares."""

import random
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.diff.sides import batch_differences, batch_side, message_differences, message_side, unframed
from kcli.errors import DecodeError, UsageError
from kcli.grammar.difference import differences
from kcli.grammar.secrets import Hidden
from kcli.records import build_batch
from kcli.records.secrets import secret_types
from tests.cli.decode.test_coprocess import BATCH
from tests.cli.decode.test_message import FETCH
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


SECRET = bytes([1, min(secret_types())]) + b"\0\xff\xff"


def batches() -> list[bytes]:
    """Plain ones with other records, headers and lengths, one after another and none."""
    headers: list[list[tuple[str, bytes | None]]] = [[("h", b"1")], [("h", None), ("longer", b"2")], []]
    one = [build_batch([(5, b"key", value, each)]) for value in (b"v", None, b"x" * 200, SECRET) for each in headers]
    more = build_batch([(5, None, b"a", ()), (70_000, b"k", b"b", ()), (6, b"k", b"c", ())], 1 << 40, producer_id=7)
    return [*one, more, more + one[0], one[0] + more, b"".join(one)]


def test_the_core_says_what_the_fields_of_batches_say() -> None:
    chance, made = random.Random(11), batches()
    for one in made:
        assert all(batches_agree(one, other, secrets=other is one) for other in made)
        for _ in range(10):
            batches_agree(one, damaged(one, chance))
            batches_agree(damaged(one, chance), chance.choice(made))
    gzip, control = build_batch([(5, b"k", b"v", ())], codec="gzip"), build_batch([(5, b"k", b"v", ())], control=True)
    for other in (gzip, control, BATCH[:16] + b"\1" + BATCH[17:], BATCH + b"x"):
        assert not batches_agree(BATCH, other) and not batches_agree(other, BATCH)


def batches_agree(one: bytes, other: bytes, secrets: bool = False) -> bool:
    """Whether the core can say; then it must say the same."""
    found = batch_differences(one, other, secrets)
    if found is not None:
        mine, its = batch_side(one, secrets), batch_side(other, secrets)
        assert repr(found) == repr([*differences(mine.spans, one, its.spans, other)]), (one.hex(), other.hex())
        assert not mine.problem and not its.problem
    return found is not None


def test_a_secret_in_a_record_is_hidden() -> None:
    mine, its = (build_batch([(5, b"k", value, ())]) for value in (SECRET, b"other"))
    found = {each.path: each[1:] for each in batch_differences(mine, its, False) or ()}
    expected, got = found["batches[0].records[0].value"]
    assert expected is not None and isinstance(expected.value, Hidden)
    assert got is not None and got.value == b"other"
