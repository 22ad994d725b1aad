"""The source of the table `connections`: exchanges, events, and facts about each connection, from one pass over
captures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.nothing import require_exchanges
from kcli.capture.tables.arrow import ROWS, ArrowSink
from kcli.capture.tables.columns import OF_EVENTS
from kcli.core.capture.tcp_facts import TcpFacts
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.rows.logins import login_step
from kcli.pipeline.rows.tcp import tcp_batch
from kcli.schemas.apikeys import SASL_AUTHENTICATE, SASL_HANDSHAKE
from kcli.sql.scans import Source
from kcli.tables.captured import EVENT_COLUMNS
from kcli.tables.definition import Column
from kcli.tables.exchanges import EXCHANGE_COLUMNS
from kcli.tables.rule_facts import RULE_FACTS

# Columns of facts about logins.
LOGIN = tuple(each for each in FACTS["logins"].columns if each.name not in ("connection", "completed_ns"))
ROUND_TRIP = Column("round_trip_ms", "float64", "of its handshake, null where that was not seen")
TCP = tuple(each for each in RULE_FACTS["tcp"].columns if each.name not in ("connection", "server", "client"))
TRAFFIC_FACTS = (*LOGIN, ROUND_TRIP, *TCP)
TRAFFIC_COLUMNS = (*{each.name: each for each in (*EXCHANGE_COLUMNS, *EVENT_COLUMNS)}.values(), *TRAFFIC_FACTS)


class Traffic(ArrowSink):
    """Makes record batches of exchanges and events, with rows of facts about their connections."""

    forwarded = (SASL_HANDSHAKE, SASL_AUTHENTICATE)

    def __init__(self, wanted: frozenset[str]) -> None:
        self.tcp = TcpFacts(full=self.put_tcp) if any(each.name in wanted for each in TCP) else None
        self.servers: set[str] = set()
        if self.tcp is not None or ROUND_TRIP.name in wanted:
            self.connection_end = self.put_end
        own = OF_EVENTS | {each.name for each in TRAFFIC_FACTS}
        super().__init__(TRAFFIC_COLUMNS, wanted - own)

    def put_end(self, connection: str, round_trip: int, _retransmissions: int) -> None:
        """Add the round trip of one connection, in ns; -1 if unknown."""
        self.servers.add(connection.partition("-")[0])
        known = round_trip / 1e6 if round_trip >= 0 else None
        self.put({"connection": connection, ROUND_TRIP.name: known})
        if len(self.rows) >= ROWS:
            self.flush()

    def more(self, link: bytes, *exchange: Any) -> None:
        """Add the login step in a SaslHandshake or SaslAuthenticate."""
        item = self.capture.handover.exchange_of(link, *exchange)
        if item.request is not None and (item.response is not None or item.response_frame is None):
            row = dict(zip(FACTS["logins"].names, (item.connection, *login_step(item)), strict=True))
            self.put(row)

    def count_tcp(self) -> None:
        """Let the engine count TCP's facts if they are wanted. Call it before anything is read."""
        if self.tcp is not None:
            self.capture.engine.count_tcp(self.tcp)

    def put_tcp(self, last: bool = False) -> None:
        """Make record batches of TCP's facts. last: also for connections that are still open."""
        if self.tcp is not None:
            ends, numbers = self.tcp.take(last)
            self.take_batch(tcp_batch(ends, numbers, self.servers, frozenset(self.capture.options.ports)))


def traffic_source(paths: Sequence[str], options: dict[str, Any]) -> Source:
    """Return the rows of TRAFFIC_COLUMNS. options: of DecodeOptions. Raises NothingReadError after the last row if
    there is no exchange.
    """

    def batches(wanted: frozenset[str]) -> Iterator[Any]:
        source = CaptureDecoder(paths, Traffic(wanted), DecodeOptions(**options))
        source.sink.count_tcp()
        try:
            yield from source.sink.batches()
        finally:
            source.sink.put_tcp(last=True)
        yield from source.sink.taken_batches()
        require_exchanges(source)

    return batches
