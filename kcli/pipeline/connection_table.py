"""The table `connections` over all runs, out of what the workers have counted of each connection."""

from __future__ import annotations

from typing import Any

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.incremental_tables import Gathered, copy_rows
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import Written
from kcli.tables.connections import EXCHANGE, TLS, TRAFFIC, connections_query, traffic_part

SUMS = [each.name for each in FACTS["connection_sums"].columns if each.name in TRAFFIC]
# What the facts say, and `exchanges` of runs by an older kcli, which counted less.
PARTS = {
    "connection_sums": traffic_part("{connection_sums}", **{name: name for name in SUMS}),
    "client_uses": traffic_part("{client_uses}", api_key="api_key"),
    "logins": traffic_part("{logins}", principal="principal", completed_ns="completed_ns"),
    "undecodable": traffic_part(f"{{undecodable}} WHERE connection IS NOT NULL AND {TLS}", tls="true"),
    "exchanges": traffic_part("{exchanges}", **EXCHANGE),
}


def make_connections(gathered: Gathered, table: str) -> list[Written]:
    """All anew, in Spark's own SQL."""
    found = {name: gathered.frame(name) for name in PARTS} | {"exchanges": gathered.unsummed("connection_sums")}
    frames: dict[str, Any] = {name: frame for name, frame in found.items() if frame is not None}
    if not frames:
        return []
    query = connections_query(*(PARTS[name] for name in frames))
    made = gathered.spark.sql(query, **frames).select(*TABLES[table].names)
    return copy_rows(gathered, table, made)
