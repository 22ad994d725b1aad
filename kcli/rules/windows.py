"""SQL about when clients are busy: what begins late, or ends early, is no rarer for the calm before it or behind it."""

from __future__ import annotations

SHORTEST = 5_000_000_000  # ns
# Words of how long the client was there at all, where that is longer than the `seconds` that are told.
OF_TIME = """CASE WHEN all_seconds > seconds + 1 THEN concat(' (in all: ', round(all_seconds, 1), ' s)')
            ELSE '' END AS of_time"""


def busy_windows(events: str, per_second: int) -> str:
    """Return the SQL of a table of clients' busy times: all of it where the mean rate is enough, or else from the first
    to the last second that comes near to it. events: a table, or a query in parentheses, with client_id and ns.
    Columns: client_id, from_ns, to_ns, all_seconds (from the first to the last of all).
    """
    return f"""
SELECT client_id, CASE WHEN whole THEN first_ns ELSE from_ns END AS from_ns,
       CASE WHEN whole THEN last_ns ELSE to_ns END AS to_ns, (last_ns - first_ns) / 1e9 AS all_seconds
FROM (
  SELECT client_id, min(first_ns) AS first_ns, max(last_ns) AS last_ns,
         sum(times) >= {per_second} * greatest((max(last_ns) - min(first_ns)) / 1e9, 1) AS whole,
         min(CASE WHEN times >= {0.7 * per_second} THEN first_ns END) AS from_ns,
         max(CASE WHEN times >= {0.7 * per_second} THEN last_ns END) AS to_ns
  FROM (
    SELECT client_id, floor(ns / 1e9) AS second, count(*) AS times, min(ns) AS first_ns, max(ns) AS last_ns
    FROM {events} AS e
    GROUP BY client_id, floor(ns / 1e9)
  ) AS s
  GROUP BY client_id
) AS c
WHERE whole OR to_ns - from_ns >= {SHORTEST}
"""
