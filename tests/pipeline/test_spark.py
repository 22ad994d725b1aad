"""The session, and work handed out."""

from pathlib import Path
from typing import Any

import pytest

from kcli.errors import UsageError
from kcli.named_file import NamedFile
from kcli.pipeline import spark as module
from kcli.pipeline.spark import check_master, hand_out, log_beside, session


def test_results_come_in_the_order_of_the_tasks(spark: Any) -> None:
    ready: list[int] = []
    assert hand_out(spark, [3, 1, 2], lambda number: {"square": number**2}, ready.append) == [
        {"square": 9}, {"square": 1}, {"square": 4},
    ]  # fmt: skip
    assert hand_out(spark, [], str) == []


def test_a_full_disk_is_told_as_such(spark: Any) -> None:
    def write(number: int) -> None:
        with NamedFile("/dev/full", "fleet/part") as out:
            out.write(bytes(number))

    with pytest.raises(OSError, match="No space left on device: 'fleet/part'"):
        hand_out(spark, [1 << 20], write)


def test_nothing_in_the_folder_it_was_started_in_is_executed(spark: Any) -> None:
    """Neither by Spark's workers nor by the daemon that starts them, which are in that folder."""
    folders = hand_out(spark, [1, 2], lambda _: str(Path.cwd()), lambda _: None)
    frame = spark.range(1).mapInArrow(lambda batches: batches, "id bigint")
    assert frame.count() == 1
    for folder in map(Path, folders):
        assert (folder / "pyarrow.py").exists()
        assert not (folder / "canary").exists(), (folder / "canary").read_text()


def test_the_session_under_way_is_taken(spark: Any) -> None:
    assert session("local[7]") is spark


def test_what_is_no_master_is_one_line_without_a_jvm() -> None:
    for master in ("single", "localhost:7077", "local[x]", "local[]", "yarn-client", ""):
        with pytest.raises(UsageError, match=r"--master .*: local, "):
            check_master(master)
    for master in ("local", "local[*]", "local[2]", "local[2,3]", "local-cluster[2,1,1024]", "spark://h:7077", "yarn"):
        check_master(master)
    check_master("k8s://https://h:6443")


def test_without_java_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    with pytest.raises(UsageError, match="needs Java 17 or newer"):
        module.check_java()


def test_what_children_say_goes_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import subprocess

    with module.stderr_to(str(tmp_path / "deep" / "log")):
        subprocess.run(["sh", "-c", "echo noise >&2"], check=True)
    assert (tmp_path / "deep" / "log").read_text() == "noise\n"
    assert capfd.readouterr().err == ""


def test_the_log_of_a_remote_output_is_none() -> None:
    assert log_beside("s3://bucket/x") == "/dev/null"
    assert log_beside("out") == "out/_kcli/spark.log"


INTERRUPTED_START = """
import sys
from types import SimpleNamespace
from pyspark import java_gateway
from kcli.pipeline.spark import session

def interrupt(_):
    raise KeyboardInterrupt

started, make = [], java_gateway.Popen
java_gateway.Popen = lambda *args, **options: started.append(make(*args, **options)) or started[-1]
java_gateway.time = SimpleNamespace(sleep=interrupt)
try:
    session("local[1]")
except KeyboardInterrupt:
    print(started[0].wait(20))
"""


def test_a_jvm_whose_start_is_interrupted_does_not_stay() -> None:
    """It would stay for ever: PySpark removes the folder into which it is to write its port."""
    import subprocess
    import sys

    command = [sys.executable, "-c", INTERRUPTED_START]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "-9\n", done.stderr
