"""Exact sends against what a 3.9 broker sends (LazyDownConversionRecordsSend), and the text of KIP-283."""

import hashlib
import json
import struct

import pytest

from kcli.errors import InputError, UsageError
from kcli.records.conversion import Slice, down_convert
from kcli.records.fetching import FetchSend, cut_slice
from kcli.records.text import batches_json
from tests.records.vectors import Sent, fetches, named

# Kafka sends the first remaining batch twice where the first ones vanish; kcli does not.
SENT_TWICE = ("marker-first", "marker-then-old", "marker-then-old-v0")
CASES = [case for case in fetches() if not case.options.get("no_min_one")]


def send(case: Sent, tail: str = "kafka") -> FetchSend:
    first = case.options.get("first_offset", 0)
    part = cut_slice(Slice.of(case.data), case.options.get("max_bytes", 2**31 - 1), first)
    return FetchSend(part, case.magic, first, tail=tail)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_sent_is_what_a_broker_sends(case: Sent) -> None:
    """KIP-283: byte for byte what a 3.9 broker sends."""
    if case.error and not case.size:
        with pytest.raises(InputError):
            send(case)
        return
    made = send(case)
    data = b"".join(made)
    assert len(data) == made.size == case.size
    if case.name in SENT_TWICE:
        plain = b"".join(down_convert(case.data, case.magic))
        assert data.startswith(plain) or plain.startswith(data)
    elif not case.name.startswith("lz4-"):
        assert hashlib.sha256(data).hexdigest() == case.sha256


def test_the_kips_text_has_whole_messages_and_one_that_says_the_greatest_size() -> None:
    """KIP-283: whole messages, then one whose size is Integer.MAX_VALUE, cut where even its header is too long."""
    data = named("none-create")
    plain = b"".join(down_convert(data, 1))
    part = cut_slice(Slice.of(data), 500)
    sent = b"".join(FetchSend(part, 1, tail="kip"))
    rows = json.loads(batches_json(sent))
    whole = sum(row["sizeInBytes"] for row in rows if "event" not in row)
    assert len(sent) == 500 and sent[:whole] == plain[:whole] and rows[-1]["event"] == "truncated"
    assert sent[whole : whole + 12] == struct.pack(">qi", -1, 0x7FFFFFFF)[: 500 - whole]


def test_a_shorter_result_is_filled_to_the_size() -> None:
    """KIP-283: filled up to S_pre with a message that says Integer.MAX_VALUE bytes (Kafka: what is left)."""
    data = named("none-append")
    for tail, size in (("kip", 0x7FFFFFFF), ("kafka", None)):
        sent = b"".join(FetchSend(Slice.of(data), 0, tail=tail))
        plain = b"".join(down_convert(data, 0))
        assert len(sent) == max(len(data), len(plain)) and sent.startswith(plain)
        left = len(sent) - len(plain)
        assert sent[len(plain) + 8 : len(plain) + 12] == struct.pack(">i", size or max(left + 1, 61))


def test_a_slice_begins_at_the_batch_that_holds_the_offset() -> None:
    data = named("idempotent")
    rows = json.loads(batches_json(data))
    part = cut_slice(Slice.of(data), 10**6, rows[2]["lastOffset"])
    assert part.start == rows[0]["sizeInBytes"] + rows[1]["sizeInBytes"] and part.start + part.size == len(data)
    assert cut_slice(Slice.of(data), 10**6, rows[-1]["lastOffset"] + 1).size == 0
    assert cut_slice(Slice.of(data), 1).size == rows[0]["sizeInBytes"]
    assert cut_slice(Slice.of(b""), 10).size == 0


def test_an_offset_is_found_behind_batches_larger_than_the_look_ahead() -> None:
    from kcli.records.builder import build_batch

    data = b"".join(build_batch([(0, None, b"x" * 300_000, ())], offset) for offset in range(3))
    assert cut_slice(Slice.of(data), 10**6, 2).start == len(data) // 3 * 2


