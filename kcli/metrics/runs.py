"""Metrics of a pipeline that keeps running: how much its runs have read and written."""

import threading
import time
from collections import Counter
from typing import Any

from kcli.metrics.definitions import Metric
from kcli.pipeline.tables import TABLES
from kcli.version import __version__


class RunFigures:
    """Sums over all runs since the start. settled: when the pipeline began to watch for captures; None: not yet."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.settled: float | None = None
        self.counts: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        self.last_run = 0.0  # seconds since 1970

    def begin(self) -> None:
        """Record that the pipeline watches for captures."""
        self.settled = time.monotonic()

    def take(self, made: Any) -> None:
        """Add the `kcli.pipeline.run.Summary` of a run."""
        with self.lock:
            self.counts.update(
                runs=1, captures=made.files, packets=made.packets, exchanges=made.exchanges, problems=len(made.problems)
            )
            self.rows.update({table: made.rows[table] for table in TABLES if made.rows.get(table)})
            self.last_run = time.time()


def counter(name: str, text: str) -> Metric:
    """Define a counter of `RunFigures.counts`."""
    return Metric(f"kcli_pipeline_{name}", "counter", text, (), lambda figures: iter([((), figures.counts[name])]))


RUN_METRICS = (
    counter("runs", "Completed runs."),
    counter("captures", "Captures read."),
    counter("packets", "Packets in these captures."),
    counter("exchanges", "Exchanges written."),
    counter("problems", "Files that are no captures or are damaged."),
    Metric(
        "kcli_pipeline_rows", "counter", "Rows written, by table.", ("table",),
        lambda figures: (((table,), rows) for table, rows in figures.rows.items()),
    ),
    Metric(
        "kcli_pipeline_last_run_timestamp_seconds", "gauge", "Time of the latest run's end, since 1970; 0: none.", (),
        lambda figures: iter([((), figures.last_run)]), "seconds",
    ),
    Metric(
        "kcli_build", "info", "The version of kcli.", ("version",), lambda _figures: iter([((__version__,), 1.0)]),
    ),
)  # fmt: skip
