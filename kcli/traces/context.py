"""Reads the trace context from record headers: W3C's `traceparent` and `tracestate`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import record_fields
from kcli.records.rows import field_rows
from kcli.records.unfolding import Unfolding
from kcli.schemas.apikeys import PRODUCE

FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
LONGEST_STATE = 512  # characters of a tracestate
MOST_LINKS = 128  # links of a span; the limit of OpenTelemetry's SDKs


class Context(NamedTuple):
    """The span that a record's headers name, which another program created."""

    trace_id: bytes
    span_id: bytes
    flags: int
    state: str = ""


class Messages(NamedTuple):
    """The records of an exchange. places: their topics and partitions. offset, tombstone: only if there is a single
    record. contexts: the first contexts in the headers, each with the topic, partition and offset of a record that has
    it.
    """

    number: int
    places: dict[tuple[str, int], None]
    offset: int | None
    tombstone: bool
    contexts: dict[Context, tuple[str, int, int | None]]


def messages_of(exchange: Exchange) -> Messages:
    """Return the records of an exchange; transaction markers are left out."""
    number, offset, tombstone = 0, None, False
    places: dict[tuple[str, int], None] = {}
    contexts: dict[Context, tuple[str, int, int | None]] = {}
    unfold = Unfolding(shared=True)
    unfold.begin()
    for field in record_fields(exchange):
        place = field.label, field.partition
        rows = field_rows(
            field.data, [], base_offset=field.base_offset, produced=exchange.api_key == PRODUCE, unfold=unfold
        )
        for row in rows:
            if "_control" in row:
                continue
            number, offset, tombstone = number + 1, row["offset"], row["value"] is None
            places[place] = None
            found = context_in(row["headers"])
            if found is not None and len(contexts) < MOST_LINKS:
                contexts.setdefault(found, (*place, offset))
    single = number == 1
    return Messages(number, places, offset if single else None, single and tombstone, contexts)


def context_in(headers: Iterable[Mapping[str, Any]]) -> Context | None:
    """Return the context in a record's headers; if there are several, the last, as in Kafka's clients."""
    named = {each["key"]: each["value"] for each in headers if isinstance(each["value"], str)}
    match = FORM.fullmatch(named.get("traceparent", ""))
    if match is None:
        return None
    state = named.get("tracestate", "")
    return Context(
        bytes.fromhex(match[1]),
        bytes.fromhex(match[2]),
        int(match[3], 16),
        state if len(state) <= LONGEST_STATE else "",
    )
