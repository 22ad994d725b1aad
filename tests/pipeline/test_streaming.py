"""Captures as they come: each once, also when a batch is done again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from kcli.pipeline import run
from kcli.pipeline.context import Options
from kcli.pipeline.journal import Journal
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.streaming import stream
from kcli.pipeline.tables import TABLES
from kcli.pipeline.watching import Watch
from tests.pipeline.outputs import assert_decoded, rows_of, settled, unaccounted
from tests.pipeline.test_run import rotated


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
            stream(spark, [str(source)], Options(str(output)), Watch(1, settle=0, idle=4))
    assert Journal(str(output)).last == 1
    place(paths[1], 101)
    place(paths[2], 102)
    made = stream(spark, [str(source)], Options(str(output)), Watch(1, settle=0, idle=4))
    assert made.files == 2
    assert_decoded(output, [samples / "java44-txn.pcap"])
    assert unaccounted(output) == 0


# kcli with a driver that is killed (SIGKILL, by itself, so that it is at that very moment).
MORTAL = """
import os, signal, sys
from kcli.cli.main import main
from kcli.pipeline.formats.delta_log import DeltaLog
from kcli.pipeline.journal import Journal
from kcli.pipeline.storage import StoragePath

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def mortal(done, times):
    left = iter(range(times))
    return lambda *given, **more: done(*given, **more) if next(left, None) is not None else die()

commit = Journal.commit

def die_behind_the_commit(journal, entry):
    commit(journal, entry)
    die()

moment = sys.argv[1]
if moment == "moving":
    StoragePath.move = mortal(StoragePath.move, 3)
elif moment == "between tables":
    DeltaLog.set_to = mortal(DeltaLog.set_to, 5)
elif moment == "after":
    Journal.commit = die_behind_the_commit
sys.exit(main(sys.argv[2:]))
"""


def test_a_driver_killed_before_between_and_after_commits(samples: Path, tmp_path: Path, output: Path) -> None:
    """Four drivers, each going on with what the one before left; the tables are those of one batch run.

    Spark has no part in this, and would only take longer to start.
    """
    paths = rotated(samples, tmp_path, 3, "java44-consume-classic.pcap")
    source = tmp_path / "in"
    source.mkdir()

    def driven(moment: str, number: int) -> tuple[int, int]:
        for at, path in enumerate(paths[:number]):
            if path.exists():
                path.rename(source / path.name)
                os.utime(source / path.name, (100 + at, 100 + at))
        words = ["pipeline", "run", "--input", str(source), "--output", str(output), "--stream", "--every", "1"]
        words += ["--settle", "0", "--idle", "0", "--engine", "local", "--quiet"]
        done = subprocess.run([sys.executable, "-c", MORTAL, moment, *words], check=False)
        return done.returncode, Journal(str(output)).last

    killed = -signal.SIGKILL
    assert driven("moving", 1) == (killed, 0)
    assert list((output / "_kcli" / "runs").iterdir())
    assert driven("between tables", 1) == (killed, 0)
    assert rows_of(output, "exchanges") and not DeltaTable(output / "runs").file_uris()
    assert driven("after", 2) == (killed, 2)  # the one that died between tables was the first
    assert driven("never", 3) == (0, 3)
    batch = tmp_path / "batch"
    run_pipeline(LocalEngine(), [str(source)], Options(str(batch)))
    for table in TABLES.keys() - {"lineage"}:
        assert counted(output, table) == counted(batch, table), table
    assert counted(output, "exchanges")
    assert counted(output, "fetch_sessions")
    assert unaccounted(output) == 0
    assert not list((output / "_kcli" / "runs").glob("*"))


def counted(output: Path, table: str) -> Counter[str]:
    return Counter(str(sorted(settled(row).items())) for row in rows_of(output, table))
