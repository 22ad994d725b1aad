"""Connections that are open at the end of a run, kept as plain values with which the next run continues.

A run ends as if the captures ended there: requests without a response and incomplete frames get rows, which the next
run replaces. The next run begins with the connections that were open (`kcli.pipeline.packets.kept_state`).
"""

from collections.abc import Sequence
from typing import Any

from kcli.capture.audit import ClientProfile
from kcli.capture.kafka.bodies import WHOLE, Cut
from kcli.capture.kafka.connection import CapturedConnection
from kcli.capture.kafka.connection_state import PENDING
from kcli.capture.kafka.events import Event, Link
from kcli.capture.kafka.exchange import UNTIMED, Exchange, Timing
from kcli.capture.kafka.frames import CutFrame
from kcli.capture.kafka.kafka_probe import Trial
from kcli.capture.kafka.pending import Pending, PendingRequests
from kcli.capture.tls import state as tls
from kcli.capture.tls.layer import TlsLayer

# (ends, client, last, reset, waits, sides, talk) of CaptureEngine.dump, with the connection as a dict; then the
# response to ApiVersions, the handshake of CaptureEngine.dump, and the positions of the connection's fetches. The last
# two may be missing.
Carried = tuple[Any, ...]
NO_HANDSHAKE = (0, -1, 0, 0)

STREAM = (
    "offset",
    "synced",
    "skip",
    "searched",
    "candidates",
    "ends",
    "received",
    "effort",
    "damaged",
    "part",
    "seen",
    "foreign",
    "ns",
    "begun",
)
CONNECTION = ("ends", "client", "spoke", "searched", "tokens", "lossy", "foreign", "began", "answered", "client_id")
EVENT = ("kind", "connection", "ns", "offset", "size", "reason", "sender", "file", "data", "hidden", "captured")
EXCHANGE = ("request_ns", "request_frame", "response_ns", "response_frame")
PROFILE_FIELDS = ("software", "version", "negotiates", "offered")


def dump(source: Any) -> list[Carried]:
    """Return the connections that are open in a source's engine."""
    profiles: dict[str, ClientProfile] = source.rows.uses.profiles
    flows = [plain(each, profiles) for each in source.engine.dump()]
    links = [b"" if link is None else link for link, _ in flows]
    return [(*flow, kept) for (_, flow), kept in zip(flows, source.taker.kept_positions(links), strict=True)]


def plain(each: tuple[Any, ...], profiles: dict[str, ClientProfile]) -> tuple[bytes | None, Carried]:
    """Return the text of an open connection (None while it is not known to be Kafka), and its state."""
    *flow, state, handshake = each
    if state is None or state[4] is None:
        return None, (*flow, state, None, handshake)
    connection: TlsLayer = state[4]
    link = str(connection.link)
    profile = profiles.get(link)
    profile_values = None if profile is None else {name: getattr(profile, name) for name in PROFILE_FIELDS}
    made = plain_connection(connection.connection) | {"tls": tls.dump(connection), "link": link}
    return link.encode(), (*flow, (*state[:4], made), profile_values, handshake)


def plain_connection(connection: CapturedConnection) -> dict[str, Any]:
    made = {name: getattr(connection, name) for name in CONNECTION}
    made["pending"] = [tuple(getattr(each, name) for name in PENDING) for each in connection.pending]
    made["trial"] = None if connection.trial is None else (connection.trial.state, plain_items(connection.trial.held))
    made["streams"] = [
        {
            "buffer": bytes(stream.buffer),
            "cut": None if stream.cut is None else tuple(stream.cut),
            **{name: getattr(stream, name) for name in STREAM},
        }
        for stream in connection.streams
    ]
    return made


def restore(source: Any, carried: Sequence[Carried], clock: int) -> None:
    """Add the connections that were open in another engine to a source's engine. clock: the time (ns) at which that
    engine ended.
    """
    profiles: dict[str, ClientProfile] = source.rows.uses.profiles
    flows = []
    for ends, client, last, reset, waits, sides, state, profile_values, *rest in carried:
        if state is not None and state[4] is not None:
            connection = new_layer(source, state[4])
            state = (*state[:4], connection)
            link = str(connection.link)
            if profile_values is not None:
                profiles[link] = ClientProfile(**profile_values)
            source.taker.restore_positions(link.encode(), b"".join(rest[1:]))
        flows.append((ends, client, last, reset, waits, sides, state, *(rest[:1] or [NO_HANDSHAKE])))
    source.engine.restore(flows, clock)


def new_layer(source: Any, state: dict[str, Any]) -> TlsLayer:
    layer: TlsLayer = source.capture.handover.new_layer(state["ends"], state["client"], (True, True))
    restore_connection(layer.connection, state, source.bodies)
    tls.restore(layer, state["tls"])
    return layer


def restore_connection(connection: CapturedConnection, state: dict[str, Any], bodies: Any) -> None:
    for name in CONNECTION:
        setattr(connection, name, state.get(name, getattr(connection, name)))  # an older kcli lacks some
    connection.pending = PendingRequests(Pending(*each) for each in state["pending"])
    connection.trial = None if state["trial"] is None else new_trial(state["trial"], bodies)
    for stream, kept in zip(connection.streams, state["streams"], strict=True):
        stream.buffer[:] = kept["buffer"]
        stream.cut = CutFrame(*kept["cut"]) if kept.get("cut") else None
        for name in STREAM:
            setattr(stream, name, kept.get(name, 0))


def plain_items(items: Sequence[Exchange | Event]) -> list[tuple[Any, ...]]:
    """Return the items held back, in order, as (link, values) of an exchange or (None, values) of an event."""
    return [
        (
            (each.link.server, each.link.client),
            (*(getattr(each, name) for name in EXCHANGE), tuple(each.timing), tuple(each.cut)),
        )
        if isinstance(each, Exchange)
        else (None, tuple(getattr(each, name) for name in EVENT))
        for each in items
    ]


def new_trial(state: tuple[Any, ...], bodies: Any) -> Trial:
    trial = Trial(state[0])
    for link, values in state[1]:
        if link is None:
            trial.hold(Event(*values))
        else:
            request_ns, request, response_ns, response, *more = values  # an older kcli wrote fewer
            timed = Timing(*more[0]) if more else UNTIMED
            cut = Cut(*more[1]) if len(more) > 1 else WHOLE
            trial.hold(Exchange(Link(*link), request_ns, request, response_ns, response, bodies, timed, cut))
    return trial
