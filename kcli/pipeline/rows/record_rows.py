"""Rows of the table `records`: the records of Produce, Fetch and ShareFetch, collected until there are enough for a
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import CapturedField, record_fields
from kcli.pipeline.tables import FILED, RECORDS
from kcli.pipeline.writing import DAY_US, as_stored, written_schema

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder
    from kcli.payloads.record_table import CapturedBatches, RecordsOrigin

CHUNK = 4 << 20  # bytes of record batches that are collected
LEAST = 26  # bytes of the smallest record, of format 0
UNKNOWN = (None,) * 4  # the values of an unknown origin
DAY_NS = 1000 * DAY_US


def holds_records(frame: bytes | None) -> bool:
    """Return whether a frame is long enough to contain records: most responses to fetches are not."""
    return frame is not None and len(frame) > LEAST


class RecordRows:
    """Collects records by the day of their exchange. Records of a topic whose name is not known yet are kept
    separate.
    """

    def __init__(self, secrets: bool, decoder: PayloadDecoder | None, note: Callable[[Event], None]) -> None:
        """Prepare to collect records. secrets: show them. decoder: decodes keys and values. note: takes an event for
        each batch that can't be read.
        """
        self.secrets, self.decoder, self.note = secrets, decoder, note
        self.parts: dict[tuple[int, bool], CapturedBatches] = {}
        self.size = 0

    def add(self, exchange: Exchange, origin: Sequence[Any]) -> None:
        """Add the records of an exchange. origin: the values of `Origins.row`."""
        from kcli.payloads.record_table import CapturedBatches

        cluster, host, file, run = origin
        for field in record_fields(exchange):
            key = exchange.request_ns // DAY_NS, field.topic is None
            part = self.parts.get(key)
            if part is None:
                part = self.parts[key] = CapturedBatches()
            part.add(CapturedField(exchange, file, field), cluster=cluster, host=host, run=run)
            self.size += len(field.data)

    def taken(self) -> Iterator[tuple[str, int, Any, bool]]:
        """Yield the collected records, as arguments for `RowSource.put_batch`, and start with none."""
        from kcli.payloads.record_table import record_batches

        parts, self.parts, self.size = self.parts, {}, 0
        schema, columns = written_schema(RECORDS.name), FILED[RECORDS.name].columns
        for (day, nameless), gathered in parts.items():
            data, places = gathered.drain()
            found: list[tuple[int, int, str]] = []
            if places:
                for batch in record_batches(data, places, self.secrets, found, self.decoder, columns):
                    yield RECORDS.name, day, as_stored(batch, schema), nameless
            for position, record, reason in found:
                self.note(fault(data, places, position, f"records[{record}] of a batch: {reason}"))


def fault(data: bytearray, places: Sequence[RecordsOrigin], position: int, reason: str) -> Event:
    """Return the event for a batch that can't be read. position: in the data; the event has the offset in the batch's
    field.
    """
    place = next(each for each in reversed(places) if each.start <= position)
    size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
    sender = "client" if place.values["api"] == "PRODUCE" else "server"
    where = place.values["connection"], place.ns, position - place.start, size
    return Event("undecodable", *where, reason, sender, captured=False)
