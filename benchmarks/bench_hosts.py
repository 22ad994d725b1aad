"""Many small captures of made-up hosts (`benchmarks.hosts`) through `kcli pipeline run`, and how its figures grow.

    python -m benchmarks.bench_hosts [ENGINE [COUNT...]]        default: spark 100 1000

Two runs: all but the late captures, then those. By number of captures: processor seconds of all processes of both runs,
the driver's greatest resident size (on Spark without its JVM), Spark's jobs and tasks, files in the tables, and whether
the rows of `exchanges` are those of one decode of all captures. Last: how each figure grew, by what ten times as many
captures would take (10 is linear).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench_pcap import SMALL
from benchmarks.hosts import make_fleet
from kcli.pipeline.formats.runs import runs_of
from kcli.pipeline.storage import StoragePath

ADOPT = 36  # prctl's PR_SET_CHILD_SUBREAPER: the JVM's workers are waited for, too
LOGGED = ("enabled=true", "rolling.enabled=false", "compress=false")
# kcli, which says in the end how much memory it has had: what getrusage says begins with what this process has.
DRIVER = """
import sys
from kcli.cli.main import main
code = main(sys.argv[1:])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
sys.exit(code)
"""
OTHERWISE = ("file", "run", "host", "cluster", "completed_ns", "date")  # columns that say how a row was read


class Figures(NamedTuple):
    """Of runs over so many captures."""

    captures: int
    seconds: float
    megabytes: float
    jobs: int
    tasks: int
    files: int

    def plus(self, other: Figures) -> Figures:
        """Return both runs' figures as those of one: times and counts add up."""
        return Figures(
            self.captures, self.seconds + other.seconds, max(self.megabytes, other.megabytes), self.jobs + other.jobs,
            self.tasks + other.tasks, other.files,
        )  # fmt: skip


def run(engine: str, inputs: Sequence[Path], output: Path, captures: int) -> Figures:
    """Run the pipeline once."""
    words = ["pipeline", "run", "--quiet", "--output", str(output), "--engine", engine]
    words += [word for path in inputs for word in ("--input", str(path))]
    with tempfile.TemporaryDirectory() as events:
        if engine == "spark":
            for each in (*LOGGED, f"dir=file://{events}"):
                words += ["--conf", f"spark.eventLog.{each}"]
        before = spent()
        done = subprocess.run([sys.executable, "-c", DRIVER, *words], stdout=subprocess.PIPE, text=True, check=True)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
        seen = [json.loads(line)["Event"] for path in Path(events).iterdir() for line in path.open()]
    files = sum(1 for _ in output.rglob("*.parquet"))
    jobs, tasks = seen.count("SparkListenerJobStart"), seen.count("SparkListenerTaskEnd")
    return Figures(captures, spent() - before, int(done.stdout) / 1024, jobs, tasks, files)


def spent() -> float:
    """Return the processor seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def digest(output: Path) -> tuple[int, int]:
    """Return how many rows `exchanges` has, and a sum over them that does not depend on their order."""
    import duckdb

    files = [StoragePath(each.uri).path for each in runs_of(StoragePath(str(output))).stored()["exchanges"]]
    with duckdb.connect() as connection:
        exchanges = connection.read_parquet(files, union_by_name=True)
        names = ", ".join(name for name in exchanges.columns if name not in OTHERWISE)
        asked = connection.execute(f"SELECT count(*)::BIGINT, sum(hash({names})::HUGEINT) FROM exchanges")
        rows, total = asked.fetchall()[0]
    return rows, total


def measured(engine: str, count: int, folder: Path) -> Figures:
    """Return the figures of both runs. AssertionError: the rows are not those of one decode."""
    fleet = make_fleet(SMALL, count, folder / "captures")
    output, whole = folder / "out", folder / "whole"
    made = run(engine, [fleet.folder], output, count).plus(run(engine, [fleet.folder, fleet.late], output, count))
    run("local", [fleet.folder, fleet.late], whole, count)
    rows = digest(output)
    assert rows == digest(whole), f"{count} captures: not the rows of one decode"
    print(
        f"{count:>7,} captures {fleet.bytes / 1e6:6.0f} MB {rows[0]:>9,} exchanges   processor {made.seconds:6.1f} s   "
        f"driver {made.megabytes:5.0f} MiB   {made.jobs} jobs, {made.tasks} tasks   {made.files} files",
        flush=True,
    )
    return made


def slope(less: Figures, more: Figures, name: str) -> float:
    """Return how many times as much ten times as many captures take, by two measurements."""
    one, other = getattr(less, name), getattr(more, name)
    return math.nan if not one or not other else 10 ** (math.log(other / one) / math.log(more.captures / less.captures))


def main(engine: str, counts: Sequence[int]) -> None:
    ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    made = []
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
            made.append(measured(engine, count, Path(name)))
    for less, more in pairwise(made):
        grown = ", ".join(f"{name} {slope(less, more, name):.1f}" for name in Figures._fields[1:])
        print(f"{less.captures:,} to {more.captures:,}, for ten times as many: {grown}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "spark", [int(word) for word in sys.argv[2:]] or [100, 1000])
