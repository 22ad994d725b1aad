"""A client opens fetch sessions and never continues one."""

from kcli.rules.rule import Rule

# Most clients keep a session as long as its connection: a client that connects anew each time has none to continue. A
# broker keeps each session for at least two minutes and has 1,000 slots by default: a client that fills half of them
# takes them from others.
RULE = Rule(
    finding="sessions-never-reused",
    title="fetch sessions that are opened but never used",
    when="opened_sessions >= 20",
    sql="""
SELECT *, CASE WHEN kept >= 500 THEN 'warning' ELSE 'info' END AS severity,
       CASE WHEN evicted = 0 THEN 'evictions by the broker: it never says that a session is unknown' ELSE ''
            END AS not_so
FROM (
SELECT client_id, count(*) AS fetches, sum(CASE WHEN session_epoch = 0 AND granted_id > 0 THEN 1 ELSE 0 END) AS opened,
       sum(CASE WHEN session_epoch > 0 THEN 1 ELSE 0 END) AS incremental,
       sum(CASE WHEN array_contains(errors, 'FETCH_SESSION_ID_NOT_FOUND') THEN 1 ELSE 0 END) AS evicted,
       array_agg(DISTINCT server) AS servers,
       min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS weight,
       CAST(ceil(120 * sum(CASE WHEN session_epoch = 0 AND granted_id > 0 THEN 1 ELSE 0 END)
                 / greatest((max(ns) - min(ns)) / 1e9, 1) / count(DISTINCT server)) AS BIGINT) AS kept
FROM calls
WHERE api = 'FETCH' AND NOT inner_client AND session_epoch IS NOT NULL AND session_epoch >= 0
GROUP BY client_id
HAVING sum(CASE WHEN session_epoch = 0 AND granted_id > 0 THEN 1 ELSE 0 END) >= 20
  AND sum(CASE WHEN session_epoch = 0 AND granted_id > 0 THEN 1 ELSE 0 END) > 2 * count(DISTINCT connection)
  AND sum(CASE WHEN session_epoch > 0 THEN 1 ELSE 0 END) < sum(CASE WHEN session_epoch = 0 AND granted_id > 0 THEN 1
                                                                    ELSE 0 END)
) AS c
""",
    subject={"client": "client_id"},
    evidence=("fetches", "opened", "incremental", "servers", "kept"),
    text="{client_id} opens fetch sessions and does not use them: {opened} of {fetches} Fetches opened a new one, "
    "{incremental} continued one; at this rate it takes {kept} slots of a broker (of 1,000 by default)",
    ruled_out="{not_so}",
    advice="the client should continue its session (epoch 1, 2, ...), or request none (epoch -1): each session "
    "takes a slot from others (max.incremental.fetch.session.cache.slots)",
    see="fetch-session explain {files}",
    source="KIP-227",
    explains={"fetch-session-evictions": ()},
)
