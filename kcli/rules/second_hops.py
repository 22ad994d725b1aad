"""Connections whose requests are in the capture twice: both hops of a proxy or load balancer are captured, or both
sides of a router that translates addresses (NAT). All rates would double, so rules leave one hop out.
"""

from dataclasses import dataclass

from kcli.rules.rule_tables import RuleTables

# A connection is like the one just before it, the outer one: it begins right after, with as many requests.
LIKE_OUTER = """NOT inner_client AND first_ns - outer_ns <= 100000000
    AND abs(requests - outer_requests) <= 1 + 0.02 * requests"""
# Pairs of servers that may be a proxy and the broker behind it: a connection to the second server begins right after
# one to the first, with the same client id and as many requests. Servers known to be two brokers are no such pair. A
# server is a pair of its own where the same holds for connections from two addresses: those of a NAT's two sides.
PAIRS = f"""
SELECT p.outer_server, p.inner_server
FROM (
  SELECT outer_server, server AS inner_server, sum(requests) AS requests
  FROM (
    SELECT server, inner_client, requests, first_ns, lag(server) OVER in_turn AS outer_server,
           lag(requests) OVER in_turn AS outer_requests, lag(first_ns) OVER in_turn AS outer_ns
    FROM links
    WINDOW in_turn AS (PARTITION BY client_id ORDER BY first_ns)
  ) AS l
  WHERE outer_server != server AND {LIKE_OUTER}
  GROUP BY outer_server, server
) AS p
LEFT JOIN nodes o ON o.server = p.outer_server
LEFT JOIN nodes i ON i.server = p.inner_server
WHERE requests >= 20 AND coalesce(o.node_id = i.node_id, true)
UNION ALL
SELECT server, server
FROM (
  SELECT server, inner_client, requests, address, first_ns, lag(address) OVER in_turn AS outer_address,
         lag(requests) OVER in_turn AS outer_requests, lag(first_ns) OVER in_turn AS outer_ns
  FROM links
  WINDOW in_turn AS (PARTITION BY client_id, server ORDER BY first_ns)
) AS t
WHERE outer_address != address AND {LIKE_OUTER}
GROUP BY server
HAVING sum(requests) >= 20
"""
# Each request is compared with this many earlier ones that ask alike: comparing with all would take quadratic time.
ALIKE = 32
# Connections to the second server of a pair, nearly all of whose requests are on one connection to the first server,
# too, with the same correlation ids and sizes: sent there no later, and answered there no sooner. Clients of one name
# on two hosts ask alike, too: behind a NAT are most answered requests of an address.
CONNECTIONS = f"""
WITH pairs AS ({PAIRS}),
pair_servers AS (SELECT outer_server AS server FROM pairs UNION SELECT inner_server FROM pairs),
on_two AS (
  SELECT client_id, correlation_id, api, request_bytes
  FROM calls JOIN pair_servers USING (server)
  GROUP BY client_id, correlation_id, api, request_bytes
  HAVING min(connection) != max(connection)
),
ranked AS (
  SELECT server, connection, address, ns, completed_ns, client_id, correlation_id, api, api_version, request_bytes,
         row_number() OVER (
           PARTITION BY client_id, correlation_id, api, api_version, request_bytes
           ORDER BY ns, coalesce(completed_ns, ns) DESC
         ) AS place
  FROM calls JOIN pair_servers USING (server) JOIN on_two USING (client_id, correlation_id, api, request_bytes)
),
outers AS (
  SELECT *, floor(place / {ALIKE}) AS stretch FROM ranked
  UNION ALL SELECT *, floor(place / {ALIKE}) + 1 AS stretch FROM ranked
),
matches AS (
  SELECT a.server AS outer_server, b.server AS inner_server, b.connection, a.connection AS outer_connection,
         min(a.address) AS outer_address, count(DISTINCT b.correlation_id) AS requests
  FROM ranked b
  JOIN outers a
    ON a.stretch = floor(b.place / {ALIKE})
    AND a.client_id = b.client_id AND a.correlation_id = b.correlation_id
    AND a.api = b.api AND a.api_version = b.api_version AND a.request_bytes = b.request_bytes
  JOIN pairs p ON p.outer_server = a.server AND p.inner_server = b.server
  WHERE b.place - a.place BETWEEN 1 AND {ALIKE} AND (a.server != b.server OR a.address != b.address)
    AND b.ns BETWEEN a.ns AND greatest(a.ns + 1000000000, coalesce(a.completed_ns, a.ns))
    AND coalesce(b.completed_ns <= a.completed_ns, true)
  GROUP BY a.server, b.server, b.connection, a.connection
),
same AS (
  SELECT m.outer_server, m.inner_server, m.connection, max(m.requests) AS requests,
         max_by(m.outer_address, m.requests) AS outer_address
  FROM matches m JOIN links l ON l.connection = m.connection
  WHERE m.requests >= 0.9 * l.requests
  GROUP BY m.outer_server, m.inner_server, m.connection
)
SELECT connection, outer_server, inner_server
FROM (
  SELECT *, sum(requests) OVER (PARTITION BY outer_server, inner_server) AS all_requests,
         sum(requests) OVER (PARTITION BY outer_server, inner_server, outer_address) AS of_address
  FROM same
) AS every
WHERE all_requests >= 20
  AND (outer_server != inner_server
       OR of_address >= 0.5 * (SELECT sum(requests - unanswered) FROM links l
                               WHERE l.server = outer_server AND l.address = outer_address AND NOT l.inner_client))
"""
HOPS = """
SELECT outer_server, inner_server, count(DISTINCT connection) AS connections
FROM second_hops GROUP BY outer_server, inner_server ORDER BY outer_server, inner_server
"""


@dataclass(frozen=True, slots=True)
class SecondHop:
    """Connections to a server that repeat the requests to another server, the proxy, or those from other addresses to
    the server itself (`proxy` is `server`).
    """

    proxy: str
    server: str
    connections: int


def leave_out_second_hops(tables: RuleTables) -> list[SecondHop]:
    """Leave the second hop of each proxy out of the tables, and return it: the hop of the clients stays. Facts of TCP
    stay for both hops of a proxy, as each is a network path of its own; a NAT's two sides are one.
    """
    tables.leave_out("")
    if not [*tables.ask(PAIRS)]:
        return []
    tables.keep("second_hops", CONNECTIONS)
    hops = [SecondHop(row["outer_server"], row["inner_server"], row["connections"]) for row in tables.ask(HOPS)]
    if hops:
        keys = "SELECT connection FROM second_hops"
        tables.leave_out(keys, f"{keys} WHERE outer_server = inner_server")
    return hops
