"""Narrow tables that most questions of the report read, made once. `{step}`: the width of a time bucket (ns)."""

from __future__ import annotations

__all__ = ["PREPARED", "SPAN"]

SPAN = "SELECT min(completed_ns) AS first_ns, max(completed_ns) AS last_ns FROM exchanges"

PREPARED = {
    "calls": """
SELECT completed_ns, completed_ns - completed_ns % {step} AS time_ns, connection, server,
       coalesce(client_id, '') AS client_id, regexp_replace(client, ':[0-9]+$', '') AS address,
       coalesce(api, concat('API ', api_key)) AS api, api_version, request_bytes,
       coalesce(response_bytes, 0) AS response_bytes, response_bytes IS NULL AS unanswered, latency_ms, errors,
       CASE WHEN cardinality(errors) > 0 THEN 1 ELSE 0 END AS failed
FROM exchanges
""",
    # Requests that only brokers and controllers send, and fetches of followers.
    "broker_clients": """
SELECT DISTINCT coalesce(client_id, '') AS client_id, regexp_replace(client, ':[0-9]+$', '') AS address
FROM exchanges
WHERE api_key IN (4, 5, 6, 7, 27, 52, 53, 54, 55, 56, 58, 59, 62, 63, 64, 67, 70, 73, 80, 82, 83, 84, 85, 86, 87)
   OR api_key = 1 AND request LIKE '%"replicaId":%' AND request NOT LIKE '%"replicaId":-1%'
""",
    "fetches": """
SELECT server, coalesce(client_id, '') AS client_id, errors, request_bytes, latency_ms,
       TRY_CAST(get_json_object(request, '$.sessionId') AS INT) AS session_id,
       TRY_CAST(get_json_object(request, '$.sessionEpoch') AS INT) AS session_epoch,
       TRY_CAST(get_json_object(response, '$.sessionId') AS INT) AS granted_id
FROM exchanges WHERE api_key = 1 AND request IS NOT NULL
""",
}
