"""Common questions about captures, each with its SQL."""

EXAMPLES = (
    (
        "Who sends the most requests?",
        "SELECT client_id, count(*) AS requests FROM exchanges GROUP BY ALL ORDER BY requests DESC, client_id",
    ),
    (
        "How slow is each API at each broker?",
        (
            "SELECT api, server, count(*) AS requests, round(quantile_cont(latency_ms, 0.99), 3) AS p99_ms "
            "FROM exchanges GROUP BY ALL ORDER BY p99_ms DESC NULLS LAST, api, server"
        ),
    ),
    (
        "Which errors were answered, to whom?",
        (
            "SELECT error, api, client_id, count(*) AS answers FROM exchanges WHERE error IS NOT NULL "
            "GROUP BY ALL ORDER BY answers DESC, error, api, client_id"
        ),
    ),
    (
        "What does a request ask? (JSON paths)",
        "SELECT timestamp, request->>'$.topics[0].name' AS topic FROM exchanges WHERE api = 'METADATA' LIMIT 5",
    ),
    (
        "How many records does each partition show, and how big are they?",
        (
            "SELECT topic, partition, api, count(*) AS records, sum(strlen(value)) AS value_bytes FROM records "
            "GROUP BY ALL ORDER BY ALL"
        ),
    ),
    (
        "Which requests were left without responses? (with acks=0 none is due)",
        (
            "SELECT connection, client_id, api, count(*) AS requests FROM exchanges "
            "WHERE response_bytes IS NULL AND acks IS DISTINCT FROM 0 GROUP BY ALL ORDER BY ALL"
        ),
    ),
    (
        "What could not be read, and why?",
        (
            "SELECT event, count(*) AS events, sum(bytes) AS bytes, any_value(reason) AS reason FROM events "
            "GROUP BY event ORDER BY event"
        ),
    ),
    (
        "Which records does a snapshot hold?",
        "SELECT type, count(*) AS records FROM metadata GROUP BY type ORDER BY records DESC, type",
    ),
)
