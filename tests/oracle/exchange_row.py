"""A row of `exchanges` out of an exchange's values, as one would write it by hand: what columns are held to."""

from __future__ import annotations

from typing import Any

from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.kafka.exchange import Exchange
from kcli.jsontext import loads
from kcli.schemas.errors import error_name
from kcli.tables.exchanges import address_of


def exchange_row(exchange: Exchange, clock: int = 0) -> dict[str, Any]:
    """By column; what is missing is null. clock: ns, of the packet with which it came out."""
    errors = list(dict.fromkeys(error_name(code) for code in error_codes(exchange.response or {})))
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
    waits = [
        asked.get("maxWaitMs") if fetches else None,
        asked.get("rebalanceTimeoutMs", asked.get("sessionTimeoutMs")) if key == 11 else None,
        answer.get("throttleTimeMs"),
    ]
    wait = None if waits == [None] * 3 else sum(max(each or 0, 0) for each in waits)
    asking = None if timing.began is None else exchange.request_ns - timing.began
    answering = None
    if exchange.response_ns is not None and timing.answering is not None:
        answering = exchange.response_ns - timing.answering
    replica = asked.get("replicaId", asked.get("replicaState", {}).get("replicaId", -1 if key == 1 else None))
    if key in (7, 56, 62, 63, 67, 73):
        replica = asked.get("brokerId")
    broker = None
    if exchange.latency_ms is not None and key != 14:
        broker = max(0.0, round(exchange.latency_ms - (ms(answering) or 0) - (wait or 0), 3))
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
