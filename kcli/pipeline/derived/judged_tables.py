"""The tables about the contents of requests (`transactions`, `members`, `metadata_partitions`), and `findings`: the
findings of `kcli diagnose`, by the same rules, from the workers' facts. They are made in DuckDB, in bounded memory,
whichever engine made the facts.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kcli.jsontext import dumps
from kcli.pipeline.derived.local_facts import LocalFacts
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.writing import TableWriter, as_stored, stored_schema
from kcli.rules.clusters import judge_clusters
from kcli.rules.rule_tables import RuleTables
from kcli.rules.second_hops import leave_out_second_hops
from kcli.tables.call_views import CALL_VIEWS, call_view

FILES = "FILE..."  # stands for the captures in commands


def finding_rows(views: Mapping[str, str], sample: float | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `findings`. views: the SQL of each table in READ. sample: the fraction of the connections that
    was read; None: all.
    """
    with RuleTables(views) as tables:
        leave_out_second_hops(tables)
        found = judge_clusters(tables, FILES).kept
    for rank, each in enumerate(found, start=1):
        text, evidence = each.text, each.evidence
        if sample is not None and "connection" not in each.subject:  # a connection in the sample was read completely
            text, evidence = f"{text} (in a sample of {sample:g} of the connections)", {**evidence, "sample": sample}
        yield (
            rank, each.finding, each.severity, dumps(each.subject), dumps(evidence), text,
            each.ruled_out or None, each.advice, each.see or None, each.source,
        )  # fmt: skip


def put_judged(writer: TableWriter, facts: LocalFacts, views: Mapping[str, str], sample: float | None) -> None:
    """Write the tables. facts: has the views of `views`, the SQL of each table in READ. sample: see `finding_rows`."""
    for table in CALL_VIEWS:
        for batch in facts.batches(call_view(table)):
            writer.put_batch(table, -1, as_stored(batch, stored_schema(table)))
    for row in finding_rows(views, sample):
        writer.put("findings", row)


def local_path(uri: str, folder: str) -> str:
    """Return the path of a file, or of a copy made on this machine."""
    place = StoragePath(uri)
    if not place.remote:
        return str(place.path)
    copy = Path(folder) / place.path.replace("/", "_")
    copy.write_bytes(place.read())
    return str(copy)
