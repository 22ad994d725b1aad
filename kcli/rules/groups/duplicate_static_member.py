"""Two processes have one group.instance.id."""

from kcli.rules.rule import CRITICAL, Rule

# A single takeover is reported if the fenced member was active: it sent requests just before, and goes on sending. That
# may be intended, as when a deployment starts the new member before it stops the old one. A member that returns after a
# long silence was replaced, as it should be. A member that never returns was restarted. In the protocol of KIP-848 the
# newcomer is refused while a member has the id; one that was killed has it until its session ends.
RULE = Rule(
    finding="duplicate-static-member",
    title="a group.instance.id that several processes use",
    severity=CRITICAL,
    when="errors LIKE '%INSTANCE_ID,%'",
    sql="""
WITH joins AS (
  SELECT group_id, instance_id, coalesce(client_id, '') AS client_id, connection, member_id, completed_ns,
         lag(connection) OVER (PARTITION BY group_id, instance_id ORDER BY completed_ns) AS before
  FROM group_calls
  WHERE instance_id IS NOT NULL AND (api = 'JOIN_GROUP' OR (api = 'CONSUMER_GROUP_HEARTBEAT' AND generation = 0))
),
fenced AS (
  SELECT group_id, instance_id, count(*) AS fenced, array_agg(DISTINCT api) AS apis,
         bool_and(error = 'UNRELEASED_INSTANCE_ID') AS is_refused, min(completed_ns) AS first_ns,
         max(completed_ns) AS last_ns
  FROM group_calls
  WHERE error IN ('FENCED_INSTANCE_ID', 'UNRELEASED_INSTANCE_ID') AND instance_id IS NOT NULL
  GROUP BY group_id, instance_id
),
who AS (
  SELECT group_id, instance_id, array_agg(DISTINCT client_id) AS clients
  FROM (
    SELECT group_id, instance_id, client_id FROM joins
    UNION ALL
    SELECT group_id, instance_id, coalesce(client_id, '')
    FROM group_calls
    WHERE error IN ('FENCED_INSTANCE_ID', 'UNRELEASED_INSTANCE_ID') AND instance_id IS NOT NULL
  ) AS w
  GROUP BY group_id, instance_id
),
holders AS (
  SELECT group_id, member_id, max(instance_id) AS instance_id, min(completed_ns) AS first_ns,
         max(completed_ns) AS last_ns
  FROM group_calls
  WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND member_id != '' AND error IS NULL
  GROUP BY group_id, member_id
),
refused AS (
  SELECT r.group_id, r.instance_id, count(l.member_id) > 0 AS seen,
         coalesce(bool_or(l.last_ns > r.ns), false) AS lives
  FROM (
    SELECT group_id, instance_id, completed_ns AS ns
    FROM group_calls
    WHERE error = 'UNRELEASED_INSTANCE_ID'
  ) AS r
  LEFT JOIN holders l ON r.group_id = l.group_id AND r.instance_id = l.instance_id AND l.first_ns < r.ns
  GROUP BY r.group_id, r.instance_id
),
acts AS (
  SELECT group_id, instance_id, connection, unix_micros(timestamp) * 1000 AS ns
  FROM group_calls
  WHERE instance_id IS NOT NULL
),
taken AS (
  SELECT j.group_id, j.instance_id, max(CASE WHEN a.ns < j.completed_ns THEN a.ns END) AS before_ns,
         min(CASE WHEN a.ns > j.completed_ns THEN a.ns END) AS after_ns
  FROM joins j
  JOIN fenced f ON f.group_id = j.group_id AND f.instance_id = j.instance_id AND f.fenced < 2
  JOIN acts a ON a.group_id = j.group_id AND a.instance_id = j.instance_id AND a.connection = j.before
  WHERE j.before IS NOT NULL AND j.before != j.connection
  GROUP BY j.group_id, j.instance_id, j.completed_ns
),
put_out AS (
  SELECT group_id, instance_id, max(CASE WHEN after_ns - before_ns <= 5000000000 THEN 1 ELSE 0 END) AS was_at_work
  FROM taken
  WHERE after_ns IS NOT NULL
  GROUP BY group_id, instance_id
),
told AS (
  SELECT f.group_id, f.instance_id, f.fenced, f.apis, count(j.connection) AS joins,
         count(DISTINCT j.member_id) AS member_ids, count(DISTINCT j.connection) AS connections,
         sum(CASE WHEN before IS NOT NULL AND before != connection THEN 1 ELSE 0 END) AS in_turn,
         max(w.clients) AS clients,
         max(f.first_ns) AS first_ns, max(f.last_ns) AS last_ns, max(was_at_work) AS was_at_work,
         bool_and(is_refused) AS is_refused, bool_or(seen) AS seen, bool_or(lives) AS lives
  FROM fenced f
  JOIN who w ON f.group_id = w.group_id AND f.instance_id = w.instance_id
  LEFT JOIN joins j ON f.group_id = j.group_id AND f.instance_id = j.instance_id
  LEFT JOIN refused r ON f.group_id = r.group_id AND f.instance_id = r.instance_id
  LEFT JOIN put_out p ON f.group_id = p.group_id AND f.instance_id = p.instance_id
  GROUP BY f.group_id, f.instance_id, f.fenced, f.apis
)
SELECT *, fenced AS weight,
       CASE WHEN state = 'killed' THEN 'refused while the session of the one before it, which did not leave, lasts'
            WHEN state = 'held' THEN 'they are refused, as another member has it'
            WHEN state = 'turns' THEN 'they fenced each other'
            WHEN state = 'put out' THEN 'the first was working, and was fenced'
            ELSE 'the first came back after a silence, and was fenced' END AS outcome,
       CASE WHEN state = 'killed' OR state = 'held' AND NOT coalesce(lives, false) THEN ''
            ELSE concat('a restart of one process: ',
                        CASE state WHEN 'held' THEN 'the other continues' WHEN 'turns' THEN 'they take turns'
                                   ELSE 'the first kept sending requests' END) END AS not_so,
       CASE state
            WHEN 'killed' THEN concat('let it leave when it stops, on SIGTERM too: close(); its id is kept for ',
                                      'group.consumer.session.timeout.ms of the brokers')
            WHEN 'came back' THEN concat('nothing, if it was replaced on purpose; ',
                                         'otherwise find out what stopped it: GC, a frozen machine') END AS advised,
       CASE WHEN state IN ('turns', 'held') THEN 'critical' ELSE 'info' END AS severity,
       CASE WHEN state = 'killed' THEN 'rebalance-storm,slow-rebalance' END AS spares,
       CASE WHEN is_refused THEN 'decode pcap {files} --errors=UNRELEASED_INSTANCE_ID' END AS look
FROM (
  SELECT *, CASE WHEN is_refused AND seen AND NOT lives THEN 'killed' WHEN is_refused AND fenced >= 2 THEN 'held'
                 WHEN fenced >= 2 OR in_turn >= 2 THEN 'turns' WHEN was_at_work = 1 THEN 'put out'
                 ELSE 'came back' END AS state
  FROM told
) AS t
WHERE fenced >= 2 OR in_turn >= 2 OR was_at_work IS NOT NULL
""",
    subject={"group": "group_id", "client": "clients"},
    evidence=("instance_id", "fenced", "apis", "joins", "member_ids", "connections", "in_turn", "clients"),
    text="group {group_id}: {clients} join as the same group.instance.id {instance_id}, on {connections} connections: "
    "{outcome}, {fenced} times",
    ruled_out="{not_so}",
    advice="give each process its own group.instance.id; find who started {instance_id} twice",
    see="decode pcap {files} --errors=FENCED_INSTANCE_ID",
    source="KIP-345; group.instance.id",
    explains={
        "rebalance-storm": ("group",),
        "slow-rebalance": ("group",),
        "connection-churn": ("client",),
        "errors-again": ("client",),
        "consumer-stuck": ("group",),
    },
)
