"""A group whose members get no partitions at all."""

from kcli.rules.rule import Rule

# What a pattern does not match, and what a user may not describe, is left out of a subscription without an error.
# Members that wait beside others that have partitions are usual: they are more than there are partitions.
RULE = Rule(
    finding="no-partitions",
    title="groups whose members get no partitions",
    when="joins > 0 AND seconds >= 10",
    sql="""
WITH spans AS (
  SELECT group_id, array_agg(DISTINCT client_id) AS clients, count(DISTINCT member_id) AS members,
         max(cardinality(assignment)) AS most, sum(CASE WHEN api = 'LEAVE_GROUP' THEN 0 ELSE 1 END) AS requests,
         min(CASE WHEN cardinality(assignment) = 0 THEN completed_ns END) AS first_ns, max(completed_ns) AS last_ns,
         sum(CASE WHEN api LIKE '%HEARTBEAT' AND error IS NULL THEN 1 ELSE 0 END) AS heartbeats
  FROM group_calls
  WHERE group_id IS NOT NULL
  GROUP BY group_id
),
never AS (
  SELECT * FROM spans WHERE most = 0 AND heartbeats >= 3 AND last_ns - first_ns >= 10000000000
)
SELECT group_id, clients, members, heartbeats, (last_ns - first_ns) / 1e9 AS seconds, first_ns, last_ns,
       (last_ns - first_ns) / 1e9 AS weight
FROM never n
WHERE NOT EXISTS (
  SELECT 1 FROM group_clients g JOIN fetched f ON f.client_id = g.client_id WHERE g.group_id = n.group_id
)
""",
    subject={"group": "group_id", "client": "clients"},
    evidence=("members", "heartbeats", "seconds"),
    text="group {group_id} has no partition: {heartbeats} heartbeats of {clients} in {seconds} s, "
    "and no response assigns any",
    ruled_out="more members than partitions: none of the group has any",
    advice="compare the subscription of {clients} with the topics that their user sees "
    "(kafka-topics.sh --list with its --command-config): a topic that it may not Describe is left out without an error",
    see="decode pcap {files} --api JoinGroup,SyncGroup,ConsumerGroupHeartbeat,StreamsGroupHeartbeat",
    source="KIP-848; ACLs: Describe on a topic",
    rests_on=("never",),
)
