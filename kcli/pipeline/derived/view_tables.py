"""The tables `throttling` and `groups` over all runs, out of the exchanges that the workers have noted."""

from __future__ import annotations

from functools import reduce

from kcli.pipeline.derived.incremental_tables import Gathered, copy_rows
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import Written
from kcli.tables.exchange_views import exchange_view


def make_view(gathered: Gathered, table: str) -> list[Written]:
    """Make all rows anew, in Spark's own SQL. Runs by an older kcli, which noted none, left their `exchanges`."""
    found = (gathered.frame("noted_exchanges"), gathered.unsummed("connection_sums"))
    frames = [frame.select(*FACTS["noted_exchanges"].names) for frame in found if frame is not None]
    if not frames:
        return []
    noted = reduce(lambda one, other: one.unionAll(other), frames)
    made = gathered.spark.sql(exchange_view(table, "{noted}", file=False), noted=noted)
    return copy_rows(gathered, table, made.select(*TABLES[table].names))
