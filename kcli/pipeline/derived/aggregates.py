"""Makes each table about several connections: sessions, leader changes, snapshots, clients, connections, groups."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kcli.capture.audit import AuditedClient, Judge, merge
from kcli.pipeline.derived.connection_table import make_connections
from kcli.pipeline.derived.incremental_tables import Row, RunFiles, fold
from kcli.pipeline.derived.leader_changes import make_changes
from kcli.pipeline.derived.session_table import make_sessions
from kcli.pipeline.derived.view_tables import make_hourly, make_view
from kcli.pipeline.writing import TableWriter, WrittenFile
from kcli.schemas.catalog import catalog

SNAPSHOT_KEYS = ["server", "client", "topic", "partition", "end_offset", "epoch"]
CLIENT_COLUMNS = ["client_id", "address", "software", "software_version"]


def make_snapshots(gathered: RunFiles, table: str) -> list[WrittenFile]:
    def parts(files: RunFiles) -> Any:
        frame = files.frame("snapshot_parts")
        if frame is None:
            return None
        from pyspark.sql import functions

        return frame.withColumn("timestamp", functions.unix_micros("timestamp"))

    return fold(gathered, parts, SNAPSHOT_KEYS, ["answered_ns"], snapshots, table)


def snapshots(rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
    """Yield the row of `quorum` for one snapshot over one connection, from its responses, with `timestamp` in us."""
    parts = list(rows)
    first = parts[0]
    errors = list(dict.fromkeys(part["error"] for part in parts if part["error"]))
    good = [part for part in parts if not part["error"]]
    size = max((part["size_bytes"] for part in good), default=None)
    received = sum({part["position"]: part["received_bytes"] for part in good}.values())
    last = max(part["answered_ns"] or 0 for part in parts)
    begun = min(part["timestamp"] for part in parts)
    yield (
        begun, first["server"], first["client"], first["client_id"], first["topic"], first["partition"],
        first["end_offset"], first["epoch"], size, received, len(parts), ", ".join(errors) or None,
        size is not None and received >= size, max(0.0, last / 1e9 - begun / 1e6) if last else None,
    )  # fmt: skip


def make_clients(gathered: RunFiles, table: str) -> list[WrittenFile]:
    """Check clients against the newest release, as `kcli audit` does. The table is made again each time, as a client
    consists of all its connections.
    """
    frame = gathered.frame("client_uses")
    if frame is None:
        return []
    from pyspark.sql import functions

    uses = frame.groupBy(*CLIENT_COLUMNS, "api_key", "api_version").agg(
        functions.sum("requests").alias("requests"),
        functions.max("free").alias("free"),
        functions.max("negotiates").alias("negotiates"),
    )
    counted = frame.groupBy(*CLIENT_COLUMNS).agg(functions.count_distinct("connection").alias("connections")).collect()
    connections = {tuple(row)[:4]: row["connections"] for row in counted}
    writer = TableWriter(gathered.folder, os.urandom(6).hex())
    for row in client_rows((row.asDict() for row in uses.collect()), connections):
        writer.put(table, row)
    return writer.close()


def client_rows(uses: Iterable[Row], connections: Mapping[tuple[Any, ...], int]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of clients. connections: their number, by (client id, address, software, software version)."""
    known = catalog()
    release = known.releases[-1]
    judge = Judge(known, release)
    clients: dict[Any, AuditedClient] = {}
    for use in uses:
        key = use["client_id"], use["address"], use["software"], use["software_version"]
        client = clients.get(key)
        if client is None:
            client = clients[key] = AuditedClient(*key, connections=connections[key])
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
                client_columns = (client.client_id, client.address, client.software, client.version, client.negotiates)
                made = (usage.api_key, usage.name, version, count, client.connections, low, high)
                yield (*client_columns, *made, verdict, reason, release)


MAKERS: dict[str, Callable[[RunFiles, str], list[WrittenFile]]] = {
    "fetch_sessions": make_sessions,
    "leader_changes": make_changes,
    "quorum": make_snapshots,
    "clients": make_clients,
    "connections": make_connections,
    "groups": make_view,
    "hourly": make_hourly,
    "throttling": make_view,
}


def derive(gathered: RunFiles) -> list[WrittenFile]:
    """Make the tables about several connections that have a function in MAKERS. An empty table has no file."""
    return [each for table, make in MAKERS.items() for each in make(gathered, table)]
