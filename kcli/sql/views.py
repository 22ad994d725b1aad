"""Tables that are made from others, in SQL."""

from __future__ import annotations

__all__ = ["VIEWS"]

VIEWS = {
    "connections": """
SELECT connection, ends[1] AS server, ends[2] AS client,
       trim(regexp_replace(ends[1], ':[0-9]+$', ''), '[]') AS broker_address,
       trim(regexp_replace(ends[2], ':[0-9]+$', ''), '[]') AS client_address, * EXCLUDE (connection, ends, seen)
FROM (SELECT connection, string_split(connection, '-') AS ends,
             arg_min(client_id, completed_ns) AS client_id, max(principal) AS principal,
             min(round_trip_ns) / 1e6 AS round_trip_ms, sum(retransmissions)::BIGINT AS retransmissions,
             bool_or(event = 'not-kafka' AND reason[:3] = 'TLS') IS TRUE AS tls,
             min(timestamp) FILTER (request_bytes IS NOT NULL) AS first_request,
             max(timestamp) FILTER (request_bytes IS NOT NULL) AS last_request, count(request_bytes) AS requests,
             count(request_bytes) FILTER (response_bytes IS NULL) AS unanswered,
             count(error) AS with_errors, coalesce(sum(request_bytes), 0)::BIGINT AS request_bytes,
             coalesce(sum(response_bytes), 0)::BIGINT AS response_bytes, count(DISTINCT api_key) AS apis,
             coalesce(arg_min(file, completed_ns), min(file)) AS file, min(timestamp) AS seen
      FROM _traffic WHERE connection IS NOT NULL GROUP BY connection HAVING requests > 0 OR tls)
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
