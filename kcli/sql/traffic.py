"""What `connections` is made of, in one pass over captures: exchanges, events, and what is known of each connection.

A login's name is no secret, its credential is: SaslAuthenticate says both (KIP-152), and only the name is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kcli.capture.arrow import ROWS, TableDecoder
from kcli.capture.columns import OF_EVENTS
from kcli.capture.exchange import Exchange
from kcli.capture.exchanges import Item
from kcli.errors import InputError
from kcli.schemas.apikeys import SASL_AUTHENTICATE
from kcli.sql.scans import Source
from kcli.tables.captured import EVENT_COLUMNS, EXCHANGE_COLUMNS
from kcli.tables.definition import Column

__all__ = ["TRAFFIC_COLUMNS", "name_of_login", "traffic_source"]

# Of rows that say nothing else of their connection.
PRINCIPAL = Column("principal", "string", "who it logged in as")
ROUND_TRIP = Column("round_trip_ns", "int64", "of its handshake, null where that was not seen")
RETRANSMISSIONS = Column("retransmissions", "int64", "segments of it with bytes that had come before")
TCP = (ROUND_TRIP, RETRANSMISSIONS)
SAID = (PRINCIPAL, *TCP)
TRAFFIC_COLUMNS = (*{each.name: each for each in (*EXCHANGE_COLUMNS, *EVENT_COLUMNS)}.values(), *SAID)
SCRAM = re.compile(
    r"[ny](?:=[^,]*)?,(?:a=[^,]*)?,(?:m=[^,]*,)?n=([^,]+),r="
)  # the client's first message (RFC 5802, 7)


def name_of_login(token: bytes) -> str | None:
    """The user in a client's first token of PLAIN (RFC 4616) or SCRAM; None where it is another's, or a later one."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return None
    if text.count("\0") == 2:
        return text.split("\0")[1] or None
    found = SCRAM.match(text)
    return found[1].replace("=2C", ",").replace("=3D", "=") if found else None


class Traffic(TableDecoder):
    """Captures whose exchanges and events become record batches, with rows about their connections among them."""

    forwarded = (SASL_AUTHENTICATE,)

    def __init__(self, paths: Sequence[str], wanted: frozenset[str], options: dict[str, Any]) -> None:
        self.logins: dict[str, str | None] = {}
        if any(each.name in wanted for each in TCP):
            self.connection_ended = self.put_end
        own = OF_EVENTS | {each.name for each in SAID}
        super().__init__(paths, TRAFFIC_COLUMNS, wanted - own, **options)

    def put_end(self, connection: str, round_trip: int, retransmissions: int) -> None:
        """Put what TCP says of a connection. round_trip: ns, -1: not known."""
        known = round_trip if round_trip >= 0 else None
        self.put({"connection": connection, ROUND_TRIP.name: known, RETRANSMISSIONS.name: retransmissions})
        if len(self.rows) >= ROWS:
            self.flush()

    def emit(self, item: Item) -> None:
        """Take an exchange or event that comes as a value."""
        if isinstance(item, Exchange):
            self.note(item)
        super().emit(item)

    def more(self, link: bytes, *exchange: Any) -> None:
        """Take an exchange that the core has made columns of: times in ns, frames without their length."""
        self.note(self.exchange_of(link, *exchange))

    def note(self, item: Exchange) -> None:
        """What a SaslAuthenticate says of its connection's user: until an answer refuses it."""
        if item.api_key != SASL_AUTHENTICATE or not item.request:
            return
        if item.response is None or item.response["errorCode"]:
            self.logins[item.connection] = None
        elif name := name_of_login(bytes(item.request["authBytes"] or b"")):
            self.logins[item.connection] = name

    def login_batch(self) -> Any:
        """The logins, as a record batch."""
        rows = [
            {"connection": connection, "principal": f"User:{name}"} for connection, name in self.logins.items() if name
        ]
        return self.arrow.RecordBatch.from_pylist(rows, schema=self.schema)


def traffic_source(paths: Sequence[str], options: dict[str, Any]) -> Source:
    """The rows of TRAFFIC_COLUMNS. options: as for `CaptureDecoder`."""

    def batches(wanted: frozenset[str]) -> Iterator[Any]:
        source, failures = Traffic(paths, wanted, options), []
        try:
            yield from source.batches()
        except InputError as error:
            failures.append(error)
        yield source.login_batch()
        if failures:
            raise failures[0]

    return batches
