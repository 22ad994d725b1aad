"""The tables `throttling` and `groups` in SQL that Spark and DuckDB both run, over rows of `exchanges`."""

from __future__ import annotations

JSON_MACRO = "get_json_object(text, path) AS json_extract_string(text, path)"  # what DuckDB has under another name
# Spark's names of what DuckDB calls otherwise.
MACROS = (
    JSON_MACRO,
    "percentile_approx(value, share) AS quantile_disc(value, share)",
    "explode(list) AS unnest(list)",
    "unix_micros(moment) AS epoch_us(moment)",
    "split(text, pattern) AS string_split_regex(text, pattern)",
    "sort_array(list) AS list_sort(list)",
    "try_divide(a, b) AS CASE WHEN b = 0 THEN NULL ELSE a / b END",
)
THROTTLE_MS = "CAST(get_json_object(response, '$.throttleTimeMs') AS INT)"
# By table: the query, and what `file` is in it.
EXCHANGE_VIEWS = {
    "throttling": (
        f"""
SELECT timestamp, connection, server, client_id, api, {THROTTLE_MS} AS throttle_ms, latency_ms{{file}}
FROM {{source}} WHERE {THROTTLE_MS} > 0
""",
        "file",
    ),
    "groups": (
        """
SELECT group_id, count(*) FILTER (WHERE joins) AS joins,
       count(DISTINCT generation) FILTER (WHERE generation > 0) AS rebalances,
       count(DISTINCT member_id) FILTER (WHERE member_id != '') AS members, max(generation) AS generation,
       min(timestamp) AS first_request, max(timestamp) AS last_request,
       count(*) FILTER (WHERE failed) AS with_errors{file}
FROM (SELECT *, get_json_object(request, '$.groupId') AS group_id, get_json_object(response, '$.memberId') AS member_id,
             cardinality(errors) > 0 AS failed,
             api = 'JOIN_GROUP' OR get_json_object(request, '$.memberEpoch') = '0' AS joins,
             CAST(coalesce(get_json_object(response, '$.generationId'), get_json_object(response, '$.memberEpoch'))
                  AS INT) AS generation
      FROM {source} WHERE api IN ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT') AND request IS NOT NULL) AS asked
GROUP BY group_id
""",
        "min_by(file, completed_ns)",
    ),
}


def exchange_view(table: str, source: str, *, file: bool) -> str:
    """The rows of a table out of a source's rows. file: these have the column `file`, and so has the table."""
    query, of_file = EXCHANGE_VIEWS[table]
    return query.format(source=source, file=f", {of_file} AS file" if file else "")
