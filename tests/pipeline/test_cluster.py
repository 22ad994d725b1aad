"""A standalone cluster out of PySpark's own jars: a master and two workers, each a process. One of them is killed; and
one has to be sent kcli, since its Python has none."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kcli
from kcli.pipeline.spark import BRIEF
from tests.capture.wires import Wire, pcap
from tests.pipeline.conftest import INTERPRETED, need_java
from tests.pipeline.outputs import assert_decoded, rows_of, unaccounted
from tests.processes import ended

pyspark = pytest.importorskip("pyspark")

JARS = Path(pyspark.__file__).parent / "jars"
KCLI = [sys.executable, "-m", "kcli.cli"]
# There is little to do, for the JVMs and for queries.
SMALL = [
    "spark.executor.extraJavaOptions=" + " ".join(BRIEF),
    *(f"{name}={text}" for name, text in INTERPRETED.items()),
]
MEMORY = "spark.executor.memory=600m"


class Process:
    """One of the cluster's, with its output in a file."""

    def __init__(self, folder: Path, name: str, *words: str, environment: dict[str, str]) -> None:
        self.log = folder / f"{name}.log"
        java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if os.environ.get("JAVA_HOME") else "java"
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*"]
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [java, *options, *words], stdout=out, stderr=out, cwd=folder, env=environment
            )

    def says(self, pattern: str) -> re.Match[str]:
        until = time.monotonic() + 120
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
    **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(JARS.parent),
    "SPARK_SCALA_VERSION": "2.13",
}  # fmt: skip
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"


class Standalone:
    """A master, and workers with a core each; `url` is the master's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Process] = []
        self.url = self.start("master", MASTER, "--port", "0").says(r"spark://127.0.0.1:\d+")[0]

    def add_worker(self) -> Process:
        words = ("-c", "1", "-m", "700m", "-d", str(self.folder / "work"), self.url)
        worker = self.start(f"worker-{len(self.started)}", WORKER, *words)
        worker.says("Successfully registered")
        return worker

    def start(self, name: str, kind: str, *words: str) -> Process:
        here = ("--host", "127.0.0.1", "--webui-port", "0")
        self.started.append(Process(self.folder, name, kind, *here, *words, environment=ENVIRONMENT))
        return self.started[-1]

    def stop(self) -> None:
        for process in reversed(self.started):
            process.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """One worker; tests may add others, and the last one kills them."""
    need_java()
    made = Standalone(tmp_path_factory.mktemp("cluster"))
    try:
        made.add_worker()
        yield made
    finally:
        made.stop()


def captures(samples: Path, tmp_path: Path) -> list[Path]:
    """Real ones, and one that gives each worker something to do."""
    data = (samples / "kcat-codecs.pcap").read_bytes()
    assert data[:4] == b"\xd4\xc3\xb2\xa1"
    path = tmp_path / "long.pcap"
    packets = []
    for port in range(40_000, 40_250):
        wire = Wire(client=("10.0.0.1", port)).open()
        for number in range(20):
            asked, answer = exchange(number)
            wire.client(asked).server(answer)
        packets += wire.close().packets
    path.write_bytes(pcap(packets))
    return [samples / "kcat-codecs.pcap", samples / "java44-txn.pcap", path]


def exchange(number: int) -> tuple[bytes, bytes]:
    from tests.capture.messages import metadata

    return metadata(number)


KCLI_FOLDER = Path(kcli.__file__).parent


def python_without_kcli(folder: Path) -> Path:
    """A virtual environment that has all that this one has, but what is installed as a link: kcli."""
    venv.create(folder, with_pip=False)
    others = "\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    (site_of(folder) / "others.pth").write_text(others)
    return folder / "bin" / "python"


def site_of(folder: Path) -> Path:
    (found,) = folder.glob("lib/python*/site-packages")
    return found


def environment_with_kcli(folder: Path) -> Path:
    """What venv-pack would make, save that the dependencies are where they are."""
    python_without_kcli(folder / "env")
    copy_kcli(site_of(folder / "env"))
    with tarfile.open(folder / "env.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(folder / "env", ".")
    return folder / "env.tar.gz"


def package_of_kcli(folder: Path) -> Path:
    """The package alone, its compiled core with it."""
    copy_kcli(folder / "package")
    return Path(shutil.make_archive(str(folder / "kcli"), "zip", folder / "package"))


def copy_kcli(target: Path) -> None:
    shutil.copytree(KCLI_FOLDER, target / "kcli", ignore=shutil.ignore_patterns("__pycache__", "*.pyx", "*.c"))


@pytest.mark.timeout(600)
def test_workers_without_kcli_are_sent_it(cluster: Standalone, samples: Path, tmp_path: Path) -> None:
    """Both ways of docs/how-to/pipeline.md; and without either it is one line that says so."""
    bare = python_without_kcli(tmp_path / "bare")
    asked = subprocess.run([bare, "-c", "import pyarrow, kcli"], env=ENVIRONMENT, cwd=tmp_path, capture_output=True)
    if asked.returncode == 0:
        pytest.skip("kcli is installed here as a copy: no Python without it can be made")
    assert b"No module named 'kcli'" in asked.stderr
    name = samples / "java44-txn.pcap"
    package, whole = package_of_kcli(tmp_path), environment_with_kcli(tmp_path)
    url, confs = cluster.url, (MEMORY, *SMALL)
    package_confs = (f"spark.archives={package}#kcli", "spark.executorEnv.PYTHONPATH=kcli")
    none, one, two = one_after_the_other(
        arguments(name, tmp_path / "none", url, str(bare), *confs),
        arguments(name, tmp_path / "one", url, "./env/bin/python", *confs, f"spark.archives={whole}#env"),
        arguments(name, tmp_path / "two", url, str(bare), *confs, *package_confs),
    )
    assert (none[0], none[1].count("\n")) == (2, 1), none
    assert none[1].startswith("kcli: the workers' Python has no kcli")
    for output, (code, said) in ((tmp_path / "one", one), (tmp_path / "two", two)):
        assert code == 0, said
        assert_decoded(output, [name])
    assert rows_of(tmp_path / "two", "clients")


# Runs in one process, whose JVM is warm after the first; each has a Spark application of its own. The tables that look
# across connections are made by the last one only: each takes longer than all the rest.
DRIVER = """
import contextlib, io, json, os, sys
from pyspark.sql import SparkSession
from kcli.cli.main import main
from kcli.pipeline import run

