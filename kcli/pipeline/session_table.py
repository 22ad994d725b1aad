"""The table `fetch_sessions`: each server's fetch sessions (KIP-227), followed over all runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kcli.pipeline.incremental_tables import Gathered, Row, fold
from kcli.pipeline.writing import Written
from kcli.schemas.apikeys import FETCH
from kcli.sessions.offsets import HEARD

__all__ = ["make_sessions", "sessions"]

NS_US = 1000
FETCH_APIS = (FETCH, *HEARD)


def make_sessions(gathered: Gathered, table: str) -> list[Written]:
    return fold(gathered, fetches, ["server"], ["completed_ns"], sessions, table)


def fetches(gathered: Gathered) -> Any:
    """Exchanges that tell of sessions, and the events among them."""
    from pyspark.sql import functions

    frame = gathered.frame("exchanges")
    if frame is None:
        return None
    wanted = ["server", "connection", "timestamp", "completed_ns", "latency_ms", "request_bytes", "response_bytes"]
    wanted += ["request_header", "request", "response"]
    made = frame.where(functions.col("api_key").isin(*FETCH_APIS)).select(
        *wanted, functions.lit(None).cast("string").alias("event")
    )
    events = gathered.frame("undecodable")
    if events is not None:
        lost = events.where("event != 'unanswered-at-end' and connection is not null")
        server = functions.expr("regexp_extract(connection, '^(.+?:[0-9]+)-', 1)").alias("server")
        nothing = [functions.lit(None).cast(dict(made.dtypes)[name]).alias(name) for name in wanted[4:]]
        when = (functions.unix_micros("timestamp") * NS_US).alias("completed_ns")
        made = made.unionByName(lost.select(server, "connection", "timestamp", when, *nothing, "event"))
    return made


def sessions(rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
    """Rows of `fetch_sessions` out of one server's exchanges, in the order in which they completed."""
    from kcli.jsontext import loads
    from kcli.sessions.explain import session_dict
    from kcli.sessions.feeder import Feeder
    from kcli.sessions.tracker import Tracker

    made: list[tuple[Any, ...]] = []
    findings: dict[tuple[str, int], int] = {}
    names: dict[str, str] = {}
    tracker = Tracker(on_end=lambda session: made.append(session_row(session_dict(session, names), session)))
    feeder = Feeder(tracker)
    names = tracker.offsets.names
    for row in rows:
        if row["event"] is not None:
            feeder.row(
                {"event": row["event"], "connection": row["connection"], "timestamp": row["timestamp"].isoformat()}
            )
            continue
        feeder.row({
            "timestamp": row["timestamp"].isoformat(), "connection": row["connection"], "latencyMs": row["latency_ms"],
            "requestBytes": row["request_bytes"], "responseBytes": row["response_bytes"],
            "requestHeader": loads(row["request_header"]), "request": loads(row["request"] or "null"),
            "response": loads(row["response"] or "null"),
        })  # fmt: skip
        while made:
            yield made.pop(0)
    tracker.close()
    yield from made
    for loose in tracker.sessionless.values():
        yield loose_row(loose)
    findings.clear()


def session_row(told: dict[str, Any], session: Any) -> tuple[Any, ...]:
    partitions, latency = told["partitions"], told["latencyMs"]
    return (
        session.first_ns // NS_US, told["server"], told["connection"], told["clientId"], told["replicaId"],
        told["apiVersion"], told["sessionId"], session.opened_ns // NS_US if session.since_start else None,
        session.end_ns // NS_US if session.end_ns else None, told["end"], bool(told["complete"]),
        partitions["first"], partitions["most"], partitions["last"], *tallied(told), None,
        latency["p50"], latency["p99"], errors_text(told), told["neverDeliveredCount"], counted(told["findings"]),
    )  # fmt: skip


def counted(findings: Any) -> int:
    return findings if isinstance(findings, int) else len(findings)


def loose_row(loose: Any) -> tuple[Any, ...]:
    """Fetches outside any session."""
    from kcli.sessions.explain import sessionless_dict

    told = sessionless_dict(loose)
    latency = told["latencyMs"]
    return (
        loose.first_ns // NS_US, told["server"], None, told["clientId"], told["replicaId"], told["apiVersion"], 0, None,
        loose.last_ns // NS_US, None, None, None, None, None, *tallied(told), told["notGranted"],
        latency["p50"], latency["p99"], errors_text(told), None, None,
    )  # fmt: skip


TALLIED = (
    "fetches", "full", "incremental", "emptyPolls", "unanswered", "requestBytes", "responseBytes", "recordsBytes",
    "fullRequestBytes", "fullResponseBytes",
)  # fmt: skip


def tallied(told: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(told.get(name) for name in TALLIED)


def errors_text(told: dict[str, Any]) -> str | None:
    from kcli.jsontext import dumps

    return dumps(told["errors"]) if told["errors"] else None
