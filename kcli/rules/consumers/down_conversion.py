"""An old client makes the broker convert."""

from kcli.rules.rule import Rule

RULE = Rule(
    finding="down-conversion",
    title="old clients that make the broker down-convert",
    when="old_fetches > 0",
    sql="""
WITH old AS (
  SELECT b.client_id, b.topic, b.partition, f.api_version, b.magic, b.size_in_bytes, f.ns
  FROM batches b
  JOIN fetched f
    ON f.connection = b.connection AND f.correlation_id = b.correlation_id AND f.topic = b.topic
    AND f.partition = b.partition
  WHERE b.api = 'FETCH' AND f.api_version < 4 AND b.magic < 2
),
new AS (SELECT DISTINCT topic FROM batches WHERE magic = 2)
SELECT o.client_id, o.client_id AS cause, o.topic,
       array_agg(DISTINCT concat(o.topic, '-', o.partition)) AS partitions, count(*) AS batches,
       sum(size_in_bytes) AS bytes, max(magic) AS magic, max(api_version) AS fetch_version,
       concat('v', min(api_version), CASE WHEN max(api_version) > min(api_version)
                                          THEN concat(' to v', max(api_version)) ELSE '' END) AS versions,
       concat(min(magic), CASE WHEN max(magic) > min(magic) THEN concat(' or ', max(magic)) ELSE '' END) AS magics,
       max(g.groups) AS groups,
       min(ns) AS first_ns, max(ns) AS last_ns, count(*) AS weight
FROM old o JOIN new n ON o.topic = n.topic LEFT JOIN client_groups g ON o.client_id = g.client_id
GROUP BY o.client_id, o.topic
""",
    subject={"client": "client_id", "topic": "topic", "group": "groups", "partition": "partitions"},
    evidence=("batches", "bytes", "magic", "fetch_version"),
    text="{client_id} reads {topic} with Fetch {versions}: the broker converts what others write in magic 2 down "
    "to magic {magics}, {batches} message sets, {bytes} bytes so far",
    ruled_out="a topic stored in the old format: others send or get it in magic 2",
    advice="upgrade {client_id}: Kafka 4.0 refuses Fetch before v4 (KIP-896), and conversion costs the broker memory "
    "and CPU",
    see="audit {files}",
    source="KIP-283, KIP-896; FetchMessageConversionsPerSec",
)
