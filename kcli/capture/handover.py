"""The handover of odd connections from the core to the readers in Python, and back.

The core requests a reader for an odd connection, passes it the connection's state (`restore`) and bytes, and takes the
connection back once the reader is `steady` again (`release`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from kcli.capture.counters import Tally
from kcli.capture.kafka.bodies import WHOLE, Bodies, Cut
from kcli.capture.kafka.events import Event, Link
from kcli.capture.kafka.exchange import UNTIMED, Exchange, Timing

if TYPE_CHECKING:
    from kcli.capture.tls.keylog import KeyLog
    from kcli.capture.tls.layer import TlsLayer

Ends = tuple[str, str]
Started = tuple[bool, bool]  # whether the beginning of each direction was seen
Layer = Callable[[Ends, int | None, Started], "TlsLayer"]


class Handover:
    """Makes readers of odd connections for the core (kcli.core.capture.engine), and receives their exchanges and
    events.

    layer(ends, client, started): makes a reader; a sink may replace it. secrets_met: called when a capture contains a
    part of a key log.
    """

    def __init__(
        self,
        bodies: Bodies,
        tally: Tally,
        key_logs: Sequence[str],
        receive: Callable[[Exchange | Event], None],
        *,
        to_brokers: bool = False,
    ) -> None:
        """Prepare connections. key_logs: files with TLS secrets. receive: called with exchanges and events. to_brokers:
        see DecodeOptions.
        """
        self.to_brokers = to_brokers
        self.bodies, self.tally, self.key_logs, self.receive = bodies, tally, key_logs, receive
        self.layer: Layer = self.new_layer
        self.secrets_met: Callable[[], None] = lambda: None
        if key_logs:
            _ = self.keys  # an invalid key log raises its error before anything is read

    @cached_property
    def keys(self) -> KeyLog:
        """The secrets of all TLS connections. Raises InputError if a key log can't be read, or is invalid."""
        from kcli.capture.tls.keylog import KeyLog  # most captures need none

        return KeyLog(self.key_logs)

    def add_secrets(self, block: bytes) -> None:
        """Add a part of a key log that a capture contains."""
        self.secrets_met()
        self.keys.add(block)

    # Called by the core

    def connect(self, ends: Ends, client: int | None, started: Started) -> TlsLayer:
        """Make the reader of a connection that the core does not read by itself."""
        return self.layer(ends, client, started)

    def exchanged(self, link: bytes, *exchange: Any) -> None:
        """Take an exchange that the core read by itself; see `exchange_of`."""
        self.receive(self.exchange_of(link, *exchange))

    # As values

    def new_layer(self, ends: Ends, client: int | None, started: Started) -> TlsLayer:
        """Make a connection, and the layer between it and TCP."""
        from kcli.capture.kafka.connection import CapturedConnection  # most captures need none
        from kcli.capture.tls.layer import TlsLayer

        make = partial(CapturedConnection, ends, client, started, self.bodies, self.receive, to_broker=self.to_brokers)
        return TlsLayer(make, started, self.keys, self.tally.add_decrypted)

    def exchange_of(
        self,
        link: bytes,
        _key: int,
        _version: int,
        ns: int,
        request: bytes,
        answered: int | None,
        response: bytes | None,
        timing: tuple[Any, ...] = UNTIMED,
        cut: tuple[int | None, int | None] = WHOLE,
    ) -> Exchange:
        """Make an exchange from the core's values: times in ns, frames without length prefix, and its Cut."""
        server, _, client = link.decode().partition("-")
        return Exchange(Link(server, client), ns, request, answered, response, self.bodies, Timing(*timing), Cut(*cut))
