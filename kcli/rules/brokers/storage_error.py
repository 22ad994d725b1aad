"""A broker has lost a log directory."""

from kcli.rules.rule import CRITICAL, Rule

# A broker whose write or read fails takes the whole directory offline, with all its partitions, and ends itself if it
# has no other. Metadata has no leader for partitions without another replica.
RULE = Rule(
    finding="storage-error",
    title="brokers that lost a log directory",
    severity=CRITICAL,
    when="errors LIKE '%,KAFKA_STORAGE_ERROR,%'",
    sql="""
WITH storage_errors AS (
  SELECT server, client_id, topic, partition, ns FROM produced WHERE error = 'KAFKA_STORAGE_ERROR'
  UNION ALL
  SELECT server, client_id, topic, partition, ns FROM fetched WHERE error = 'KAFKA_STORAGE_ERROR'
)
SELECT broker, broker_name, count(*) AS errors, count(DISTINCT concat(topic, '-', partition)) AS partitions,
       array_agg(DISTINCT topic) AS topics, array_agg(DISTINCT client_id) AS clients, min(ns) AS first_ns,
       max(ns) AS last_ns, count(*) AS weight
FROM storage_errors m JOIN brokers b ON m.server = b.server
GROUP BY broker, broker_name
HAVING count(*) >= 2
""",
    subject={"broker": "broker", "topic": "topics", "client": "clients"},
    evidence=("errors", "partitions", "topics", "clients"),
    text="broker {broker_name} has lost a log directory: {errors} times KAFKA_STORAGE_ERROR for "
    "{partitions} partitions of {topics}",
    ruled_out="a broker that is down: it answers",
    advice="look at that broker's log and disk (full, read-only, broken): it takes a directory offline at its first "
    "failed write, and brings it back only when it is restarted; RF 1 partitions there have no leader until then",
    see="decode pcap {files} --errors=KAFKA_STORAGE_ERROR",
    source="kafka.log:LogManager OfflineLogDirectoryCount; KIP-112",
    explains={
        "errors-again": ("client",),
        "leader-moves": (),
        "slow-broker": ("broker",),
        "busy-fetch": ("client",),
        "under-min-isr": ("topic",),
        "coordinator-unavailable": (),
        "unknown-topic": ("topic",),
    },
)
