"""Narrow tables that most questions of the report read, made once. `{step}`: the width of a time bucket (ns)."""

from __future__ import annotations

from kcli.rules.prepared import BEYOND_WAIT_MS, INNER_CLIENTS
from kcli.tables.connections import address_sql

# The columns that `kcli.pipeline.rows.exchange_facts` makes of captures, here made of the pipeline's table.
EXCHANGE_FACTS = f"""
SELECT timestamp, connection, server, {address_sql("client")} AS address, client_id, correlation_id, api_version,
       api_key, api, request_bytes, response_bytes, latency_ms, errors, completed_ns,
       CASE WHEN api_key != 1 OR request IS NULL THEN NULL
            WHEN request LIKE '%"replicaId":%' AND request NOT LIKE '%"replicaId":-1%' THEN 0 ELSE -1 END AS replica_id,
       CASE WHEN api_key = 1 THEN TRY_CAST(get_json_object(request, '$.sessionId') AS BIGINT) END AS session_id,
       CASE WHEN api_key = 1 THEN TRY_CAST(get_json_object(request, '$.sessionEpoch') AS BIGINT) END AS session_epoch,
       CASE WHEN api_key = 1 THEN TRY_CAST(get_json_object(response, '$.sessionId') AS BIGINT) END AS granted_id,
       CASE WHEN api_key IN (1, 78) THEN TRY_CAST(get_json_object(request, '$.maxWaitMs') AS BIGINT) END AS max_wait_ms,
       CASE WHEN api_key IN (1, 78) THEN TRY_CAST(get_json_object(request, '$.minBytes') AS BIGINT) END AS min_bytes,
       CASE WHEN api_key = 1 THEN TRY_CAST(get_json_object(request, '$.isolationLevel') AS BIGINT) END
         AS isolation_level,
       CASE WHEN api_key = 0 THEN TRY_CAST(get_json_object(request, '$.acks') AS BIGINT) END AS acks,
       CASE WHEN response LIKE '%"throttleTimeMs":%' AND response NOT LIKE '%"throttleTimeMs":0%'
            THEN TRY_CAST(get_json_object(response, '$.throttleTimeMs') AS BIGINT) END AS throttle_ms,
       CASE WHEN api_key IN (11, 68) THEN request END AS request,
       CASE WHEN api_key IN (11, 68) THEN response END AS response
FROM exchanges
"""
SPAN = "SELECT min(completed_ns) AS first_ns, max(completed_ns) AS last_ns FROM exchange_facts"

# own_ms: beyond the wait that the request allows, null where it can't be told.
PREPARED = {
    "inner_clients": INNER_CLIENTS,
    "calls": f"""
SELECT completed_ns, completed_ns - completed_ns % {{step}} AS time_ns, connection, server,
       coalesce(f.client_id, '') AS client_id, f.address AS address, coalesce(api, concat('API ', api_key)) AS api,
       api_version, request_bytes, coalesce(response_bytes, 0) AS response_bytes, response_bytes IS NULL AS unanswered,
       latency_ms, errors, CASE WHEN cardinality(errors) > 0 THEN 1 ELSE 0 END AS failed, {BEYOND_WAIT_MS} AS own_ms,
       i.client_id IS NOT NULL AS inner_client
FROM exchange_facts f LEFT JOIN inner_clients i ON coalesce(f.client_id, '') = i.client_id AND f.address = i.address
""",
}
