"""The contents of a capture, in one row that decides which rules are asked."""

from kcli.rules.captured_times import AHEAD_NS, SET_BACK
from kcli.rules.prepared import CLIENT_END, LOOKS, SERVER_END, WORK, offset_sql

# How far the clocks of the two directions are apart (ms), over `tcp`; 0: at most half of the connections with a
# handshake or some data have two.
CLOCKS_APART_MS = f"""
CASE WHEN count({AHEAD_NS})
          > 0.5 * sum(CASE WHEN c_syn_ns > 0 AND s_syn_ns > 0 OR c_data_segments >= 5 OR s_data_segments >= 5 THEN 1
                           ELSE 0 END)
     THEN percentile_approx(abs({AHEAD_NS}), 0.5) / 1e6
     ELSE 0 END
""".strip()
# Whether the clock of a capture was not set back, or by less than rates depend on, over `tcp`.
STEADY_RATES = f"""
coalesce(NOT bool_or({SET_BACK}) OR (max(back_ms) < 10000 AND max(back_ms) * 1e7 < max(last_ns) - min(first_ns)), true)
""".strip()
# Lists of names are text with a comma around each name. Counts are of requests unless their name says otherwise.
# seconds: from the first request to the last response; left_seconds: between the ends of connections that clients
# closed; cut_connections: connections that servers closed first; most_looks: the most inspecting requests of a client
# that does nothing else. A join that waits has a late response, or none. steady_clock: the capture's was not set back;
# steady_rates: or not for long; clocks_apart_ms: between the clocks of the two directions of connections, mostly 0.
# Rules about how long something takes, or how often, are asked if these do not matter to that.
SIGNS = f"""
WITH by_api AS (
  SELECT api, server, client_id, count(*) AS requests, min(ns) AS ns, max(completed_ns) AS completed_ns,
         max(latency_ms) AS longest_ms, sum(CASE WHEN failed THEN 1 ELSE 0 END) AS failed,
         sum(CASE WHEN throttle_ms > 0 THEN 1 ELSE 0 END) AS throttled,
         sum(CASE WHEN failed OR unanswered THEN 1 ELSE 0 END) AS unsure,
         sum(CASE WHEN replica_id >= 0 THEN 1 ELSE 0 END) AS of_replicas,
         sum(CASE WHEN api_version < 4 THEN 1 ELSE 0 END) AS old,
         sum(CASE WHEN api_version < 10 THEN 1 ELSE 0 END) AS early,
         sum(CASE WHEN session_epoch = 0 AND granted_id > 0 THEN 1 ELSE 0 END) AS opened,
         sum(CASE WHEN session_epoch = 0 AND granted_id = 0 THEN 1 ELSE 0 END) AS refused,
         sum(CASE WHEN unanswered AND coalesce(acks, 1) = 1 THEN 1 ELSE 0 END) AS ignored
  FROM calls
  GROUP BY api, server, client_id
),
admin_looks AS (
  SELECT coalesce(max(looks), 0) AS most_looks
  FROM (
    SELECT sum(CASE WHEN api IN {LOOKS} THEN requests ELSE 0 END) AS looks
    FROM by_api
    GROUP BY client_id
    HAVING sum(CASE WHEN api IN {WORK} THEN 1 ELSE 0 END) = 0
  ) AS by_client
),
request_counts AS (
  SELECT concat(',', concat_ws(',', array_agg(DISTINCT api)), ',') AS apis, sum(requests) AS requests,
         coalesce(max(completed_ns) - min(ns), 0) / 1e9 AS seconds, sum(failed) AS failed, sum(throttled) AS throttled,
         sum(CASE WHEN api = 'PRODUCE' THEN requests ELSE 0 END) AS produces,
         sum(CASE WHEN api = 'PRODUCE' THEN unsure ELSE 0 END) AS unsure_produces,
         sum(CASE WHEN api = 'FETCH' THEN requests - of_replicas ELSE 0 END) AS fetches,
         sum(CASE WHEN api = 'FETCH' THEN old ELSE 0 END) AS old_fetches,
         sum(CASE WHEN api = 'FETCH' THEN early ELSE 0 END) AS early_fetches, sum(opened) AS opened_sessions,
         sum(refused) AS refused_sessions,
         sum(CASE WHEN api = 'METADATA' THEN requests ELSE 0 END) AS metadata_requests,
         sum(CASE WHEN api = 'OFFSET_COMMIT' THEN requests ELSE 0 END) AS commit_requests,
         sum(CASE WHEN api LIKE '%HEARTBEAT' THEN requests ELSE 0 END) AS heartbeats,
         sum(ignored) AS ignored_requests,
         sum(CASE WHEN api IN ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT', 'SHARE_GROUP_HEARTBEAT',
                               'STREAMS_GROUP_HEARTBEAT') THEN requests ELSE 0 END) AS joins,
         sum(CASE WHEN api IN ('LEAVE_GROUP', 'CONSUMER_GROUP_HEARTBEAT', 'STREAMS_GROUP_HEARTBEAT') THEN requests
                  ELSE 0 END) AS leaves,
         sum(CASE WHEN api IN ('JOIN_GROUP', 'SYNC_GROUP') AND (longest_ms >= 5000 OR ignored > 0) THEN 1
                  ELSE 0 END) AS joins_that_wait,
         coalesce(sum(CASE WHEN api = 'FETCH' THEN of_replicas END), 0) > 0 AS replicated,
         coalesce(max(CASE WHEN api = 'PRODUCE' THEN longest_ms END), 0) AS longest_produce_ms,
         count(DISTINCT CASE WHEN longest_ms IS NOT NULL THEN server END) AS servers
  FROM by_api
),
error_names AS (
  SELECT concat(',', concat_ws(',', array_agg(DISTINCT error)), ',') AS errors
  FROM (SELECT explode(errors) AS error FROM calls WHERE failed) AS named
),
waited AS (
  SELECT sum(CASE WHEN own_ms > 20 THEN 1 ELSE 0 END) AS slow_answers,
         sum(CASE WHEN own_ms > 100 THEN 1 ELSE 0 END) AS late_answers,
         sum(CASE WHEN own_ms > 1000 THEN 1 ELSE 0 END) AS stalled_answers
  FROM timed
  WHERE latency_ms > 20
),
lines AS (
  SELECT sum(CASE WHEN opened THEN 1 ELSE 0 END) AS opened_connections,
         sum(CASE WHEN opened AND NOT accepted THEN 1 ELSE 0 END) AS refused_connections,
         sum(CASE WHEN c_fin_ns IS NOT NULL OR c_rst_ns IS NOT NULL THEN 1 ELSE 0 END) AS left_connections,
         coalesce(max(left_ns) - min(left_ns), 0) / 1e9 AS left_seconds,
         sum(CASE WHEN opened AND cut_ns <= coalesce(left_ns, cut_ns) THEN 1 ELSE 0 END) AS cut_connections,
         sum(CASE WHEN c_alert IS NOT NULL OR s_alert IS NOT NULL OR s_first_bytes LIKE '1503%' THEN 1
                  ELSE 0 END) AS tls_alerts, sum(CASE WHEN c_first_bytes LIKE '1603%' THEN 1 ELSE 0 END) AS tls_hellos,
         sum(c_resent + s_resent) AS resent, sum(c_zero_windows) AS zero_windows,
         sum(CASE WHEN c_unacked_resent >= 2 OR s_unacked_resent >= 2 THEN 1 ELSE 0 END) AS unacknowledged,
         coalesce(NOT bool_or({SET_BACK}), true) AS steady_clock,
         {STEADY_RATES} AS steady_rates,
         {CLOCKS_APART_MS} AS clocks_apart_ms,
         max(greatest(coalesce(syn_ms, 0), coalesce(ack_ms, 0), coalesce(c_rtt_min_ms, 0),
                      coalesce(s_rtt_min_ms, 0))) AS longest_trip_ms,
         max(greatest(coalesce(c_rtt_p50_ms, 0), coalesce(s_rtt_p50_ms, 0))) AS usual_trip_ms
  FROM (
    SELECT *, {CLIENT_END} AS left_ns,
           {SERVER_END} AS cut_ns
    FROM tcp
  ) AS ends
),
unreached_addresses AS (
  SELECT count(*) AS unreached
  FROM advertised
  WHERE address NOT IN (SELECT server FROM by_api WHERE longest_ms IS NOT NULL)
),
read AS (
  SELECT coalesce(max({offset_sql("high_watermark")} - CASE WHEN fetch_offset >= 0 THEN fetch_offset END), 0)
           AS largest_lag,
         sum(CASE WHEN last_stable_offset >= 0 AND last_stable_offset < high_watermark THEN 1 ELSE 0 END) AS held_back,
         sum(CASE WHEN records_bytes BETWEEN 1 AND 262144
                    AND {offset_sql("high_watermark")} - {offset_sql("last_offset")} > 1 THEN 1
                  ELSE 0 END) AS filled_fetches
  FROM fetch_partitions
),
sent AS (
  SELECT count(*) AS batches,
         sum(CASE WHEN producer_id < 0 THEN 1 ELSE 0 END) AS plain_batches,
         sum(CASE WHEN abs(max_timestamp * 1e3 - unix_micros(timestamp)) > 600000000 THEN 1
                  ELSE 0 END) AS skewed_batches
  FROM record_batches
  WHERE api = 'PRODUCE'
),
damaged AS (SELECT count(*) AS wrong_batches FROM record_batches WHERE NOT crc_valid)
-- each has one row; LEFT JOIN spares DuckDB the search for an order of cross joins, which takes longer than the query
SELECT *
FROM request_counts LEFT JOIN admin_looks ON true LEFT JOIN error_names ON true LEFT JOIN waited ON true
LEFT JOIN lines ON true LEFT JOIN unreached_addresses ON true LEFT JOIN read ON true
LEFT JOIN sent ON true LEFT JOIN damaged ON true
"""