ended, runs, derive = [], json.loads(sys.argv[1]), run.derive_tables
for python, words in runs:
    os.environ["PYSPARK_PYTHON"] = python
    run.derive_tables = derive if words is runs[-1][1] else lambda *_: None
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(words)
    SparkSession.getActiveSession().stop()
    ended.append((code, said.getvalue()))
print(json.dumps(ended))
"""
Ended = tuple[int, str]


def arguments(name: Path, output: Path, url: str, python: str, *confs: str) -> tuple[str, list[str]]:
    """The workers' Python, and the words of the run."""
    words = ["pipeline", "run", "--input", str(name), "--output", str(output), "--master", url]
    return python, [*words, *(word for conf in confs for word in ("--conf", conf))]


def one_after_the_other(*runs: tuple[str, list[str]]) -> list[Ended]:
    """How each ended, and what it said. The first is what Spark's JVM is started for: its --conf hold for all."""
    command = [sys.executable, "-c", DRIVER, json.dumps(runs)]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True)
    return [(code, said) for code, said in json.loads(done.stdout)]


@pytest.mark.timeout(600)
def test_a_worker_dies_and_the_tables_are_whole(
    cluster: Standalone, samples: Path, tmp_path: Path, output: Path
) -> None:
    """The last one here, as the worker that all have is gone then."""
    paths = captures(samples, tmp_path)
    cluster.add_worker()
    words = [*KCLI, "pipeline", "run", "--output", str(output), "--master", cluster.url, "--shares", "6"]
    words += [word for conf in (MEMORY, "spark.executor.cores=1", *SMALL) for word in ("--conf", conf)]
    words += [word for path in paths for word in ("--input", str(path))]
    with ended(subprocess.Popen(words, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)) as run:
        wait_for_rows(output, run)
        victim: Any = cluster.started[1].process
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
    until = time.monotonic() + 300
    while not list((output / "_kcli" / "runs").glob("*/exchanges/*/*")):
        assert run.poll() is None, run.stderr and run.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.02)
