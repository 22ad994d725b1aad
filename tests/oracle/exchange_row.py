"""A row of `exchanges` out of an exchange's values, as one would write it by hand: what columns are held to."""

from typing import Any

from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.kafka.exchange import Exchange
from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace
from kcli.jsontext import loads
from kcli.schemas.errors import error_name
from kcli.tables.exchanges import address_of

ASKED = (
    "maxWaitMs", "rebalanceTimeoutMs", "sessionTimeoutMs", "replicaId", "brokerId", "acks", "minBytes", "groupId",
    "transactionalId", "v3AndBelowTransactionalId",
)  # fmt: skip


def exchange_row(exchange: Exchange, clock: int = 0) -> dict[str, Any]:
    """By column; what is missing is null. clock: ns, of the packet with which it came out."""
    if exchange.cut.response is None:
        errors: list[str] | None = list(
            dict.fromkeys(error_name(code) for code in error_codes(exchange.response or {}))
        )
    else:
        code = start_of(exchange, "errorCode", response=True)
        errors = [error_name(code)] if code else None
    header, request, response = exchange.texts()
    return {
        "timestamp": exchange.request_ns // 1000,
        "connection": exchange.connection,
        "server": exchange.link.server,
        "client": exchange.link.client,
        "broker_address": address_of(exchange.link.server),
        "client_address": address_of(exchange.link.client),
        "client_id": loads(header)["clientId"],
        "api_key": exchange.api_key,
        "api_version": exchange.api_version,
        "api": exchange.bodies.name(exchange.api_key),
        "correlation_id": exchange.correlation_id,
        "request_bytes": exchange.request_bytes,
        "response_bytes": exchange.response_bytes,
        "latency_ms": exchange.latency_ms,
        "completed_ns": max(clock, exchange.response_ns or exchange.request_ns),
        "request_header": header.decode(),
        "request": None if request == b"null" else request.decode(),
        "response": None if response == b"null" else response.decode(),
        "error": errors[0] if errors else None,
        "errors": errors,
        **timing_of(exchange),
    }


def timing_of(exchange: Exchange) -> dict[str, Any]:
    """Where its time went, and what its messages say of that."""
    key, asked, answer, timing = exchange.api_key, exchange.request or {}, exchange.response or {}, exchange.timing
    fetches = key in (1, 78)
    if exchange.cut.request is not None:
        asked = {name: start_of(exchange, name, response=False) for name in ASKED}
    if exchange.cut.response is not None:
        answer = {"throttleTimeMs": start_of(exchange, "throttleTimeMs", response=True)}
    waits = [
        asked.get("maxWaitMs") if fetches else None,
        asked.get("rebalanceTimeoutMs", asked.get("sessionTimeoutMs")) if key == 11 else None,
        answer.get("throttleTimeMs"),
    ]
    wait: int | None = 0
    if fetches or key in (11, 14):
        limit = waits[0] if fetches else waits[1]
        wait = None if limit is None else max(limit, 0)
    asking = None if timing.began is None else exchange.request_ns - timing.began
    answering = None
    if exchange.response_ns is not None and timing.answering is not None:
        answering = exchange.response_ns - timing.answering
    replica = asked.get("replicaId", (asked.get("replicaState") or {}).get("replicaId", -1 if key == 1 else None))
    if key in (7, 56, 62, 63, 67, 73):
        replica = asked.get("brokerId")
    broker = None
    if exchange.latency_ms is not None and wait is not None:
        broker = max(0.0, round(exchange.latency_ms - (ms(answering) or 0) - wait, 3))
    return {
        "request_transfer_ms": ms(asking),
        "response_transfer_ms": ms(answering),
        "client_pause_ms": ms(timing.pause),
        "in_flight": timing.in_flight if timing.in_flight >= 0 else None,
        "wait_ms": wait,
        "broker_ms": broker,
        "acks": asked.get("acks") if key == 0 else None,
        "min_bytes": asked.get("minBytes") if fetches else None,
        "max_wait_ms": waits[0],
        "throttle_ms": waits[2],
        "group_id": asked.get("groupId"),
        "transactional_id": asked.get("transactionalId", asked.get("v3AndBelowTransactionalId")),
        "replica_id": replica,
    }


def ms(ns: int | None) -> float | None:
    return None if ns is None or ns < 0 else ns // 1000 / 1000


def start_of(exchange: Exchange, name: str, *, response: bool) -> Any:
    """A field of a message that is cut off, as its words are read one by one; None if it does not get that far."""
    given = exchange.api_key, exchange.api_version
    header, message = (
        (messages.response_header(*given), messages.response(*given))
        if response
        else (messages.request_header(*given), messages.request(*given))
    )
    frame = (exchange.response_frame if response else exchange.request_frame) or b""
    try:
        source = ByteSource(frame, header.skip(frame))
        for field in message.grammar.fields:
            value = field.subcon.parse_word(source, DecodeTrace(), field.name)
            if field.name == name:
                return value
    except DecodeError:
        pass
    return None
