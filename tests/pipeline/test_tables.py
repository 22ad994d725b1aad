"""The tables that readers see."""

from kcli.pipeline.tables import TABLES

PINNED = (
    "exchanges fetch_partitions produce_partitions record_batches fetch_sessions clients connections groups hourly "
    "throttling down_conversions leader_changes remote_fetches quorum transactions members metadata_partitions "
    "topics findings undecodable lineage"
)


def test_the_tables_are_pinned() -> None:
    assert list(TABLES) == PINNED.split()


def test_dated_tables_begin_with_their_time() -> None:
    assert all(table.names[0] == "timestamp" for table in TABLES.values() if table.dated)
