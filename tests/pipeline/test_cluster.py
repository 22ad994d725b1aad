"""A standalone cluster out of PySpark's own jars: a master and two workers, each a process. They have to be sent kcli,
since their Python has none; and one of them is killed."""

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
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import kcli
from kcli.pipeline.spark import BRIEF
from tests.capture.wires import Wire, pcap
from tests.pipeline.conftest import INTERPRETED, need_java
from tests.pipeline.outputs import assert_decoded, rows_of, unaccounted
from tests.processes import ended

pyspark = pytest.importorskip("pyspark")

JARS = Path(pyspark.__file__).parent / "jars"
# There is little to do, for the JVMs and for queries; an executor has a core.
SMALL = {
    "spark.executor.extraJavaOptions": " ".join(BRIEF),
    **INTERPRETED,
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    "spark.cores.max": "1",
}


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


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """Two workers."""
    need_java()
    made = Standalone(tmp_path_factory.mktemp("cluster"))
    try:
        made.add_worker()
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


# Runs in one process, whose JVM is warm after the first; each has a Spark application of its own.
DRIVER = """
import contextlib, io, json, os, sys
from pyspark.sql import SparkSession
from kcli.cli.main import main

ended = []
for python, words in json.loads(sys.argv[1]):
    os.environ["PYSPARK_PYTHON"] = python
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(words)
    SparkSession.getActiveSession().stop()
    ended.append((code, said.getvalue()))
print(json.dumps(ended))
"""


def words_of(names: Sequence[Path], output: Path, url: str, **conf: str) -> list[str]:
    """Of a run. What the first of a driver's runs has for --conf holds for all that have no other."""
    words = ["pipeline", "run", "--output", str(output), "--master", url, "--shares", "6"]
    words += [word for name in names for word in ("--input", str(name))]
    return words + [word for pair in (SMALL | conf).items() for word in ("--conf", "=".join(pair))]


@pytest.mark.timeout(900)
def test_workers_are_sent_kcli_and_one_dies(cluster: Standalone, samples: Path, tmp_path: Path) -> None:
    """Both ways of docs/how-to/pipeline.md to send it, and without either it is one line that says so. The last run
    loses a worker on the way, and its tables are whole."""
    bare = python_without_kcli(tmp_path / "bare")
    asked = subprocess.run([bare, "-c", "import pyarrow, kcli"], env=ENVIRONMENT, cwd=tmp_path, capture_output=True)
    if asked.returncode == 0:
        pytest.skip("kcli is installed here as a copy: no Python without it can be made")
    assert b"No module named 'kcli'" in asked.stderr
    name, names, url = samples / "java44-txn.pcap", captures(samples, tmp_path), cluster.url
    package, whole = package_of_kcli(tmp_path), environment_with_kcli(tmp_path)
    sent = {"spark.archives": f"{package}#kcli", "spark.executorEnv.PYTHONPATH": "kcli", "spark.cores.max": "2"}
    output = tmp_path / "two"
    runs = (
        (str(bare), words_of([name], tmp_path / "none", url)),
        ("./env/bin/python", words_of([name], tmp_path / "one", url, **{"spark.archives": f"{whole}#env"})),
        (str(bare), words_of(names, output, url, **sent)),
    )
    command = [sys.executable, "-c", DRIVER, json.dumps(runs)]
    with ended(subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)) as driver:
        wait_for_rows(output, driver)
        victim = cluster.started[1].process
        victim.send_signal(signal.SIGKILL)
        assert driver.stdout is not None
        none, one, two = json.loads(driver.stdout.read())
    assert victim.wait() == -signal.SIGKILL
    assert (none[0], none[1].count("\n")) == (2, 1), none
    assert none[1].startswith("kcli: the workers' Python has no kcli")
    for folder, paths, (code, said) in ((tmp_path / "one", [name], one), (output, names, two)):
        assert code == 0, said
        assert_decoded(folder, paths)
        assert unaccounted(folder) == 0
        assert rows_of(folder, "clients")
    assert two[1].startswith("3 captures, ")


def wait_for_rows(output: Path, driver: subprocess.Popen[str]) -> None:
    """Until the run is in its second stage: some task has begun to write rows."""
    until = time.monotonic() + 800
    while not list((output / "_kcli" / "runs").glob("*/exchanges/*/*")):
        assert driver.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
