"""`kcli pipeline run --stream`: captures as they come into folders, by Structured Streaming, each exactly once.

The stream's source is the list of captures that nobody writes any more; each of its batches is a run of the
pipeline. Which captures a batch still has to read is the journal's to say, not Spark's: a batch that Spark repeats
after a crash finds what it had committed, and reads the rest. The checkpoint stands in the output folder.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from kcli.errors import KcliError
from kcli.extras import require
from kcli.pipeline.context import Options
from kcli.pipeline.holding import holding
from kcli.pipeline.journal import HOME, Journal
from kcli.pipeline.run import Summary, run_pipeline
from kcli.pipeline.storage import StoredFile, gather

try:
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
except ModuleNotFoundError:
    require("kcli pipeline run --stream", "spark")
    raise

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTLE = 60.0  # seconds after which a capture that no newer one follows counts as whole


def settled(files: Sequence[StoredFile], now: float, settle: float = SETTLE) -> list[StoredFile]:
    """Captures that are whole: those with a newer one of their name beside them (as tcpdump rotates), or left alone."""
    newest: dict[str, float] = {}
    for file in files:
        newest[stem(file.uri)] = max(newest.get(stem(file.uri), 0.0), file.changed)
    return [file for file in files if file.changed < newest[stem(file.uri)] or now - file.changed >= settle]


def stem(uri: str) -> str:
    """A rotated file's name without the numbers in it (a.pcap3, a_2026-11-21_10:15.pcap)."""
    head, _, name = uri.rpartition("/")
    return f"{head}/{''.join(c for c in name if not c.isdigit())}"


class CaptureReader(DataSourceStreamReader):
    """Offsets are a digest over the captures that are whole: it changes when there are more."""

    def __init__(self, inputs: list[str], settle: float) -> None:
        self.inputs, self.settle = inputs, settle

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - the API's name
        return {"files": 0, "digest": ""}

    def latestOffset(self, *_: Any) -> dict[str, Any]:  # noqa: N802 - the API's name
        files = settled(gather(self.inputs), time.time(), self.settle)
        if not files:
            return self.initialOffset()
        names = sorted(f"{file.uri} {file.size}" for file in files)
        return {"files": len(files), "digest": hashlib.sha256("\n".join(names).encode()).hexdigest()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition(end["files"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield (partition.value,)


class CaptureList(DataSource):
    """A stream with a row for each time that captures were added: how many there are."""

    @classmethod
    def name(cls) -> str:
        return "kcli.capture_list"

    def schema(self) -> str:
        return "files bigint"

    def streamReader(self, schema: Any) -> CaptureReader:  # noqa: N802 - the API's name
        return CaptureReader(self.options["inputs"].split("\n"), float(self.options["settle"]))


def stream(
    spark: SparkSession,
    inputs: Sequence[str],
    options: Options,
    every: float,
    *,
    settle: float = SETTLE,
    idle: float | None = None,
    report: Callable[[Summary], None] = lambda summary: None,
    held: bool = False,
) -> Summary:
    """Run until interrupted, or until nothing came for `idle` seconds. every: seconds between looks at the folders.

    report: called with the summary of each run. The one returned is of all of them.
    held: the caller holds the output (`kcli.pipeline.holding`). HeldError and what a run raises.
    """
    with nullcontext() if held else holding(options.output):
        return stream_held(spark, inputs, options, every, settle, idle, report)


def stream_held(
    spark: SparkSession,
    inputs: Sequence[str],
    options: Options,
    every: float,
    settle: float,
    idle: float | None,
    report: Callable[[Summary], None],
) -> Summary:
    spark.dataSource.register(CaptureList)
    total = Summary()
    last = [time.monotonic()]
    failures: list[KcliError | OSError] = []

    def run_batch(_frame: Any, _number: int) -> None:
        whole = [file.uri for file in settled(gather(list(inputs)), time.time(), settle)]
        try:
            made = run_pipeline(spark, whole, options, held=True) if whole else Summary()
        except (KcliError, OSError) as error:
            failures.append(error)
            raise
        if made.files:
            add(total, made)
            report(made)
        last[0] = time.monotonic()

    source = (
        spark.readStream.format("kcli.capture_list").option("inputs", "\n".join(inputs)).option("settle", str(settle))
    )
    home = Journal(options.output).output / HOME
    query = (
        source.load()
        .writeStream.foreachBatch(run_batch)
        .option("checkpointLocation", (home / "checkpoint").uri)
        .trigger(processingTime=f"{every} seconds")
        .start()
    )
    try:
        while not query.awaitTermination(1):
            if is_busy(query.status):
                last[0] = time.monotonic()
            elif idle is not None and time.monotonic() - last[0] >= idle:
                break
    except Exception:
        if failures:  # what Spark makes of it is many lines of Java
            raise failures[0] from None
        raise
    finally:
        query.stop()
    return total


def is_busy(status: dict[str, Any]) -> bool:
    """Whether the query is at work, or has not come to its first look yet."""
    return bool(status["isTriggerActive"]) or "nitializing" in status["message"]


def add(total: Summary, made: Summary) -> None:
    total.run = made.run
    for name in ("files", "packets", "exchanges", "events"):
        setattr(total, name, getattr(total, name) + getattr(made, name))
    for table, rows in made.rows.items():
        total.rows[table] = total.rows.get(table, 0) + rows
    total.problems += made.problems
