"""A member of a share group that does not accept the records it gets."""

from kcli.rules.rule import Rule

# A member of a share group accepts each record, releases it to be given again, or rejects it for good; what it does
# not acknowledge in time is given again, too, and a late acknowledgement is refused. A record that was given
# group.share.delivery.count.limit times is given up, and no answer says so. Few such records are usual: a member that
# closes releases what it has, and a broken record is rejected. What a member has at the end of the capture is not late:
# records count as kept too long only as far as the group got records again that nobody released.
RULE = Rule(
    finding="share-not-accepted",
    title="members of share groups that do not accept their records",
    when="apis LIKE '%,SHARE_FETCH,%'",
    sql="""
WITH by_call AS (
  SELECT s.group_id, c.client_id, coalesce(t.topic, s.topic) AS topic, c.ns, acquired, again, deliveries, released,
         rejected, acknowledged, lock_ms, CASE WHEN error IS NULL THEN accepted ELSE 0 END AS accepted,
         CASE WHEN error IS NULL THEN 0 ELSE acknowledged END AS refused
  FROM share_calls s
  JOIN calls c ON s.connection = c.connection AND s.correlation_id = c.correlation_id
  LEFT JOIN topic_by_id t ON s.topic = t.topic_id
  WHERE api IN ('SHARE_FETCH', 'SHARE_ACKNOWLEDGE')
),
members AS (
  SELECT group_id, client_id, array_agg(DISTINCT topic) AS topics, sum(acquired) AS acquired,
         sum(accepted) AS accepted, sum(released) AS released, sum(rejected) AS rejected, sum(refused) AS refused,
         greatest(sum(acquired) - sum(acknowledged) + sum(refused), 0) AS kept, max(lock_ms) AS lock_ms,
         min(ns) AS first_ns, max(ns) AS last_ns
  FROM by_call
  GROUP BY group_id, client_id
),
share_groups AS (
  SELECT group_id, sum(again) AS again, greatest(sum(again) - sum(released), 0) AS expired,
         max(deliveries) AS deliveries
  FROM by_call
  GROUP BY group_id
),
judged AS (
  SELECT m.*, g.again, g.deliveries, CASE WHEN expired >= 20 THEN kept ELSE 0 END AS late,
         max(kept) OVER (PARTITION BY m.group_id) AS most_kept
  FROM members m JOIN share_groups g ON m.group_id = g.group_id
)
SELECT group_id, client_id, topics, acquired, accepted, released, rejected, refused, late, again, deliveries, lock_ms,
       first_ns, last_ns, released + rejected + late AS weight,
       concat_ws(', ', CASE WHEN released > 0 THEN concat('released ', released) END,
                 CASE WHEN rejected > 0 THEN concat('rejected ', rejected) END,
                 CASE WHEN late > 0 THEN concat('did not acknowledge ', late, ' in time') END) AS how,
       CASE WHEN again > 0 THEN concat('; the group got ', again, ' again, some for the ', deliveries, '. time')
            ELSE '' END AS repeated,
       concat_ws('; ', CASE WHEN released > rejected + late
                            THEN 'look why the handler fails: a record is given up, and lost for the group, after '
                                 'group.share.delivery.count.limit deliveries (5 by default)' END,
                 CASE WHEN rejected > 0
                      THEN 'rejected records are lost for the group: look why the handler rejects them, and write '
                           'them to a topic of their own' END,
                 CASE WHEN late > 0
                      THEN concat('process what a poll returns within ', coalesce(CAST(lock_ms AS STRING), '30000'),
                                  ' ms (group.share.record.lock.duration.ms): smaller max.poll.records or '
                                  'max.partition.fetch.bytes, faster work, renewed locks; or find out why it dies')
                      END) AS advised
FROM judged
WHERE (released >= 20 AND released >= 0.1 * acquired) OR (rejected >= 20 AND rejected >= 0.1 * acquired)
  OR (late >= 20 AND late >= 0.1 * acquired AND late >= 0.3 * most_kept)
""",
    subject={"client": "client_id", "group": "group_id", "topic": "topics"},
    evidence=(
        "acquired",
        "accepted",
        "released",
        "rejected",
        "late",
        "refused",
        "again",
        "deliveries",
        "lock_ms",
    ),
    text="{client_id} of share group {group_id} got {acquired} records of {topics} and accepted {accepted}: it {how}"
    "{repeated}",
    advice="look at the handler of {client_id}",
    see="decode pcap {files} --client {client_id} --api ShareFetch --api ShareAcknowledge",
    source="KIP-932: group.share.delivery.count.limit 5, group.share.record.lock.duration.ms 30000",
    explains={"lagging-consumer": ("group",), "errors-again": ("client",)},
)
