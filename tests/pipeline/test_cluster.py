"""A standalone cluster out of PySpark's own jars: a master and two workers, each a process; one of them is killed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.capture.wires import Wire, pcap
from tests.pipeline.conftest import need_java
from tests.pipeline.outputs import assert_decoded, rows_of, unaccounted

pyspark = pytest.importorskip("pyspark")

JARS = Path(pyspark.__file__).parent / "jars"
KCLI = [sys.executable, "-m", "kcli.cli"]


class Process:
    """One of the cluster's, with its output in a file."""

    def __init__(self, folder: Path, name: str, *words: str) -> None:
        self.log = folder / f"{name}.log"
        java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if os.environ.get("JAVA_HOME") else "java"
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*"]
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [java, *options, *words], stdout=out, stderr=out, cwd=folder, env=ENVIRONMENT
            )

    def says(self, pattern: str) -> re.Match[str]:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            found = re.search(pattern, self.log.read_text())
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(self.log.read_text()[-2000:])

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


ENVIRONMENT = {
    **os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(JARS.parent),
    "SPARK_SCALA_VERSION": "2.13",
}  # fmt: skip
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[Process]]]:
    """The master's URL, and two workers with a core each."""
    folder.mkdir()
    started = [Process(folder, "master", MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")]
    try:
        url = started[0].says(r"spark://127.0.0.1:\d+")[0]
        for number in range(2):
            words = (
                WORKER,
                "-c",
                "1",
                "-m",
                "700m",
                "--host",
                "127.0.0.1",
                "--webui-port",
                "0",
                "-d",
                str(folder / "work"),
                url,
            )
            started.append(Process(folder, f"worker-{number}", *words))
        for worker in started[1:]:
            worker.says("Successfully registered")
        yield url, started[1:]
    finally:
        for process in reversed(started):
            process.stop()


def captures(samples: Path, tmp_path: Path) -> list[Path]:
    """Real ones, and one that gives each worker something to do."""
    data = (samples / "kcat-codecs.pcap").read_bytes()
    assert data[:4] == b"\xd4\xc3\xb2\xa1"
    path = tmp_path / "long.pcap"
    packets = []
    for port in range(40_000, 40_250):
        wire = Wire(client=("10.0.0.1", port)).open()
        for number in range(20):
            asked, told = exchange(number)
            wire.client(asked).server(told)
        packets += wire.close().packets
    path.write_bytes(pcap(packets))
    return [samples / "kcat-codecs.pcap", samples / "java44-txn.pcap", path]


def exchange(number: int) -> tuple[bytes, bytes]:
    from tests.capture.messages import metadata

    return metadata(number)


def test_a_worker_dies_and_the_tables_are_whole(samples: Path, tmp_path: Path, output: Path) -> None:
    need_java()
    paths = captures(samples, tmp_path)
    with cluster(tmp_path / "cluster") as (url, workers):
        words = [*KCLI, "pipeline", "run", "--output", str(output), "--master", url, "--shares", "6"]
        words += ["--conf", "spark.executor.memory=600m", "--conf", "spark.executor.cores=1"]
        words += [word for path in paths for word in ("--input", str(path))]
        with subprocess.Popen(words, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as run:
            wait_for_rows(output, run)
            victim: Any = workers[0].process
            victim.send_signal(signal.SIGKILL)
            assert run.stderr is not None
            said = run.stderr.read()
        assert run.returncode == 0, said
    assert victim.returncode in (-signal.SIGKILL, None)
    assert_decoded(output, paths)
    assert unaccounted(output) == 0
    assert rows_of(output, "clients")
    assert said.startswith("3 captures, ")


def wait_for_rows(output: Path, run: subprocess.Popen[str]) -> None:
    """Until the run is in its second stage: some task has begun to write rows."""
    until = time.monotonic() + 90
    while not list((output / "_kcli" / "runs").glob("*/exchanges/*/*")):
        assert run.poll() is None, run.stderr and run.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.02)
