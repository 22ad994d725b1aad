"""An overview of captures in a few figures: time, brokers and clients, and the busiest clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kcli.diagnose.store import FactStore
from kcli.rules.prepared import BEYOND_WAIT_MS, ROUTINE_ERRORS

MOST_CLIENTS = 5

SIZE = """
SELECT s.first_ns, s.seconds, c.exchanges, c.errors, c.brokers, (SELECT count(*) FROM clients) AS clients
FROM (SELECT count(*) AS exchanges, count(*) FILTER (WHERE failed) AS errors, count(DISTINCT server) AS brokers
      FROM calls) AS c LEFT JOIN span s ON true
"""
BUSIEST = f"""
WITH written AS (SELECT client_id, sum(records) * 1.0 / count(*) AS records
                 FROM (SELECT client_id, connection, correlation_id, sum(records) AS records
                       FROM batches WHERE api = 'PRODUCE' GROUP BY client_id, connection, correlation_id) AS requests
                 GROUP BY client_id),
     waited AS (SELECT client_id, percentile_approx({BEYOND_WAIT_MS}, 0.99) AS p99_ms FROM calls GROUP BY client_id),
     failures AS (SELECT client_id, count(DISTINCT concat(connection, ' ', correlation_id)) AS errors
                  FROM (SELECT client_id, connection, correlation_id, explode(errors) AS error FROM calls
                        WHERE failed) AS named
                  WHERE error NOT IN {ROUTINE_ERRORS} GROUP BY client_id)
SELECT c.client_id, c.requests / greatest((SELECT seconds FROM span), 1) AS rate, w.records,
       coalesce(f.errors, 0) AS errors, t.p99_ms, c.connections
FROM clients c LEFT JOIN written w ON c.client_id = w.client_id LEFT JOIN waited t ON c.client_id = t.client_id
     LEFT JOIN failures f ON c.client_id = f.client_id
ORDER BY c.requests DESC, c.client_id LIMIT {MOST_CLIENTS}
"""


@dataclass(frozen=True, slots=True)
class Overview:
    """first_ns: since 1970. errors: answers with any.

    busiest: rows of client_id, rate (requests a second captured), records (of a Produce), errors (but for those that
    clients meet on their usual way), p99_ms (beyond the waits that requests allow), connections.
    """

    first_ns: int | None
    seconds: float
    exchanges: int
    errors: int
    brokers: int
    clients: int
    busiest: list[dict[str, Any]]


def overview_of(store: FactStore) -> Overview:
    """Return the figures of the captures in a store."""
    [size] = store.ask(SIZE)
    seconds, busiest = size["seconds"] or 0.0, list(store.ask(BUSIEST))
    return Overview(size["first_ns"], seconds, size["exchanges"], size["errors"], size["brokers"], size["clients"],
                    busiest)  # fmt: skip
