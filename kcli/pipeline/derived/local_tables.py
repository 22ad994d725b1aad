"""The tables about several connections, made in this process from the workers' facts, which DuckDB sorts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from kcli.capture.audit import Judge
from kcli.pipeline.derived.aggregates import CLIENT_COLUMNS, SNAPSHOT_KEYS, client_rows, snapshots
from kcli.pipeline.derived.incremental_tables import Row
from kcli.pipeline.derived.leader_changes import CHANGE_KEYS
from kcli.pipeline.derived.session_table import ORDER, sessions_of_batches
from kcli.schemas.catalog import catalog
from kcli.schemas.errors import ERRORS

# Runs a query on the facts by table name, and on `known`; AskBatches returns record batches.
Ask = Callable[[str], Iterable[Row]]
AskBatches = Callable[[str], Iterable[Any]]

FETCHES = """
SELECT *, request[5:8] AS asked, NULL AS event, 1::UTINYINT AS fetches FROM fetch_frames
UNION ALL BY NAME
SELECT regexp_extract(connection, '^(.+?:[0-9]+)-', 1) AS server, connection,
       epoch_us(timestamp) * 1000 AS completed_ns, event, 0::UTINYINT AS fetches
FROM undecodable WHERE event != 'unanswered-at-end' AND connection IS NOT NULL
"""
# In microseconds: for instants pyarrow would import pandas if it is installed.
PARTS = "SELECT * REPLACE (epoch_us(timestamp) AS timestamp) FROM snapshot_parts"
KEYS = ", ".join(CHANGE_KEYS)
NAMES = ", ".join(f"({code}, '{name}')" for code, name in ERRORS.items())
# Rows of `leader_changes`, with times in microseconds. A change begins with the first error and ends with the next
# response without an error, as in `leader_changes.changes`. change: the number of responses without an error before.
CHANGES = f"""
WITH named AS (SELECT outcomes.* REPLACE (coalesce(known.topic, outcomes.topic) AS topic)
               FROM outcomes LEFT JOIN known ON outcomes.topic = known.topic_id),
     troubled AS (SELECT * FROM named WHERE ({KEYS}) IN (SELECT ({KEYS}) FROM named WHERE error != 0)),
     numbered AS (SELECT *, count(*) FILTER (error = 0) OVER (
                      PARTITION BY {KEYS} ORDER BY first_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                  ) AS change FROM troubled),
     made AS (SELECT min(first_ns) FILTER (error != 0) AS lost_ns, {KEYS},
                     arg_min(error, first_ns) FILTER (error != 0) AS error,
                     arg_min(server, first_ns) FILTER (error != 0) AS from_server,
                     (sum(answers) FILTER (error != 0))::BIGINT AS error_answers,
                     arg_min({{'leader': hint_leader, 'server': hint_server}}, first_ns)
                         FILTER (error != 0 AND hint_leader >= 0) AS hint,
                     any_value(server) FILTER (error = 0) AS to_server,
                     any_value(first_ns) FILTER (error = 0) AS found_ns,
                     any_value(first_request_ns) FILTER (error = 0) AS asked_ns
              FROM numbered GROUP BY {KEYS}, change)
SELECT lost_ns // 1000 AS timestamp, {KEYS}, coalesce(name, 'ERROR_' || error) AS error, from_server, error_answers,
       hint IS NOT NULL AS hint_sent, hint.leader AS hint_leader, hint.server AS hint_server, to_server,
       found_ns // 1000 AS recovered, (found_ns - lost_ns) / 1e6 AS lost_ms,
       CASE WHEN found_ns IS NULL THEN NULL WHEN hint IS NOT NULL THEN 0.0
            ELSE greatest(0.0, (asked_ns - lost_ns) / 1e6) END AS hint_saves_ms
FROM made LEFT JOIN (VALUES {NAMES}) AS names(code, name) ON error = code WHERE lost_ns IS NOT NULL
"""
CLIENT = ", ".join(CLIENT_COLUMNS)
USES = f"""
SELECT {CLIENT}, api_key, api_version, sum(requests)::BIGINT AS requests, bool_or(free) AS free,
       bool_or(negotiates) AS negotiates
FROM client_uses {{where}} GROUP BY {CLIENT}, api_key, api_version ORDER BY ALL
"""
CONNECTIONS = f"SELECT {CLIENT}, count(DISTINCT connection) AS connections FROM client_uses {{where}} GROUP BY {CLIENT}"
USED = "SELECT DISTINCT api_key, api_version FROM client_uses"
# The clients that used one of these versions, and those that might be the same client.
USERS_OF_VERSIONS = """
WHERE (client_id, address) IN (SELECT (client_id, address) FROM client_uses WHERE (api_key, api_version) IN ({pairs}))
"""


def ordered(query: str, keys: Sequence[str], order: Sequence[str]) -> str:
    """Return the query with its rows sorted by key, then by `order`."""
    by = ", ".join(f"{name} NULLS FIRST" for name in (*keys, *order))
    return f"SELECT * FROM ({query}) ORDER BY {by}"


def sessions_of(ask: Ask, ask_batches: AskBatches, dialect: str | None) -> Iterator[tuple[Any, ...]]:
    """Yield rows of `fetch_sessions`. ask_batches: like `ask`, but returns record batches."""
    names = {row["topic_id"]: row["topic"] for row in ask("SELECT * FROM known")}
    return sessions_of_batches(ask_batches(ordered(FETCHES, ["server"], ORDER)), names, dialect)


def leader_changes(ask: Ask) -> Iterator[tuple[Any, ...]]:
    """Yield rows of `leader_changes`."""
    for row in ask(CHANGES):
        yield tuple(row.values())


def quorum(ask: Ask) -> Iterator[tuple[Any, ...]]:
    """Yield rows of `quorum`: of each key in order, as `incremental_tables.fold` makes them with Spark."""
    for _, rows in groupby(ask(ordered(PARTS, SNAPSHOT_KEYS, ["answered_ns"])), key=itemgetter(*SNAPSHOT_KEYS)):
        yield from snapshots(rows)


def judged_clients(ask: Ask, where: str = "") -> Iterator[tuple[Any, ...]]:
    """Yield rows of `clients`. where: an SQL condition that selects clients."""
    found = ask(CONNECTIONS.format(where=where))
    connections = {tuple(row[name] for name in CLIENT_COLUMNS): row["connections"] for row in found}
    return client_rows(ask(USES.format(where=where)), connections)


def doubtful_clients(ask: Ask) -> Iterator[tuple[Any, ...]]:
    """Yield rows of the clients that used a version which the newest release does not accept."""
    known = catalog()
    accepts = Judge(known, known.releases[-1]).accepts
    pairs = [(row["api_key"], row["api_version"]) for row in ask(USED)]
    others = ", ".join(f"({key}, {version})" for key, version in pairs if not accepts(key, version))
    return judged_clients(ask, USERS_OF_VERSIONS.format(pairs=others)) if others else iter(())
