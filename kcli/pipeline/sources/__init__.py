"""Kafka's bytes as data sources of PySpark: `spark.read.format("kcli.exchanges").load(path)`.

    from kcli.pipeline.sources import register
    register(spark)

kcli.packets     captures, a row each packet        files in ranges, each a task
kcli.segments    log segments, a row each record    a task each file; internal topics decoded
kcli.snapshots   KRaft snapshots, a row each record a task each file
kcli.TABLE       a table of the pipeline (kcli.exchanges, kcli.fetch_sessions, ...): of captures, or of a folder that
                 `kcli pipeline run` has written. Of captures, tasks share the connections (option `shares`: how many);
                 tables that look across connections are one task

Paths are files, folders, patterns or URIs, one or a list. `spark.readStream` reads what is new: captures and logs that
nobody writes any more (option `settle`, seconds), or what new runs have brought to a folder. Options: `port` (several
with commas), `schema` (a dialect), `columns` (those to make: the API hands a source nothing of what a query selects),
`damage` = "fail" to raise where a file is damaged, `origin` (a pattern of captures' paths, as of `kcli pipeline run`),
`secrets` = "true" to show passwords, keys and tokens, which are left out otherwise (packets are as they are).

Of captures with several shares, a topic's name is there if a connection of that share had it.

`pushdown` = "true": filters on columns are judged before a row becomes Arrow; spark.sql.python.filterPushdown.enabled
has to be set as well. It is for a load that is asked once: Spark (to 4.3) keeps what the first filtered query of a
DataFrame has pushed, and a later one without a filter gets the same rows. To a source the two are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.extras import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make the sources known to a session. Raises UsageError if a library of the extra `spark` is missing."""
    require("kcli.pipeline.sources", "spark")
    from kcli.pipeline.sources.file_source import KcliSource
    from kcli.pipeline.sources.source_captures import PacketSource
    from kcli.pipeline.sources.source_logs import SegmentSource, SnapshotSource
    from kcli.pipeline.sources.table_source import sources_of_tables

    known: list[type[KcliSource]] = [PacketSource, SegmentSource, SnapshotSource, *sources_of_tables()]
    for source in known:
        spark.dataSource.register(source)
