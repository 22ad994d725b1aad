"""Metadata sends clients to a host and port that they cannot reach."""

from kcli.rules.rule import CRITICAL, Rule

# A client whose connections are refused asks for Metadata again each time. A client that gets no answer waits, and asks
# for Metadata hardly more than once; there a listener counts only if none of its addresses can be reached.
# The same holds if nobody tried: a capture of one broker's port shows no connection to the others. Some clients
# (franz-go, kafka-python 3) ask once, and connect again and again: there the refused attempts count.
# A name is told by its port, as a capture has its address alone. Where other clients of the listener work, an address
# that nobody tried is another one in the capture (a name, a port that is mapped). A client that is told of errors alone
# has nowhere to go, and one that asks for all topics may want no more; that counts if the name may be the listener's.
# Others (Java before 4.0) ask once, and try a name that does not resolve for ever. So does, as far as a capture of the
# bootstrap port shows, a client that works: that cannot be judged.
# Where a listener tells another address of a broker than before, all clients that it has told may have worked; those
# are lost that have asked on since then, and done nothing else. Others may work on by the connections that they have.
# A client on another host that is told of localhost looks for the broker on its own host, where no capture of the
# broker's sees it: being told once is enough, whoever works beside the broker. If another client of that host works,
# the broker can be reached there (a port that is mapped).
# A client whose group is refused goes no further. An idempotent producer asks any broker for its id, the first as well.
# A server that answers each request with bytes that are no Kafka (HTTP, say) is no broker: it accepted nobody.
IS_OTHER = "coalesce(requests > 0 AND unanswered = requests AND response_bytes = 0 AND s_bytes > 0, false)"
RULE = Rule(
    finding="wrong-advertised-listener",
    title="advertised addresses that clients can't reach",
    severity=CRITICAL,
    when="unreached > 0",
    sql=f"""
WITH connects AS (
  SELECT place, count(*) AS attempts,
         sum(CASE WHEN (accepted OR requests > 0) AND NOT is_other THEN 1 ELSE 0 END) AS accepted,
         sum(CASE WHEN is_other THEN 1 ELSE 0 END) AS answered_otherwise,
         sum(CASE WHEN s_rst_ns IS NOT NULL AND NOT accepted THEN 1 ELSE 0 END) AS refused,
         sum(CASE WHEN s_rst_ns IS NULL AND NOT accepted THEN last_ns - first_ns ELSE 0 END) / 1e9 AS waited_seconds,
         array_agg(DISTINCT host) AS hosts
  FROM (
    SELECT server AS place, accepted, requests, s_rst_ns, first_ns, last_ns, host, {IS_OTHER} AS is_other FROM conns
    UNION ALL
    SELECT concat('port ', split_part(server, ':', -1)), accepted, requests, s_rst_ns, first_ns, last_ns, host,
           {IS_OTHER}
    FROM conns
  ) AS c
  GROUP BY place
),
working AS (
  SELECT DISTINCT client_id
  FROM calls
  WHERE api NOT IN ('API_VERSIONS', 'METADATA', 'FIND_COORDINATOR', 'INIT_PRODUCER_ID', 'SASL_HANDSHAKE',
                    'SASL_AUTHENTICATE', 'GET_TELEMETRY_SUBSCRIPTIONS')
    OR (failed AND array_contains(errors, 'GROUP_AUTHORIZATION_FAILED'))
),
requesters AS (
  SELECT k.*, w.client_id IS NOT NULL AS works, bool_or(w.client_id IS NOT NULL) OVER (PARTITION BY server) AS proven
  FROM (
    SELECT m.server, coalesce(m.client_id, '') AS client_id, count(*) AS asked, min(m.completed_ns) AS began_ns,
           max(m.completed_ns) AS ended_ns,
           sum(CASE WHEN e.connection IS NULL THEN 1 ELSE 0 END) AS told_well,
           sum(CASE WHEN e.connection IS NULL AND NOT m.all_topics THEN 1 ELSE 0 END) AS told_of_topics
    FROM metadata_calls m LEFT JOIN (SELECT DISTINCT connection, correlation_id FROM metadata_topics) AS e
      ON m.connection = e.connection AND m.correlation_id = e.correlation_id
    GROUP BY 1, 2
  ) AS k LEFT JOIN working w ON k.client_id = w.client_id
),
served_hosts AS (
  SELECT DISTINCT c.server, n.host
  FROM calls c JOIN conns n ON c.connection = n.connection
  WHERE c.response_bytes IS NOT NULL AND c.api IN ('PRODUCE', 'FETCH', 'SHARE_FETCH')
),
sent AS (
  SELECT a.server, node_id, address, named, attempts, refused, waited_seconds, answered_otherwise, hosts,
         coalesce(accepted, 0) AS accepted,
         sum(CASE WHEN named THEN 0 ELSE coalesce(accepted, 0) END) OVER (PARTITION BY a.server) = 0 AS blind,
         sum(coalesce(accepted, 0)) OVER (PARTITION BY a.server) > 0 AS maybe,
         (address LIKE '127.%' OR address LIKE '[::1]:%' OR address LIKE 'localhost:%')
           AND a.server NOT LIKE '127.%' AND a.server NOT LIKE '[::1]:%' AS loops
  FROM (
    SELECT server, node_id, address, named,
           CASE WHEN named THEN concat('port ', split_part(address, ':', -1)) ELSE address END AS place
    FROM (
      SELECT server, node_id, address, address NOT LIKE '[%' AND lower(address) != upper(address) AS named
      FROM advertised
    ) AS n
  ) AS a LEFT JOIN connects t USING (place)
),
away AS (
  SELECT node_id, address, listener, client_id, asked, began_ns, ended_ns,
         untried AND told < 3 AND NOT is_own AS few, is_own, CASE WHEN untried THEN NULL ELSE hosts END AS hosts,
         CASE WHEN untried THEN 0 ELSE attempts END AS attempts, CASE WHEN untried THEN 0 ELSE refused END AS refused,
         CASE WHEN untried THEN 0 ELSE waited_seconds END AS waited_seconds,
         CASE WHEN untried THEN 0 ELSE answered_otherwise END AS answered_otherwise
  FROM (
    SELECT s.*, k.server AS listener, k.client_id, asked, began_ns, ended_ns, blind AND NOT proven AS lost_all,
           attempts IS NULL OR (named AND accepted > 0 AND NOT proven) OR (loops AND f.server IS NOT NULL) AS untried,
           loops AND f.server IS NOT NULL AS is_own, told_of_topics,
           CASE WHEN maybe THEN told_of_topics ELSE told_well END AS told
    FROM sent s JOIN requesters k ON s.server = k.server
    LEFT JOIN (
      SELECT DISTINCT server, client_id
      FROM conns
      WHERE host != broker_host AND (server, host) NOT IN (SELECT server, host FROM served_hosts)
    ) AS f ON f.server = s.server AND f.client_id = k.client_id
    WHERE address != s.server AND NOT works
  ) AS l
  WHERE CASE WHEN is_own THEN told_of_topics >= 1
             WHEN untried THEN lost_all AND told >= 1
             ELSE accepted = 0 AND (attempts >= 2 OR waited_seconds >= 3) AND (lost_all OR asked >= 3) END
),
homes AS (
  SELECT server, leader AS node_id, leader_address AS address, min(unix_micros(timestamp) * 1000) AS told_ns
  FROM metadata_partitions
  WHERE leader >= 0 AND leader_address IS NOT NULL
  GROUP BY server, leader, leader_address
),
moved AS (
  SELECT n.server, n.node_id, n.address, n.told_ns, max_by(o.address, o.told_ns) AS before
  FROM homes n JOIN homes o ON n.server = o.server AND n.node_id = o.node_id AND o.told_ns < n.told_ns
  WHERE n.address NOT IN (SELECT server FROM conns WHERE accepted OR requests > 0)
  GROUP BY n.server, n.node_id, n.address, n.told_ns
),
work_ends AS (
  SELECT client_id, max(ns) AS ns
  FROM calls
  WHERE api NOT IN ('API_VERSIONS', 'METADATA', 'FIND_COORDINATOR', 'INIT_PRODUCER_ID', 'SASL_HANDSHAKE',
                    'SASL_AUTHENTICATE')
    AND client_id IN (SELECT client_id FROM metadata_calls) AND EXISTS (SELECT 1 FROM moved)
  GROUP BY client_id
),
left_behind AS (
  SELECT m.node_id, m.address, m.server AS listener, k.client_id, count(*) AS asked, min(k.completed_ns) AS began_ns,
         max(k.completed_ns) AS ended_ns, max(m.before) AS before
  FROM moved m
  JOIN metadata_calls k ON k.server = m.server AND k.completed_ns >= m.told_ns
  JOIN work_ends w ON w.client_id = k.client_id AND w.ns < m.told_ns + 5000000000
  GROUP BY m.node_id, m.address, m.server, k.client_id, w.ns
  HAVING count(*) >= 3 AND max(k.completed_ns) - greatest(w.ns, min(k.completed_ns)) >= 10000000000
),
every_away AS (
  SELECT a.*, CAST(NULL AS STRING) AS before FROM away a
  UNION ALL
  SELECT node_id, address, listener, client_id, asked, began_ns, ended_ns, false, false, NULL, 0, 0, 0, 0, before
  FROM left_behind
),
-- Brokers that answer at another address: one of theirs, or where a server names itself alone.
up AS (
  SELECT DISTINCT node_id FROM advertised WHERE address IN (SELECT server FROM calls WHERE response_bytes IS NOT NULL)
  UNION
  SELECT min(node_id) FROM advertised GROUP BY server HAVING count(DISTINCT node_id) = 1
)
SELECT node_id, address, array_agg(DISTINCT listener) AS listeners, max(attempts) AS attempts, max(refused) AS refused,
       array_agg(DISTINCT client_id) AS clients, sum(asked) AS asked,
       split(concat_ws('|', CAST(node_id AS STRING), address, concat_ws('|', array_agg(DISTINCT listener))),
             '[|]') AS broker,
       max(hosts) AS hosts, min(began_ns) AS first_ns, max(ended_ns) AS last_ns, sum(asked) AS weight,
       (
         SELECT CASE WHEN count(group_id) > 0 THEN array_agg(DISTINCT group_id) END
         FROM coordinator_asks q
         WHERE q.client_id IN (SELECT w.client_id FROM every_away w)
       ) AS groups,
       CASE WHEN bool_or(is_own) THEN 'they look for it on their own hosts'
            WHEN max(attempts) = 0 THEN 'no client tried to connect (does its name resolve?)'
            WHEN max(answered_otherwise) > 0
              THEN concat('what answers there is no broker, by ', max(answered_otherwise), ' connections')
            WHEN max(refused) = 0 THEN concat('no attempt to connect there was answered (', max(attempts), ')')
            ELSE concat(max(attempts), CASE WHEN max(attempts) = 1 THEN ' attempt' ELSE ' attempts' END,
                        ' to connect there, ', max(refused), ' refused, none accepted') END AS outcome,
       CASE WHEN max(before) IS NOT NULL THEN 'broker-restart,broker-crash' END AS stands,
       CASE WHEN max(before) IS NOT NULL THEN concat(' (before, it was ', max(before), ')') ELSE '' END AS instead,
       CASE WHEN few
            THEN concat('whether ', concat_ws(', ', array_sort(array_agg(DISTINCT client_id))), ' reached ', address,
                        ', where listener ', concat_ws(', ', array_sort(array_agg(DISTINCT listener))),
                        ' sent them: no connection there is in the capture') END AS unseen,
       'check whether that name resolves where they run; a capture of all ports' AS remedy,
       CASE WHEN max(up.node_id) IS NOT NULL THEN 'a broker that is down: it answers at another address'
            ELSE '' END AS not_so
FROM (SELECT *, bool_or(NOT few) OVER (PARTITION BY node_id, address) AS is_found FROM every_away) AS a
LEFT JOIN up USING (node_id)
CROSS JOIN (SELECT max(last_ns) AS end_ns FROM stretches) AS e
WHERE NOT (few AND is_found)
GROUP BY node_id, address, few
HAVING CASE WHEN few THEN max(end_ns) - max(ended_ns) >= 10000000000
            WHEN bool_or(is_own) AND max(end_ns) - max(ended_ns) >= 3000000000 THEN true
            ELSE sum(asked) >= 3 OR max(waited_seconds) >= 3 OR max(refused) + max(answered_otherwise) >= 3 END
""",
    subject={"broker": "broker", "client": "clients", "group": "groups"},
    evidence=("address", "listeners", "attempts", "refused", "asked", "clients", "hosts"),
    text="listener {listeners} sends clients to {address}{instead}, where they get no connection: {outcome}; "
    "{clients} asked for Metadata {asked} times, and neither wrote nor read",
    ruled_out="{not_so}",
    advice="set advertised.listeners of broker {node_id} for that listener to a name and port that {clients} can "
    "resolve and reach",
    see="sql 'SELECT DISTINCT server, leader, leader_address FROM metadata_partitions' {files}",
    source="advertised.listeners",
    explains={
        "connection-churn": ("client",),
        "metadata-storm": ("client",),
        "errors-again": ("client",),
        "coordinator-unavailable": (),
        "broker-unreachable": ("broker",),
    },
)
