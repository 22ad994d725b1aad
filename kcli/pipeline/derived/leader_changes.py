"""The table `leader_changes`: requests to a broker that was no longer the leader (KIP-951), and when they succeeded
again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from kcli.calendar import NS_IN_US
from kcli.pipeline.derived.incremental_tables import Row, RunFiles, fold
from kcli.pipeline.writing import WrittenFile
from kcli.schemas.errors import error_name

CHANGE_KEYS = ["client_id", "client_address", "api", "topic", "partition"]


def make_changes(gathered: RunFiles, table: str) -> list[WrittenFile]:
    """Write `leader_changes`. Clients without new responses in this run keep their rows."""
    if gathered.renamed:  # a topic that was known by its id can have a name now, which is another key
        gathered = replace(gathered, fresh=None)
    return fold(gathered, outcomes, CHANGE_KEYS, ["first_ns"], changes, table, narrow=troubled)


def outcomes(gathered: RunFiles) -> Any:
    """Return the outcomes for partitions, with the topic's name if any run has learnt it."""
    from pyspark.sql import functions

    frame = gathered.frame("outcomes")
    if frame is None or not gathered.names:
        return frame
    pairs = [functions.lit(part) for pair in gathered.names.items() for part in pair]
    return frame.withColumn(
        "topic", functions.coalesce(functions.create_map(*pairs)[functions.col("topic")], functions.col("topic"))
    )


def troubled(frame: Any) -> Any:
    """Return the rows of keys that had an error."""
    from pyspark.sql import functions

    keys = frame.where("error != 0").select(*(frame[key].alias(f"troubled_{key}") for key in CHANGE_KEYS)).distinct()
    same = [frame[key].eqNullSafe(keys[f"troubled_{key}"]) for key in CHANGE_KEYS]
    return frame.join(functions.broadcast(keys), same, "left_semi")


def changes(rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
    """Yield rows of `leader_changes` from the outcomes of one client for one partition, in order of the first response.

    A change begins with the first error and ends with the next response without an error, from whichever server.
    """
    first: Row | None = None
    errors = 0
    hinted = None
    for row in rows:
        if row["error"]:
            first = first or row
            errors += row["answers"]
            hinted = hinted or (row if row["hint_leader"] >= 0 else None)
        elif first is not None:
            yield change_row(first, errors, hinted, row)
            first, errors, hinted = None, 0, None
    if first is not None:
        yield change_row(first, errors, hinted, None)


def change_row(first: Row, errors: int, hinted: Row | None, after: Row | None) -> tuple[Any, ...]:
    lost = saved = None
    if after is not None:
        lost = (after["first_ns"] - first["first_ns"]) / 1e6
        saved = 0.0 if hinted is not None else max(0.0, (after["first_request_ns"] - first["first_ns"]) / 1e6)
    return (
        first["first_ns"] // NS_IN_US, first["client_id"], first["client_address"], first["api"], first["topic"],
        first["partition"], error_name(first["error"]), first["server"], errors, hinted is not None,
        hinted["hint_leader"] if hinted else None, hinted["hint_server"] if hinted else None,
        after["server"] if after else None, after["first_ns"] // NS_IN_US if after else None, lost, saved,
    )  # fmt: skip
