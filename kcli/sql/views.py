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
}
