"""The state of a connection's TLS as plain values, from which a later run continues. It has no keys, as the key log has
them.
"""

from dataclasses import asdict
from typing import Any

from kcli.capture.tls import protection
from kcli.capture.tls.ciphers import TLS_13
from kcli.capture.tls.handshake import Handshake
from kcli.capture.tls.layer import TlsLayer
from kcli.capture.tls.protection import Protection
from kcli.capture.tls.session import HeldRecord, TlsSession
from kcli.capture.tls.stream import TlsEnd

LAYER = ("starts", "early", "early_bytes", "refused", "refusal", "refused_bytes", "refused_ns", "proxied")
SESSION = ("data_bytes", "opened", "began", "foreign")
END = ("buffer", "ns", "received", "vain", "guessed", "sealed", "searching", "gap", "loss", "lacking")


def dump(layer: TlsLayer) -> dict[str, Any] | None:
    """Return the state between TCP and a connection, without the connection; None if the connection is plain or not
    Kafka's.
    """
    if layer.is_settled:
        return None
    made = {name: plain(getattr(layer, name)) for name in LAYER}
    session = layer.session
    if session is not None:
        made["session"] = {name: getattr(session, name) for name in SESSION} | {
            "agreed": asdict(session.agreed),
            "held": [tuple(record) for record in session.held],
            "ends": [dump_end(end) for end in session.ends],
        }
    return made


def plain(value: Any) -> Any:
    """Return bytes for a bytearray, also in lists."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return bytes(value) if isinstance(value, bytearray) else value


def dump_end(end: TlsEnd) -> dict[str, Any]:
    made = {name: plain(getattr(end, name)) for name in END}
    keys = end.keys
    return made | {
        "messages": bytes(end.messages.buffer),
        "keys": None if keys is None else (bool(keys.secret), keys.updates, keys.number),
    }


def restore(layer: TlsLayer, state: dict[str, Any] | None) -> None:
    """Restore a state of `dump` in a new layer; its connection is restored already."""
    layer.early = None
    if state is None:
        layer.starts = [None, None]
        return
    for name in LAYER:
        setattr(layer, name, state[name])
    layer.starts = [None if start is None else bytes(start) for start in state["starts"]]
    kept = state.get("session")
    if kept is None:
        return
    session = layer.session = TlsSession(layer.connection, layer.started, layer.log, layer.decrypted)
    for name in SESSION:
        setattr(session, name, kept[name])
    session.agreed = Handshake(**kept["agreed"])
    for record in kept["held"]:
        session.hold(HeldRecord(*record))
    layer.log.seen.add(session.agreed.client_random)
    for d, values in enumerate(kept["ends"]):
        end = session.ends[d]
        for name in END:
            setattr(end, name, values[name])
        end.buffer = bytearray(end.buffer)
        end.messages.buffer = bytearray(values["messages"])
        end.keys = None if values["keys"] is None else keys_again(session, d, *values["keys"])


def keys_again(session: TlsSession, d: int, is_traffic: bool, updates: int, number: int) -> Protection | None:
    """Return a direction's keys again; None if the key log lacks them now."""
    agreed, log, from_client = session.agreed, session.log, session.is_client(d)
    is_handshake = agreed.version == TLS_13 and not is_traffic
    find = protection.handshake_keys if is_handshake else protection.application_keys
    keys = find(agreed, log, from_client)
    for _ in range(updates):
        keys = None if keys is None else keys.updated()
    if keys is not None:
        keys.number = number
    return keys
