"""Tables that are made from others, in SQL."""

from __future__ import annotations

__all__ = ["VIEWS"]

VIEWS = {
    "connections": """
SELECT connection, any_value(server) AS server, any_value(client) AS client,
       any_value(broker_address) AS broker_address, any_value(client_address) AS client_address,
       arg_min(client_id, completed_ns) AS client_id, min(timestamp) AS first_request, max(timestamp) AS last_request,
       count(*) AS requests, count(*) FILTER (response_bytes IS NULL) AS unanswered,
       count(*) FILTER (error IS NOT NULL) AS with_errors, sum(request_bytes)::BIGINT AS request_bytes,
       coalesce(sum(response_bytes), 0)::BIGINT AS response_bytes, count(DISTINCT api_key) AS apis,
       arg_min(file, completed_ns) AS file
FROM exchanges GROUP BY connection ORDER BY min(completed_ns)
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