def test_nothing_but_the_first_batch_is_read_before_it_is_sent() -> None:
    """KIP-283: conversion waits for the socket: a chunk is read and converted when the one before it is taken."""
    from kcli.records.builder import build_batch

    data = b"".join(build_batch([(0, None, b"x" * 1000, ())] * 10, at * 10) for at in range(100))
    reached = 0

    def read(into: memoryview, position: int) -> int:
        nonlocal reached
        part = data[position : position + len(into)]
        into[: len(part)] = part
        reached = max(reached, position + len(part))
        return len(part)

    chunk = 40_000
    made = FetchSend(Slice(read, 0, len(data)), 1, chunk_bytes=chunk)
    assert made.size == len(data)
    assert reached <= 2 * chunk
    taken = 0
    for part in made:
        taken += len(part)
        assert reached <= taken + 3 * chunk
    assert reached == len(data)


def test_what_waits_for_the_socket_holds_no_more_than_a_chunk() -> None:
    """KIP-283: memory does not follow the response: 100 partitions whose first batches have 1 MB each."""
    import tracemalloc

    from kcli.records.builder import build_batch

    data = build_batch([(0, None, b"x" * 1000, ())] * 1000) + build_batch([(0, None, b"y", ())], 1000)
    tracemalloc.start()
    try:
        waiting = [FetchSend(Slice.of(data), 1) for _ in range(100)]
        assert tracemalloc.get_traced_memory()[0] < 2 << 20
    finally:
        tracemalloc.stop()
    plain = b"".join(down_convert(data, 1))
    for made in (waiting[0], waiting[0], waiting[-1]):
        assert b"".join(made) == plain[: made.size]


def test_the_first_batch_fits_even_when_it_grows() -> None:
    """KIP-283: S_pre is the larger of the size before and of the first batch converted, so a consumer gets on."""
    from kcli.records.builder import build_batch

    first = build_batch([(0, None, b"", ())] * 500, 0)
    data = first + build_batch([(0, None, b"", ())] * 500, 500)
    made = FetchSend(cut_slice(Slice.of(data), 1), 1)
    plain = b"".join(down_convert(first, 1))
    assert len(plain) > len(first)
    assert made.size == len(plain)
    assert b"".join(made) == plain


def test_what_grows_is_sent_as_far_as_it_fits() -> None:
    """KIP-283: converted records longer than S_pre: the whole messages that fit, no byte more than was named."""
    from kcli.records.builder import build_batch

    data = b"".join(build_batch([(0, None, b"", ())] * 50, at * 50) for at in range(10))
    made = FetchSend(Slice.of(data), 1, tail="kip")
    sent = b"".join(made)
    plain = b"".join(down_convert(data, 1))
    assert len(plain) > len(data) == made.size == len(sent)
    rows = json.loads(batches_json(sent))
    whole = sum(row["sizeInBytes"] for row in rows if "event" not in row)
    assert sent[:whole] == plain[:whole]
    assert len(data) - whole < 12 + 0x22 + 12


def test_a_chunk_has_128_kb_unless_told_otherwise() -> None:
    """KIP-283: 128 kB is the chunk its measurements favour, and what Kafka ships."""
    assert FetchSend(Slice.of(b""), 1).chunk_bytes == 128 * 1024


def test_an_unknown_tail_is_refused() -> None:
    with pytest.raises(UsageError, match="kafka or kip"):
        FetchSend(Slice.of(b""), 1, tail="other")


def test_a_late_zstd_batch_leaves_the_rest_to_be_filled() -> None:
    """A broker breaks off there when more than 131072 bytes are left."""
    from kcli.records.builder import build_batch

    records = [(0, None, b"x" * 1000, ())]
    first, late = build_batch(records * 3, 0), build_batch([(0, None, bytes(range(256)) * 1200, ())], 3, codec="zstd")
    big = build_batch([(0, None, b"y" * 300_000, ())], 4, codec="none")
    data = first + late + big
    sent = b"".join(FetchSend(Slice.of(data), 1, chunk_bytes=len(first)))
    plain = b"".join(down_convert(first, 1))
    assert len(sent) == len(data) and sent.startswith(plain)
    assert struct.unpack(">qi", sent[len(plain) : len(plain) + 12]) == (-1, len(sent) - len(plain) + 1)
