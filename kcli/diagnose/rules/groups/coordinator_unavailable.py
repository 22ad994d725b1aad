"""A group's coordinator does not come."""

from kcli.diagnose.rule import CRITICAL, Rule

# The first answers of the kind are start-up: the broker makes or loads __consumer_offsets. An end is what counts.
RULE = Rule(
    finding="coordinator-unavailable",
    title="coordinators that do not come",
    severity=CRITICAL,
    when="failed >= 5 AND errors LIKE '%COORDINATOR%'",
    sql="""
WITH asked AS (SELECT coalesce(client_id, '') AS client_id, group_id, completed_ns AS ns, error, server FROM group_calls
               UNION ALL SELECT coalesce(client_id, ''), coordinator_key, completed_ns, error, server
                      FROM coordinator_asks
               UNION ALL SELECT coalesce(client_id, ''), transactional_id, completed_ns, error, server
                      FROM transaction_calls
                         WHERE transactional_id IS NOT NULL),
     bad AS (SELECT client_id, group_id, min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS refused,
                    array_agg(DISTINCT error) AS errors, array_agg(DISTINCT server) AS servers FROM asked
             WHERE error IN ('COORDINATOR_LOAD_IN_PROGRESS', 'COORDINATOR_NOT_AVAILABLE', 'NOT_COORDINATOR')
             GROUP BY client_id, group_id),
     good AS (SELECT group_id, count(*) AS good FROM group_calls WHERE error IS NULL AND answered GROUP BY group_id)
SELECT b.client_id, b.group_id, refused, errors, servers, (last_ns - b.first_ns) / 1e9 AS seconds, coalesce(good, 0)
       AS good,
       refused AS weight
FROM bad b LEFT JOIN good g ON b.group_id = g.group_id
WHERE refused >= 5 AND (last_ns - b.first_ns) / 1e9 >= 8 AND coalesce(good, 0) <= refused
""",
    subject={"group": "group_id", "client": "client_id"},
    evidence=("refused", "errors", "good", "seconds", "servers"),
    says="group {group_id} has no coordinator: {client_id} was told {errors} {refused} times in {seconds} s by "
    "{servers}, and got "
    "{good} good answers",
    ruled_out="start-up: that is over after some seconds",
    advice="the leaders of __consumer_offsets (or __transaction_state): offline partitions, a load that never ends "
    "(a log that is "
    "not compacted: log.cleaner.enable, a dead cleaner thread)",
    see="decode pcap {files} --client {client_id} --errors",
    source="kafka.server:group-coordinator-metrics partition-load-time-max; offsets.topic.replication.factor",
    explains={"errors-again": ("client",), "metadata-storm": ("client",)},
)
