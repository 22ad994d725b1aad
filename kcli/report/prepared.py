"""Narrow tables that most questions of the report read, made once. `{step}`: the width of a time bucket (ns)."""

from __future__ import annotations

from kcli.rules.prepared import WAITING
from kcli.tables.connections import address_sql

# What captures are made into (see `kcli.pipeline.rows.exchange_facts`), out of the pipeline's table.
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

# own_ms: without the wait that was asked for, null where nothing but that is known.
PREPARED = {
    "calls": f"""
SELECT completed_ns, completed_ns - completed_ns % {{step}} AS time_ns, connection, server,
       coalesce(client_id, '') AS client_id, address, coalesce(api, concat('API ', api_key)) AS api, api_version,
       request_bytes, coalesce(response_bytes, 0) AS response_bytes, response_bytes IS NULL AS unanswered, latency_ms,
       errors, CASE WHEN cardinality(errors) > 0 THEN 1 ELSE 0 END AS failed,
       CASE WHEN api IN {WAITING} THEN NULL
            WHEN api_key = 1 THEN CASE WHEN latency_ms > max_wait_ms THEN latency_ms - max_wait_ms END
            ELSE latency_ms END AS own_ms
FROM exchange_facts
""",
    # Requests that only brokers and controllers send, fetches of followers, AddPartitionsToTxn in the versions that
    # brokers send each other, and nothing but WriteTxnMarkers (which the admin's abortTransaction sends, too).
    "broker_clients": """
SELECT client_id, address
FROM (SELECT coalesce(client_id, '') AS client_id, address, api_key IN (18, 27) AS quiet, api_key = 27 AS markers,
             api_key IN (4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82, 83, 84, 85, 86, 87)
               OR coalesce(replica_id, -1) >= 0 OR (api_key = 24 AND api_version >= 4) AS inside
      FROM exchange_facts)
GROUP BY client_id, address
HAVING max(CASE WHEN inside THEN 1 ELSE 0 END) = 1
    OR (min(CASE WHEN quiet THEN 1 ELSE 0 END) = 1 AND max(CASE WHEN markers THEN 1 ELSE 0 END) = 1)
""",
}
