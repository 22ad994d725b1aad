"""How each table across connections is made: sessions, leader changes, snapshots, clients."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kcli.capture.audit import Client, Judge, merge
from kcli.pipeline.derived import FETCH_APIS, Gathered, Row, fold
from kcli.pipeline.writing import TableWriter, Written
from kcli.schemas.catalog import catalog
from kcli.schemas.errors import error_name

__all__ = ["MAKERS", "changes", "sessions", "snapshots"]

NS_US = 1000


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


CHANGE_KEYS = ["client_id", "client_address", "api", "topic", "partition"]


def make_changes(gathered: Gathered, table: str) -> list[Written]:
    if gathered.renamed:  # what was known by its id may have a name now: another key
        gathered = replace(gathered, fresh=None)
    return fold(gathered, outcomes, CHANGE_KEYS, ["first_ns"], changes, table, narrow=troubled)


def outcomes(gathered: Gathered) -> Any:
    """Answers about partitions, by the topic's name where any run has heard it."""
    from pyspark.sql import functions

    frame = gathered.frame("outcomes")
    if frame is None or not gathered.names:
        return frame
    pairs = [functions.lit(part) for pair in gathered.names.items() for part in pair]
    return frame.withColumn(
        "topic", functions.coalesce(functions.create_map(*pairs)[functions.col("topic")], functions.col("topic"))
    )


def troubled(frame: Any) -> Any:
    """The rows of keys that had an error."""
    from pyspark.sql import functions

    keys = frame.where("error != 0").select(*(frame[key].alias(f"troubled_{key}") for key in CHANGE_KEYS)).distinct()
    same = [frame[key].eqNullSafe(keys[f"troubled_{key}"]) for key in CHANGE_KEYS]
    return frame.join(functions.broadcast(keys), same, "left_semi")


def changes(rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
    """Rows of `leader_changes` out of one client's outcomes for one partition, in order of the first answer.

    A change begins with the first error and ends with the next answer without one, by whichever server.
    """
    first: Row | None = None
    errors = 0
    told = hinted = None
    for row in rows:
        if row["error"]:
            first = first or row
            errors += row["answers"]
            hinted = hinted or (row if row["hint_leader"] >= 0 else None)
        elif first is not None:
            told = change_row(first, errors, hinted, row)
            first, errors, hinted = None, 0, None
            yield told
    if first is not None:
        yield change_row(first, errors, hinted, None)


def change_row(first: Row, errors: int, hinted: Row | None, after: Row | None) -> tuple[Any, ...]:
    lost = saved = None
    if after is not None:
        lost = (after["first_ns"] - first["first_ns"]) / 1e6
        saved = 0.0 if hinted is not None else max(0.0, (after["first_request_ns"] - first["first_ns"]) / 1e6)
    return (
        first["first_ns"] // NS_US, first["client_id"], first["client_address"], first["api"], first["topic"],
        first["partition"], error_name(first["error"]), first["server"], errors, hinted is not None,
        hinted["hint_leader"] if hinted else None, hinted["hint_server"] if hinted else None,
        after["server"] if after else None, after["first_ns"] // NS_US if after else None, lost, saved,
    )  # fmt: skip


def make_snapshots(gathered: Gathered, table: str) -> list[Written]:
    keys = ["server", "client", "topic", "partition", "end_offset", "epoch"]
    return fold(gathered, lambda files: files.frame("snapshot_parts"), keys, ["answered_ns"], snapshots, table)


def snapshots(rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
    """A row of `quorum` out of the answers that brought one snapshot over one connection."""
    parts = list(rows)
    first = parts[0]
    errors = list(dict.fromkeys(part["error"] for part in parts if part["error"]))
    good = [part for part in parts if not part["error"]]
    size = max((part["size_bytes"] for part in good), default=0)
    received = sum({part["position"]: part["received_bytes"] for part in good}.values())
    last = max((part["answered_ns"] or 0 for part in parts), default=0)
    begun = min(int(part["timestamp"].timestamp() * 1e6) for part in parts)
    yield (
        begun, first["server"], first["client"], first["client_id"], first["topic"], first["partition"],
        first["end_offset"], first["epoch"], size, received, len(parts), ", ".join(errors) or None,
        bool(good) and received >= size, max(0.0, last / 1e9 - begun / 1e6),
    )  # fmt: skip


def make_clients(gathered: Gathered, table: str) -> list[Written]:
    """As `kcli audit` judges them, against the newest release: all anew, for a client is all of its connections."""
    frame = gathered.frame("client_uses")
    if frame is None:
        return []
    from pyspark.sql import functions

    who = ["client_id", "address", "software", "software_version"]
    uses = frame.groupBy(*who, "api_key", "api_version").agg(
        functions.sum("requests").alias("requests"),
        functions.max("free").alias("free"),
        functions.max("negotiates").alias("negotiates"),
    )
    counted = frame.groupBy(*who).agg(functions.count_distinct("connection").alias("connections")).collect()
    connections = {tuple(row)[:4]: row["connections"] for row in counted}
    writer = TableWriter(gathered.folder, os.urandom(6).hex())
    for row in client_rows((row.asDict() for row in uses.collect()), connections):
        writer.put(table, row)
    return writer.close()


def client_rows(uses: Iterable[Row], connections: Mapping[tuple[Any, ...], int]) -> Iterator[tuple[Any, ...]]:
    """connections: how many, by (client id, address, software, its version)."""
    known = catalog()
    release = known.releases[-1]
    judge = Judge(known, release)
    clients: dict[Any, Client] = {}
    for use in uses:
        key = use["client_id"], use["address"], use["software"], use["software_version"]
        client = clients.setdefault(key, Client(*key, connections=connections[key]))
        client.negotiates = client.negotiates or use["negotiates"]
        client.used[use["api_key"], use["api_version"]] += use["requests"]
        if use["free"]:
            client.free.add((use["api_key"], use["api_version"]))
    for client in merge(clients.values()):
        for usage in judge.usages(client):
            for version, count in usage.versions.items():
                verdict = "refused" if version in usage.refused else "unsure" if version in usage.unsure else "ok"
                reason = usage.reason or None if verdict != "ok" else None
                low, high = (usage.accepted.lo, usage.accepted.hi) if usage.accepted else (None, None)
                who = (client.client_id, client.address, client.software, client.version, client.negotiates)
                made = (usage.api_key, usage.name, version, count, client.connections, low, high)
                yield (*who, *made, verdict, reason, release)


MAKERS: dict[str, Callable[[Gathered, str], list[Written]]] = {
    "fetch_sessions": make_sessions,
    "leader_changes": make_changes,
    "quorum": make_snapshots,
    "clients": make_clients,
}
