"""Tables that are made from others, in SQL."""

from __future__ import annotations

from kcli.tables.captured import CAPTURED
from kcli.tables.connections import EXCHANGE, TLS, connections_query, traffic_part

__all__ = ["TRAFFIC", "VIEWS", "WRITTEN_CONNECTIONS"]

TRAFFIC = "_traffic"  # what `connections` is made of: exchanges, events, and rows of kcli.sql.traffic
WRITTEN_CONNECTIONS = "_connections"  # those that the pipeline has written
EACH = traffic_part(
    f"{TRAFFIC} WHERE connection IS NOT NULL", "file", "timestamp", **EXCHANGE,
    principal="principal", round_trip_ms="round_trip_ms", retransmissions="retransmissions",
    tls=f"coalesce({TLS}, false)",
)  # fmt: skip
MADE = connections_query(EACH, file="coalesce(min_by(file, completed_ns), min(file))", seen="min(timestamp)")

VIEWS = {
    "connections": f"""
SELECT {", ".join(CAPTURED["connections"].names)}
FROM ({MADE} UNION ALL BY NAME SELECT *, first_request AS seen FROM {WRITTEN_CONNECTIONS})
ORDER BY seen, connection
""",
    "throttling": """
SELECT timestamp, connection, server, client_id, api, (response->>'$.throttleTimeMs')::INT AS throttle_ms, latency_ms,
       file
FROM exchanges WHERE (response->>'$.throttleTimeMs')::INT > 0
""",
    "groups": """
SELECT group_id, count(*) FILTER (joins) AS joins, count(DISTINCT generation) FILTER (generation > 0) AS rebalances,
       count(DISTINCT member_id) FILTER (member_id != '') AS members, max(generation) AS generation,
       min(timestamp) AS first_request, max(timestamp) AS last_request,
       count(*) FILTER (error IS NOT NULL) AS with_errors, arg_min(file, completed_ns) AS file
FROM (SELECT request->>'$.groupId' AS group_id, response->>'$.memberId' AS member_id, timestamp, error, file,
             completed_ns, api = 'JOIN_GROUP' OR request->>'$.memberEpoch' = '0' AS joins,
             coalesce(response->>'$.generationId', response->>'$.memberEpoch')::INT AS generation
      FROM exchanges WHERE api IN ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT') AND request IS NOT NULL)
GROUP BY group_id ORDER BY group_id
""",
}
