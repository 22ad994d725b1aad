"""Keys and values that can't be decoded, by topic. The captures are read a second time for this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.kafka.record_fields import CapturedField, RecordSink
from kcli.errors import InputError
from kcli.payloads.decoder import bytes_of, headers_of
from kcli.records.rows import SeenOffsets, field_rows
from kcli.records.unfolding import Unfolding
from kcli.schemas.apikeys import PRODUCE

if TYPE_CHECKING:
    from kcli.payloads import Payload, PayloadDecoder

MOST_TOPICS = 1000
MOST_PLACES = 1000  # records remembered for each topic
MOST_NAMES = 100  # clients, reasons and schemas remembered for each topic
SHOWN = 20
BARE = "no schema in front of it, unlike the others of this topic"

Row = dict[str, Any]
Part = tuple[str, str]  # topic, "key" or "value"


class Sighting(NamedTuple):
    """A record, and the exchange in which it was seen. offset: None if the broker's answer lacks it."""

    partition: int
    offset: int | None
    produced: bool
    client: str


@dataclass(slots=True)
class Unread:
    """Payloads that can't be decoded. places: (partition, offset) of the first ones."""

    records: int = 0
    places: dict[tuple[int, int], None] = field(default_factory=dict)
    reasons: dict[str, None] = field(default_factory=dict)
    schemas: dict[str, None] = field(default_factory=dict)
    writers: dict[str, None] = field(default_factory=dict)
    readers: dict[str, None] = field(default_factory=dict)

    def add(self, seen: Sighting, reason: str, schema: str | None) -> None:
        """Count one payload."""
        self.records += 1
        if seen.offset is not None:
            note(self.places, (seen.partition, seen.offset), MOST_PLACES)
        note(self.reasons, reason)
        if schema is not None:
            note(self.schemas, schema)
        self.add_client(seen)

    def add_client(self, seen: Sighting) -> None:
        """Remember a client that wrote or read such a payload."""
        note(self.writers if seen.produced else self.readers, seen.client)


@dataclass(slots=True)
class Tally:
    """The keys or values of a topic. framed: decoded payloads that name a schema; unknown: payloads whose schema could
    not be fetched; bare: payloads that name no schema.
    """

    readable: int = 0
    framed: int = 0
    unknown: int = 0
    wrong: Unread = field(default_factory=Unread)
    bare: Unread = field(default_factory=Unread)

    def add(self, payload: Payload | None, seen: Sighting) -> None:
        """Count one payload."""
        if payload is None:
            self.bare.add(seen, BARE, None)
        elif not payload.is_known:
            self.unknown += 1
        elif payload.reason is not None:
            self.wrong.add(seen, payload.reason, None if payload.schema is None else str(payload.schema.value))
        else:
            self.readable += 1
            self.framed += payload.schema is not None

    def add_client(self, seen: Sighting) -> None:
        """Remember a client of a record that was counted before, at its write or an earlier read."""
        position = seen.partition, seen.offset
        for each in (self.wrong, self.bare):
            if position in each.places:
                each.add_client(seen)

    def unread(self) -> list[Unread]:
        """Return the payloads that can't be decoded. A payload without a schema id is wrong if most others have one."""
        return [
            each for each in (self.wrong, self.bare if self.framed > self.bare.records else Unread()) if each.records
        ]


class PayloadFacts(CaptureDecoder[RecordSink]):
    """Reads captures, and counts the keys and values of records that can't be decoded."""

    def __init__(self, paths: Sequence[str], decoder: PayloadDecoder, options: Mapping[str, Any]) -> None:
        super().__init__(paths, RecordSink(), DecodeOptions(**options))
        self.decoder = decoder
        self.tallies: dict[Part, Tally] = {}
        self.seen: dict[str, SeenOffsets] = {}

    def rows(self, moved: Callable[[int], None] = lambda count: None) -> list[tuple[Any, ...]]:
        """Return rows of `unread_payloads`."""
        try:
            for captured, unfold in self.sink.unfolded(moved):
                self.count(captured, unfold)
        except InputError:
            pass  # the first reading reports it
        if self.decoder.failure is not None:
            return []  # the decoder failed, so its counts prove nothing
        return [
            row_of(part, tally, unread)
            for part, tally in self.tallies.items()
            for unread in (*tally.unread(), *([Unread()] if tally.unknown else []))
        ]

    def count(self, captured: CapturedField, unfold: Unfolding) -> None:
        """Count each record of a field once, even if several exchanges have it."""
        exchange, _, found = captured
        produced = exchange.api_key == PRODUCE
        offsets = self.seen.setdefault(found.label, SeenOffsets())
        rows = field_rows(found.data, [], base_offset=found.base_offset, produced=produced, secrets=True, unfold=unfold)
        for row in rows:
            if "_control" in row:
                continue
            seen = Sighting(found.partition, row["offset"], produced, exchange.client_id or "")
            new = seen.offset is None or offsets.add(found.partition, seen.offset)
            for which in ("key", "value"):
                self.judge(found.label, which, row, seen, new=new)

    def judge(self, topic: str, which: Any, row: Row, seen: Sighting, *, new: bool) -> None:
        """Count a key or value."""
        tally = self.tallies.get((topic, which))
        if tally is None:
            if len(self.tallies) >= 2 * MOST_TOPICS:
                return
            tally = self.tallies[topic, which] = Tally()
        if not new:
            tally.add_client(seen)
        elif (data := bytes_of(row[which])) is not None:
            tally.add(self.decoder.decode(topic, which, data, headers_of(row["headers"])), seen)


def note(names: dict[Any, None], name: Any, most: int = MOST_NAMES) -> None:
    """Remember a name, within bounds."""
    if len(names) < most:
        names[name] = None


def row_of(part: Part, tally: Tally, unread: Unread) -> tuple[Any, ...]:
    """Return a row of `unread_payloads`. unread: without records, the row is about payloads with unknown schemas."""
    topic, which = part
    places = sorted(unread.places)
    return (
        topic, which, unread.records, 0 if unread.records else tally.unknown, tally.readable,
        [*unread.reasons][:SHOWN], sorted(unread.schemas)[:SHOWN],
        sorted({f"{topic}-{partition}" for partition, _ in places}),
        [f"{partition}@{offset}" for partition, offset in places][:SHOWN],
        sorted(unread.writers), sorted(unread.readers),
    )  # fmt: skip
