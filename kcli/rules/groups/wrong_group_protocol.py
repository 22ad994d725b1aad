"""A member does not fit its group."""

from kcli.rules.rule import CRITICAL, Rule

# These errors end a client: most ask once, so that one refusal is enough unless the group takes the client later. A
# group of another type is not found for who wants to join it (generation 0).
RULE = Rule(
    finding="wrong-group-protocol",
    title="members that do not match their group",
    severity=CRITICAL,
    when="failed >= 1 AND (apis LIKE '%,JOIN_GROUP,%' OR apis LIKE '%_GROUP_HEARTBEAT,%')",
    sql="""
WITH joins AS (
  SELECT group_id, coalesce(client_id, '') AS client_id, error, generation, api, answered, completed_ns AS ns,
         coalesce(protocols, CASE api WHEN 'CONSUMER_GROUP_HEARTBEAT' THEN 'the consumer protocol of KIP-848'
                                      WHEN 'SHARE_GROUP_HEARTBEAT' THEN 'a share group'
                                      WHEN 'STREAMS_GROUP_HEARTBEAT' THEN 'a streams group' END) AS protocols
  FROM group_calls
  WHERE api IN ('JOIN_GROUP', 'SYNC_GROUP', 'CONSUMER_GROUP_HEARTBEAT', 'SHARE_GROUP_HEARTBEAT',
                'STREAMS_GROUP_HEARTBEAT')
),
refused AS (
  SELECT group_id, client_id, count(*) AS refused, array_agg(DISTINCT error) AS errors, max(protocols) AS offered,
         min(ns) AS first_ns, max(ns) AS last_ns
  FROM joins
  WHERE error IN ('INCONSISTENT_GROUP_PROTOCOL', 'UNSUPPORTED_ASSIGNOR', 'GROUP_MAX_SIZE_REACHED',
                  'INVALID_SESSION_TIMEOUT', 'INVALID_GROUP_ID')
    OR (error = 'GROUP_ID_NOT_FOUND' AND coalesce(generation, 0) = 0)
  GROUP BY group_id, client_id
),
accepted_joins AS (
  SELECT group_id, client_id, max(ns) AS ns
  FROM joins
  WHERE error IS NULL AND answered
  GROUP BY group_id, client_id
),
other_members AS (
  SELECT r.group_id, r.client_id, array_agg(DISTINCT j.protocols) AS others, max(j.protocols) AS other
  FROM refused r JOIN joins j ON j.group_id = r.group_id AND j.client_id != r.client_id
  WHERE j.error IS NULL AND j.answered AND j.protocols IS NOT NULL
  GROUP BY r.group_id, r.client_id
)
SELECT r.*, others, refused AS weight,
       CASE WHEN other IS NULL THEN '' ELSE concat(', others ', other) END AS than,
       concat_ws('; ', CASE WHEN array_contains(errors, 'INCONSISTENT_GROUP_PROTOCOL')
                              THEN 'give all members one partition.assignment.strategy (or group.protocol), during a '
                                   'change both, in two rolling restarts; give another application (Connect, a share '
                                   'group, a streams group) its own group.id' END,
                 CASE WHEN array_contains(errors, 'GROUP_ID_NOT_FOUND')
                        THEN 'give it its own group.id: this group is of another kind (classic, consumer, share, '
                             'streams)' END,
                 CASE WHEN array_contains(errors, 'UNSUPPORTED_ASSIGNOR')
                        THEN 'name an assignor that the brokers have (group.consumer.assignors)' END,
                 CASE WHEN array_contains(errors, 'GROUP_MAX_SIZE_REACHED')
                        THEN 'the group is full: start fewer members (more than the topics have partitions do '
                             'nothing), or raise group.max.size of the brokers (group.consumer.max.size, '
                             'group.share.max.size, group.streams.max.size for groups of the newer protocols)' END,
                 CASE WHEN array_contains(errors, 'INVALID_SESSION_TIMEOUT')
                        THEN 'set session.timeout.ms within group.min.session.timeout.ms (6000) and '
                             'group.max.session.timeout.ms (1800000)' END,
                 CASE WHEN array_contains(errors, 'INVALID_GROUP_ID') THEN 'set a group.id' END) AS advised
FROM refused r
LEFT JOIN accepted_joins t ON t.group_id = r.group_id AND t.client_id = r.client_id AND t.ns > r.first_ns
LEFT JOIN other_members b ON b.group_id = r.group_id AND b.client_id = r.client_id
WHERE refused >= 2 OR t.ns IS NULL
""",
    subject={"client": "client_id", "group": "group_id"},
    evidence=("refused", "errors", "offered", "others"),
    text="group {group_id} refuses {client_id}: {refused} times {errors}; it offers {offered}{than}",
    ruled_out="a rebalance: the member is refused, and not asked to join again",
    advice="{advised}",
    see="decode pcap {files} --client {client_id} --errors",
    source="partition.assignment.strategy, KIP-429, KIP-848; group.max.size",
    explains={"errors-again": ("client",), "connection-churn": ("client",), "rebalance-storm": ("group",)},
)
