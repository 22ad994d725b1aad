"""A member is alive and does nothing."""

from kcli.rules.rule import CRITICAL, Rule

RULE = Rule(
    finding="consumer-stuck",
    title="members that are alive and do nothing",
    severity=CRITICAL,
    when="heartbeats >= 3",
    sql="""
WITH work AS (SELECT client_id, ns, ns - lag(ns) OVER (PARTITION BY client_id ORDER BY ns) AS gap_ns FROM calls
              WHERE api = 'FETCH' AND NOT inner_client),
     last_work AS (SELECT client_id, max(ns) AS last_ns, min(ns) AS first_ns, count(*) AS fetches, max(gap_ns)
            AS longest_gap_ns FROM work GROUP BY client_id),
     beats AS (SELECT b.group_id, coalesce(b.client_id, '') AS client_id, count(*) AS heartbeats,
            max(unix_micros(timestamp)) * 1000 AS last_beat_ns
               FROM group_calls b JOIN last_work w ON coalesce(b.client_id, '') = w.client_id
                      AND unix_micros(b.timestamp) * 1000 > w.last_ns
               WHERE api IN ('HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT') AND coalesce(generation, 1) >= 0 GROUP BY 1, 2),
     commits_after AS (SELECT coalesce(c.client_id, '') AS client_id, count(*) AS commits FROM commits c
            JOIN last_work w ON coalesce(c.client_id, '') = w.client_id
                         AND unix_micros(c.timestamp) * 1000 > w.last_ns + 6000000000 GROUP BY 1),
     reads AS (SELECT DISTINCT client_id, topic FROM fetched),
     grown AS (SELECT r.client_id, sum(b.records) AS produced, array_agg(DISTINCT b.topic) AS topics
               FROM reads r JOIN last_work w ON r.client_id = w.client_id JOIN batches b ON b.topic = r.topic
                      AND b.api = 'PRODUCE' AND b.ns > w.last_ns + 1000000000
               GROUP BY r.client_id),
     others AS (SELECT r.client_id, count(*) AS other_fetches FROM reads r JOIN last_work w ON r.client_id = w.client_id
                JOIN fetched f ON f.topic = r.topic AND f.client_id != r.client_id AND f.ns > w.last_ns + 1000000000
                       AND f.records_bytes > 0 GROUP BY r.client_id)
SELECT w.client_id, b.group_id, w.fetches, b.heartbeats, (b.last_beat_ns - w.last_ns) / 1e9 AS idle_seconds,
       coalesce(g.produced, 0) AS produced,
       coalesce(o.other_fetches, 0) AS other_fetches, g.topics, coalesce(c.commits, 0) AS commits_after,
       (w.last_ns - s.first_ns) / 1e9 AS last_fetch_at_second, w.last_ns AS first_ns,
       b.last_beat_ns AS last_ns, (b.last_beat_ns - w.last_ns) / 1e9 AS weight
FROM last_work w JOIN beats b ON w.client_id = b.client_id CROSS JOIN span s
LEFT JOIN grown g ON w.client_id = g.client_id LEFT JOIN others o ON w.client_id = o.client_id
       LEFT JOIN commits_after c ON w.client_id = c.client_id
WHERE b.heartbeats >= 3 AND (b.last_beat_ns - w.last_ns) / 1e9 >= 6
       AND b.last_beat_ns - w.last_ns > 4 * coalesce(w.longest_gap_ns, 0)
  AND coalesce(c.commits, 0) = 0 AND (coalesce(g.produced, 0) > 0 OR coalesce(o.other_fetches, 0) > 0)
""",
    subject={"client": "client_id", "group": "group_id"},
    evidence=(
        "heartbeats",
        "idle_seconds",
        "last_fetch_at_second",
        "fetches",
        "produced",
        "other_fetches",
        "topics",
        "commits_after",
    ),
    says="{client_id} of group {group_id} is alive and does nothing: {heartbeats} heartbeats in {idle_seconds} s, "
    "no Fetch, no commit, "
    "while {produced} records came to {topics}",
    ruled_out="the broker: it answers others; an end of the data",
    advice="a stack trace of {client_id} (jstack, py-spy): what does it wait for? is it paused?",
    see="decode pcap {files} --client {client_id}",
    source="last-poll-seconds-ago, time-between-poll-max",
    explains={"lagging-consumer": ("client",)},
)
