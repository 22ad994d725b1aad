"""Counts of a capture's contents, which account for every captured byte of TCP."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange

MOST_REASONS, LONGEST_REASON = 32, 160  # reasons by which connections are counted; characters of one


@dataclass(slots=True)
class Tally:
    """Counts of exchanges and events; bytes are of TCP payload."""

    exchanges: int = 0
    answered: int = 0
    exchange_bytes: int = 0
    apis: Counter[int] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    event_bytes: Counter[str] = field(default_factory=Counter)
    foreign: Counter[str] = field(default_factory=Counter)  # connections other than Kafka's, by reason
    captured: int = 0  # bytes of events that are in the capture
    sealed: int = 0  # TLS connections whose keys are missing
    decrypted: int = 0  # TLS connections
    protection_bytes: int = 0  # bytes of these connections other than content: handshakes, headers of records, tags
    mid_stream: int = 0  # connections that began before the capture
    unsure: int = 0  # exchanges whose response is cut off, so that its errors are unknown
    nameless: Counter[str] = field(default_factory=Counter)  # exchanges that a topic filter can't judge, by topic id

    def add(self, item: Exchange | Event) -> None:
        """Count an exchange or event."""
        if isinstance(item, Exchange):
            self.exchanges += 1
            self.answered += item.response_frame is not None
            self.exchange_bytes += item.whole_bytes
            self.unsure += item.error_codes is None if item.is_cut else 0
            self.apis[item.api_key] += 1
            return
        self.events[item.kind] += 1
        self.sealed += item.kind == "not-kafka" and item.reason.startswith("TLS") and "key log" in item.reason
        self.event_bytes[item.kind] += item.size
        if item.kind == "not-kafka" and item.sender is None:
            reason = item.reason[:LONGEST_REASON]
            self.foreign[reason if reason in self.foreign or len(self.foreign) < MOST_REASONS else "other reasons"] += 1
        self.captured += item.size if item.captured and item.connection is not None else 0

    def add_decrypted(self, count: int) -> None:
        """Count a TLS connection, with its bytes of handshakes, headers and tags."""
        self.decrypted += 1
        self.protection_bytes += count

    def add_steady(self, engine: Any) -> None:
        """Add the core's own counts, of exchanges that it wrote as lines."""
        self.exchanges += engine.exchanges
        self.answered += engine.answered
        self.exchange_bytes += engine.message_bytes
        self.apis.update(engine.counts())
        self.mid_stream += engine.mid_stream
        self.nameless.update(engine.nameless)

    def include(self, other: Tally) -> None:
        """Add the counts of other connections of the same capture."""
        for each in fields(self):
            ours, theirs = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, ours + theirs)

    def unaccounted(self, engine: Any) -> int:
        """Return the captured bytes of TCP that are in no exchange, event or repetition. They are 0 unless there is a
        bug.
        """
        known = (
            self.exchange_bytes
            + self.captured
            + self.protection_bytes
            + engine.duplicate
            + engine.stray
            + engine.ignored
        )
        return int(engine.payload - known)
