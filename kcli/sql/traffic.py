"""The source of `connections`, in one pass over captures: exchanges, events, and facts of each connection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.nothing import require_exchanges
from kcli.capture.tables.arrow import ROWS, ArrowSink
from kcli.capture.tables.columns import OF_EVENTS
from kcli.pipeline.rows.logins import principal_of
from kcli.schemas.apikeys import SASL_AUTHENTICATE
from kcli.sql.scans import Source
from kcli.tables.captured import EVENT_COLUMNS
from kcli.tables.definition import Column
from kcli.tables.exchanges import EXCHANGE_COLUMNS

# Of rows that say nothing else of their connection.
PRINCIPAL = Column("principal", "string", "who it logged in as; empty: refused")
ROUND_TRIP = Column("round_trip_ms", "float64", "of its handshake, null where that was not seen")
RETRANSMISSIONS = Column("retransmissions", "int64", "segments of it with bytes that had come before")
TCP = (ROUND_TRIP, RETRANSMISSIONS)
SAID = (PRINCIPAL, *TCP)
TRAFFIC_COLUMNS = (*{each.name: each for each in (*EXCHANGE_COLUMNS, *EVENT_COLUMNS)}.values(), *SAID)


class Traffic(ArrowSink):
    """Captures whose exchanges and events become record batches, with rows about their connections among them."""

    forwarded = (SASL_AUTHENTICATE,)

    def __init__(self, wanted: frozenset[str]) -> None:
        if any(each.name in wanted for each in TCP):
            self.connection_end = self.put_end
        own = OF_EVENTS | {each.name for each in SAID}
        super().__init__(TRAFFIC_COLUMNS, wanted - own)

    def put_end(self, connection: str, round_trip: int, retransmissions: int) -> None:
        """Put what TCP says of a connection. round_trip: ns, -1: not known."""
        known = round_trip / 1e6 if round_trip >= 0 else None
        self.put({"connection": connection, ROUND_TRIP.name: known, RETRANSMISSIONS.name: retransmissions})
        if len(self.rows) >= ROWS:
            self.flush()

    def more(self, link: bytes, *exchange: Any) -> None:
        """Put what a SaslAuthenticate says of its connection's user: until an answer refuses it."""
        item = self.capture.handover.exchange_of(link, *exchange)
        principal = principal_of(item)
        if principal is not None:
            completed = item.response_ns or item.request_ns
            self.put({"connection": item.connection, PRINCIPAL.name: principal, "completed_ns": completed})


def traffic_source(paths: Sequence[str], options: dict[str, Any]) -> Source:
    """Return the rows of TRAFFIC_COLUMNS. options: of DecodeOptions. Raises NothingReadError at the
    end: no exchange.
    """

    def batches(wanted: frozenset[str]) -> Iterator[Any]:
        source = CaptureDecoder(paths, Traffic(wanted), DecodeOptions(**options))
        yield from source.sink.batches()
        require_exchanges(source)

    return batches
