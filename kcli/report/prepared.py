"""The exchanges as the questions of the report read them, and facts of captures made of a fleet's tables."""

from kcli.rules.prepared import BEYOND_WAIT_MS, PREPARED, ends_sql
from kcli.tables.connections import address_sql

# `{step}`: the width of a time bucket (ns). own_ms: beyond the wait that the request allows, null where it can't be
# told.
PAGE_CALLS = f"""
SELECT completed_ns, completed_ns - completed_ns % {{step}} AS time_ns, connection, server, client_id, address, api,
       api_version, request_bytes, coalesce(response_bytes, 0) AS response_bytes,
       response_bytes IS NULL AND errors IS NOT NULL AS unanswered,
       latency_ms, errors, CASE WHEN failed THEN 1 ELSE 0 END AS failed, {BEYOND_WAIT_MS} AS own_ms, inner_client,
       replica_id, session_id, session_epoch, granted_id, throttle_ms
FROM calls
"""
SPAN = "SELECT min(completed_ns) AS first_ns, max(completed_ns) AS last_ns FROM calls"

# The facts of captures that rules read (`kcli.rules.prepared`), and more, made of a fleet's tables: views,
FLEET_VIEWS = {
    "exchange_facts": f"""
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
       request IS NULL OR errors IS NULL OR (response IS NULL AND response_bytes IS NOT NULL) AS is_cut
FROM exchanges
""",
    "noted_exchanges": """
SELECT api, request, response, latency_ms, errors, completed_ns FROM exchanges WHERE api_key IN (11, 68, 76)
""",
    "link_ends": f"SELECT connection, {ends_sql('connection')} FROM (SELECT DISTINCT connection FROM exchange_facts)",
    "topic_by_id": "SELECT topic_id, topic FROM topics",
    "judged_clients": "SELECT * FROM clients",
}
# and rows that many questions read, made once.
FLEET_TABLES = {name: PREPARED[name] for name in ("inner_clients", "calls")}
