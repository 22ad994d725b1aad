"""Records whose key or value a consumer can't deserialize."""

from kcli.rules.rule import Rule

RULE = Rule(
    finding="poison-records",
    title="records that can't be deserialized",
    when="(SELECT count(*) FROM unread_payloads WHERE records > 0) > 0",
    sql="""
SELECT topic, part, records, readable, reasons, schemas, partitions, places, writers, readers, records AS weight,
       CASE WHEN cardinality(writers) > 0 THEN writers ELSE readers END AS clients,
       CASE WHEN cardinality(writers) > 0 THEN concat(' by ', concat_ws(', ', writers)) ELSE '' END AS by_whom,
       CASE WHEN cardinality(readers) > 0 THEN concat(', fetched by ', concat_ws(', ', readers)) ELSE '' END AS for_whom
FROM unread_payloads
WHERE records > 0
""",
    subject={"client": "clients", "topic": "topic", "partition": "partitions"},
    evidence=("part", "records", "readable", "reasons", "schemas", "places", "writers", "readers"),
    text="{topic}: {records} of its {part}s{by_whom} can't be read, {readable} can: {reasons}; "
    "partition@offset {places}{for_whom}",
    advice="look at the serializer of the producer and the subject {topic}-{part} of the registry; "
    "a consumer that stops there needs a handler of errors (a dead letter topic), or has to seek past the record",
    see="records {files} --topic {topic}",
    of_payloads=True,
    source="Confluent's and Apicurio's wire formats, the schema that was given",
)
