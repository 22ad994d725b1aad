"""The overview of captures: time, brokers, clients, errors, and the busiest clients."""

from dataclasses import dataclass, field
from typing import Any

from kcli.capture.captured_time import CapturedTime
from kcli.capture.latency_buckets import percentile_sql
from kcli.diagnose.store import FactStore
from kcli.rules.prepared import BEYOND_WAIT_MS, CLIENT_COUNTS, SERVER_COUNTS

MOST_CLIENTS = 8

SIZE = f"SELECT count(*) AS exchanges, {SERVER_COUNTS}, {CLIENT_COUNTS} FROM calls"
ERRORS = """
SELECT error, count(*) AS exchanges FROM (SELECT explode(errors) AS error FROM calls WHERE failed) AS named
GROUP BY error ORDER BY exchanges DESC, error
"""
# The figures of each client, counted as in `kcli stats --by client`, without brokers.
BUSIEST = f"""
WITH sent AS (SELECT coalesce(client_id, '') AS client_id, written, records
              FROM (SELECT client_id, api = 'PRODUCE' AS written, sum(count) AS records
                    FROM record_batches GROUP BY client_id, api = 'PRODUCE') AS summed),
     asked AS (SELECT client_id, count(*) AS requests, count(DISTINCT connection) AS connections,
                      sum(CASE WHEN failed THEN 1 ELSE 0 END) AS errors,
                      sum(CASE WHEN api = 'PRODUCE' AND NOT is_cut THEN 1 ELSE 0 END) AS produces,
                      sum(CASE WHEN api IN ('FETCH', 'SHARE_FETCH') AND response_bytes IS NOT NULL AND NOT is_cut
                               THEN 1 ELSE 0 END) AS fetches,
                      {percentile_sql(BEYOND_WAIT_MS, 0.99)} AS p99_ms
               FROM calls GROUP BY client_id HAVING bool_or(NOT inner_client))
SELECT c.client_id, c.requests, c.errors, c.p99_ms, c.connections,
       CASE WHEN produces + fetches > 0
            THEN coalesce(s.records, 0) * 1.0 / CASE WHEN produces > 0 THEN produces ELSE fetches END END AS records
FROM asked c LEFT JOIN sent s ON c.client_id = s.client_id AND s.written = (c.produces > 0)
ORDER BY c.requests DESC, c.client_id LIMIT {MOST_CLIENTS}
"""


@dataclass(frozen=True, slots=True)
class Overview:
    """The figures.

    time: the captured time. brokers, controllers: the number of their addresses. clients: the number of client ids;
    broker_clients: the number of ids that only brokers use. errors: exchanges with each error, by name, the most
    frequent first. busiest: rows of client_id, requests, rate (requests per captured second; None: no time was
    captured), errors (exchanges with any error), p99_ms (latency beyond the waits that requests allow), connections,
    records (per Produce; without one, per answered Fetch), without brokers.
    """

    time: CapturedTime
    exchanges: int
    brokers: int
    clients: int
    broker_clients: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    busiest: list[dict[str, Any]] = field(default_factory=list)
    controllers: int = 0


def overview_of(store: FactStore, time: CapturedTime) -> Overview:
    """Return the figures of the captures in a store. time: the captured time."""
    [size] = store.ask(SIZE)
    errors = {row["error"]: row["exchanges"] for row in store.ask(ERRORS)}
    seconds = time.seconds()
    busiest = [row | {"rate": row["requests"] / seconds if seconds else None} for row in store.ask(BUSIEST)]
    return Overview(time, **size, errors=errors, busiest=busiest)
