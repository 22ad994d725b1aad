"""The table `connections` over all runs, made from the workers' counts for each connection."""

from collections.abc import Iterable
from typing import Any

from kcli.pipeline.derived.incremental_tables import RunFiles, copy_rows
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import WrittenFile
from kcli.tables.connections import EXCHANGE, TCP, TLS, TRAFFIC, connections_query, traffic_part

SUMS = [each.name for each in FACTS["connection_sums"].columns if each.name in TRAFFIC]
LOGINS = [each.name for each in FACTS["logins"].columns if each.name in TRAFFIC]
# The facts; and for runs of an older kcli, which counted less, `exchanges`.
PARTS = {
    "connection_sums": traffic_part("{connection_sums}", **{name: name for name in SUMS}),
    "client_uses": traffic_part("{client_uses}", api_key="api_key"),
    "logins": traffic_part("{logins}", **{name: name for name in LOGINS}),
    "tcp": traffic_part("{tcp}", **TCP),
    "undecodable": traffic_part(f"{{undecodable}} WHERE connection IS NOT NULL AND {TLS}", tls="true"),
    "exchanges": traffic_part("{exchanges}", **EXCHANGE),
}


def traffic_query(sources: Iterable[str]) -> str:
    """Return the query of the table from some of the PARTS, with each source's name in braces."""
    return connections_query(*(PARTS[name] for name in sources))


def make_connections(gathered: RunFiles, table: str) -> list[WrittenFile]:
    """Make all connections again, with Spark SQL."""
    found = {name: gathered.frame(name) for name in PARTS} | {"exchanges": gathered.unsummed("connection_sums")}
    frames: dict[str, Any] = {name: frame for name, frame in found.items() if frame is not None}
    if not frames:
        return []
    made = gathered.spark.sql(traffic_query(frames), **frames).select(*TABLES[table].names)
    return copy_rows(gathered, table, made)
