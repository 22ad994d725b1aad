"""An overview of captures in a few figures: time, brokers and clients, and the busiest clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kcli.diagnose.store import FactStore

MOST_CLIENTS = 5

SIZE = """
SELECT s.first_ns, s.seconds, c.exchanges, c.brokers, (SELECT count(*) FROM clients) AS clients
FROM (SELECT count(*) AS exchanges, count(DISTINCT server) AS brokers FROM calls) AS c LEFT JOIN span s ON true
"""
BUSIEST = f"""
WITH written AS (SELECT client_id, sum(records) * 1.0 / count(DISTINCT concat(connection, correlation_id)) AS records
                 FROM batches WHERE api = 'PRODUCE' GROUP BY client_id),
     waited AS (SELECT client_id, percentile_approx(own_ms, 0.99) AS p99_ms FROM timed GROUP BY client_id),
     failures AS (SELECT client_id, count(*) AS errors FROM calls WHERE failed GROUP BY client_id)
SELECT c.client_id, c.requests / greatest((SELECT seconds FROM span), 1) AS rate, w.records,
       coalesce(f.errors, 0) AS errors, t.p99_ms, c.connections
FROM clients c LEFT JOIN written w ON c.client_id = w.client_id LEFT JOIN waited t ON c.client_id = t.client_id
     LEFT JOIN failures f ON c.client_id = f.client_id
ORDER BY c.requests DESC, c.client_id LIMIT {MOST_CLIENTS}
"""


@dataclass(frozen=True, slots=True)
class Overview:
    """first_ns: since 1970. busiest: rows of client_id, rate (requests a second captured), records (of a Produce),
    errors, p99_ms (without the wait that was asked for), connections."""

    first_ns: int | None
    seconds: float
    exchanges: int
    brokers: int
    clients: int
    busiest: list[dict[str, Any]]


def overview_of(store: FactStore) -> Overview:
    """Return the figures of the captures in a store."""
    [size] = store.ask(SIZE)
    seconds, busiest = size["seconds"] or 0.0, list(store.ask(BUSIEST))
    return Overview(size["first_ns"], seconds, size["exchanges"], size["brokers"], size["clients"], busiest)
