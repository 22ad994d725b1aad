"""Captures as they come: each once, also when a batch is done again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline import run
from kcli.pipeline.context import Options
from kcli.pipeline.journal import Journal
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.spark import BRIEF
from kcli.pipeline.storage import StoredFile
from kcli.pipeline.streaming import settled, stream
from kcli.pipeline.tables import TABLES
from tests.pipeline.conftest import need_java
from tests.pipeline.outputs import assert_decoded, rows_of, unaccounted
from tests.pipeline.test_run import rotated


@pytest.mark.parametrize(
    ("files", "now", "whole"),
    [
        ([("a.pcap1", 10), ("a.pcap2", 20)], 21, ["a.pcap1"]),
        ([("a.pcap1", 10), ("a.pcap2", 20)], 80, ["a.pcap1", "a.pcap2"]),
        ([("a.pcap", 10), ("b.pcap", 20)], 21, []),
        ([("d_10:15.pcap", 10), ("d_10:20.pcap", 15)], 16, ["d_10:15.pcap"]),
    ],
)
def test_captures_that_are_whole(files: list[tuple[str, int]], now: int, whole: list[str]) -> None:
    stored = [StoredFile(f"/x/{name}", 1, at) for name, at in files]
    assert [Path(each.uri).name for each in settled(stored, now)] == whole


def test_a_stream_that_dies_and_starts_again_is_the_batch_run(
    spark: Any, samples: Path, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    paths = rotated(samples, tmp_path, 3)
    commit = Journal.commit

    def place(path: Path, at: int) -> None:
        path.rename(source / path.name)
        os.utime(source / path.name, (at, at))

    def die_behind_the_entry(journal: Journal, entry: Any) -> None:
        commit(journal, entry)
        raise MemoryError

    monkeypatch.setattr(run, "derive_tables", lambda *_: None)  # has tests of its own, and takes long
    place(paths[0], 100)
    with monkeypatch.context() as dying:
        dying.setattr(Journal, "commit", die_behind_the_entry)
        with pytest.raises(Exception, match="MemoryError"):
            stream(spark, [str(source)], Options(str(output)), 1, settle=0, idle=4)
    assert Journal(str(output)).last == 1
    place(paths[1], 101)
    place(paths[2], 102)
    made = stream(spark, [str(source)], Options(str(output)), 1, settle=0, idle=4)
    assert made.files == 2
    assert_decoded(output, [samples / "java44-txn.pcap"])
    assert unaccounted(output) == 0


# kcli with a driver that is killed (SIGKILL, by itself, so that it is at that very moment).
MORTAL = """
import os, pathlib, signal, sys
from kcli.cli.main import main
from kcli.pipeline.journal import Journal
from kcli.pipeline.storage import Place

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

commit, publish, move = Journal.commit, Journal.publish, Place.move

def die_before_the_entry_has_its_name(journal, entry):
    pathlib.Path.replace = die
    commit(journal, entry)

def die_with_some_files_moved(journal, entry):
    left = iter(range(3))
    Place.move = lambda place, target: move(place, target) if next(left, None) is not None else die()
    publish(journal, entry)

def die_behind_the_commit(journal, entry):
    commit(journal, entry)
    die()

moment = sys.argv[1]
if moment == "before":
    Journal.commit = die_before_the_entry_has_its_name
elif moment == "during":
    Journal.publish = die_with_some_files_moved
elif moment == "after":
    Journal.commit = die_behind_the_commit
sys.exit(main(sys.argv[2:]))
"""


@contextlib.contextmanager
def warm_jvm() -> Iterator[Callable[[list[str]], int]]:
    """Runs Python drivers one after the other beside one JVM, as spark-submit starts them: exit codes. A driver has a
    process of its own; what it leaves in the JVM is stopped behind it, as with a JVM that ends with its driver."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False).set("spark.driver.extraJavaOptions", " ".join(BRIEF))
    gateway = launch_gateway(conf, {"stderr": subprocess.DEVNULL})  # type: ignore[no-untyped-call]
    known = gateway.java_parameters
    there = {"PYSPARK_GATEWAY_PORT": str(known.port), "PYSPARK_GATEWAY_SECRET": known.auth_token}

    def drive(command: list[str]) -> int:
        code = subprocess.run(command, env=os.environ | there, timeout=220, check=False).returncode
        gateway.jvm.org.apache.spark.SparkContext.getOrCreate().stop()
        return code

    try:
        yield drive
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)


@pytest.mark.timeout(900)
def test_a_driver_killed_before_during_and_after_a_commit(
    spark: Any, samples: Path, tmp_path: Path, output: Path
) -> None:
    """Four drivers, each going on with what the one before left; the tables are those of one batch run."""
    need_java()
    paths = rotated(samples, tmp_path, 3, "java44-consume-classic.pcap")
    source = tmp_path / "in"
    source.mkdir()

    def driven(moment: str, number: int) -> tuple[int, int]:
        for at, path in enumerate(paths[:number]):
            if path.exists():
                path.rename(source / path.name)
                os.utime(source / path.name, (100 + at, 100 + at))
        words = ["pipeline", "run", "--input", str(source), "--output", str(output), "--stream", "--every", "1"]
        words += ["--settle", "0", "--idle", "3", "--master", "local[2]", "--quiet"]
        return drive([sys.executable, "-c", MORTAL, moment, *words]), Journal(str(output)).last

    killed = -signal.SIGKILL
    with warm_jvm() as drive:
        assert driven("before", 1) == (killed, 0)
        assert list((output / "_kcli" / "journal").glob("*.part*"))
        assert driven("during", 1) == (killed, 1)
        assert list((output / "_kcli" / "runs").iterdir())
        assert driven("after", 2) == (killed, 2)
        assert driven("never", 3) == (0, 3)
    batch = tmp_path / "batch"
    run_pipeline(spark, [str(source)], Options(str(batch)))
    for table in TABLES.keys() - {"lineage"}:
        assert counted(output, table) == counted(batch, table), table
    assert counted(output, "exchanges")
    assert counted(output, "fetch_sessions")
    assert unaccounted(output) == 0
    assert not list((output / "_kcli" / "runs").glob("*"))


def counted(output: Path, table: str) -> Counter[str]:
    return Counter(str(sorted(row.items())) for row in rows_of(output, table))
