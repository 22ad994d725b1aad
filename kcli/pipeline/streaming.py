"""`kcli pipeline run --stream`: reads captures as they appear in folders, by Structured Streaming, each exactly once.

The stream's source is the list of complete captures; each of its batches is a run of the pipeline. The journal, not
Spark, determines which captures a batch still has to read. A batch that Spark repeats after a crash finds its commits
there, and reads the rest. The checkpoint is in the output folder.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kcli.errors import KcliError
from kcli.extras import require
from kcli.input_names import RUNS_FOLDER
from kcli.pipeline.context import Options
from kcli.pipeline.journal import Journal
from kcli.pipeline.run import Summary
from kcli.pipeline.spark_engine import SparkEngine
from kcli.pipeline.watching import Report, Watch, quiet, run_settled

try:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
except ModuleNotFoundError:
    require("kcli pipeline run --stream", "spark")
    raise


class CaptureReader(DataSourceStreamReader):
    """Reads the number of complete captures. An offset is a digest over these captures, so that it changes with their
    number.
    """

    def __init__(self, inputs: list[str], watch: Watch) -> None:
        self.inputs, self.watch = inputs, watch

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - the API's name
        return {"files": 0, "digest": ""}

    def latestOffset(self, *_: Any) -> dict[str, Any]:  # noqa: N802 - the API's name
        files = self.watch.settled(self.inputs)
        if not files:
            return self.initialOffset()
        names = sorted(f"{file.uri} {file.size}" for file in files)
        return {"files": len(files), "digest": hashlib.sha256("\n".join(names).encode()).hexdigest()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition(end["files"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield (partition.value,)


class CaptureList(DataSource):
    """A stream with one row for each batch of new captures: the number of all captures."""

    @classmethod
    def name(cls) -> str:
        return "kcli.capture_list"

    def schema(self) -> str:
        return "files bigint"

    def streamReader(self, schema: Any) -> CaptureReader:  # noqa: N802 - the API's name
        inputs = self.options["inputs"].split("\n") if self.options["inputs"] else []
        series, manifest = self.options.get("series"), self.options.get("manifest")
        return CaptureReader(inputs, Watch(settle=float(self.options["settle"]), series=series, manifest=manifest))


def stream(
    spark: SparkSession, inputs: Sequence[str], options: Options, watch: Watch, *, report: Report = quiet
) -> Summary:
    """Run until interrupted, or until no capture came for `watch.idle` seconds. Raises the errors of a run.

    report: called with the summary of each run. Returns the summary of all. The caller holds the output
    (`kcli.pipeline.output_lock`).
    """
    spark.dataSource.register(CaptureList)
    engine, total = SparkEngine(spark), Summary()
    last = [time.monotonic()]
    failures: list[KcliError | OSError] = []

    def run_batch(_frame: Any, _number: int) -> None:
        try:
            if run_settled(engine, inputs, options, watch, total, report):
                last[0] = time.monotonic()
        except (KcliError, OSError) as error:
            failures.append(error)
            raise

    query = started(spark, inputs, options, watch, run_batch)
    try:
        while not query.awaitTermination(1):
            if is_busy(query.status):
                last[0] = time.monotonic()
            elif watch.idle is not None and time.monotonic() - last[0] >= watch.idle:
                break
    except Exception:
        if failures:  # Spark's own error has many lines of Java
            raise failures[0] from None
        raise
    finally:
        query.stop()
    return total


def started(
    spark: SparkSession, inputs: Sequence[str], options: Options, watch: Watch, run_batch: Callable[[Any, int], None]
) -> Any:
    """Start the query that calls `run_batch` when there may be new captures."""
    source = spark.readStream.format("kcli.capture_list").option("inputs", "\n".join(inputs))
    source = source.option("settle", str(watch.settle))
    for name in ("series", "manifest"):
        if getattr(watch, name) is not None:
            source = source.option(name, getattr(watch, name))
    home = Journal(options.output).output / RUNS_FOLDER
    return (
        source.load()
        .writeStream.foreachBatch(run_batch)
        .option("checkpointLocation", (home / "checkpoint").uri)
        .trigger(processingTime=f"{watch.every * 1000:.0f} milliseconds")
        .start()
    )


def is_busy(status: dict[str, Any]) -> bool:
    """Return whether the query is at work, or still initializing."""
    return bool(status["isTriggerActive"]) or "nitializing" in status["message"]
