"""The tables `throttling`, `groups` and `hourly` over all runs, made from the workers' facts of exchanges."""

from functools import reduce

from kcli.pipeline.derived.incremental_tables import RunFiles, copy_rows
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import WrittenFile
from kcli.tables.exchange_views import exchange_view
from kcli.tables.hourly import hourly_query, hourly_update


def make_view(gathered: RunFiles, table: str) -> list[WrittenFile]:
    """Make all rows again, with Spark SQL. Runs of an older kcli have no noted exchanges; their `exchanges` are used
    instead.
    """
    found = (gathered.frame("noted_exchanges"), gathered.unsummed("connection_sums"))
    frames = [frame.select(*FACTS["noted_exchanges"].names) for frame in found if frame is not None]
    if not frames:
        return []
    noted = reduce(lambda one, other: one.unionAll(other), frames)
    made = gathered.spark.sql(exchange_view(table, "{noted}", file=False), noted=noted)
    return copy_rows(gathered, table, made.select(*TABLES[table].names))


def make_hourly(gathered: RunFiles, table: str) -> list[WrittenFile]:
    """Make the hours again in which a run adds or withdraws exchanges; all other hours are copied."""
    facts = gathered.frame("exchange_facts")
    if facts is None:
        return []
    before = gathered.rows_in(table, gathered.before(table))
    if gathered.fresh is None or before is None:
        return copy_rows(gathered, table, gathered.spark.sql(hourly_query("{facts}", file=False), facts=facts))
    fresh = gathered.rows_in("exchange_facts", gathered.fresh("exchange_facts"))
    if fresh is None:
        return copy_rows(gathered, table, before.coalesce(1), "kept-")
    made = gathered.spark.sql(hourly_update("{facts}", "{fresh}", "{before}"), facts=facts, fresh=fresh, before=before)
    return copy_rows(gathered, table, made)
