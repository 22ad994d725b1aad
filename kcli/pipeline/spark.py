"""A Spark session that starts quietly, and tasks for its workers."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kcli.errors import InputError, UsageError
from kcli.extras import require
from kcli.temporary import lasting_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BRIEF_BYTES = 64 << 20  # bytes of input; for less, Spark's start takes most of the time
HOPELESS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}  # a full or read-only disk
LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n
"""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.sql.shuffle.partitions": "4",
    "spark.python.worker.reuse": "true",
    "spark.task.maxFailures": "4",
    "spark.executorEnv.PYTHONSAFEPATH": "1",  # workers import nothing from their working folder
}

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
NO_KCLI = "the workers' Python has no kcli: install it there, or send it along (docs/how-to/pipeline.md, On a cluster)"
BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # halve the CPU time of a run over samples/


MASTER = re.compile(r"local(\[(\*|\d+)(,\s*\d+)?\]|-cluster\[.*\])?|(spark|k8s)://.+|yarn")


def session(
    master: str | None = None,
    *,
    app: str = "kcli pipeline",
    log: str | None = None,
    settings: dict[str, str] | None = None,
    brief: bool = False,
) -> SparkSession:
    """Return the active session, or a new one. Raises UsageError if Spark or Java is missing.

    master: as `spark-submit --master`; None: the one of spark-submit or SPARK_MASTER, else local[*]; log: a file for
    the messages of Spark and its workers on standard error; None: they stay there; brief: there is little to do, so
    that the JVM should not spend time on optimizing
    """
    require("kcli pipeline", "spark")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    chosen = master or os.environ.get("SPARK_MASTER") or ("local[*]" if not submitted() else None)
    if chosen is not None:
        check_master(chosen)
    check_java()
    builder = SparkSession.builder.appName(app)
    wanted = {**SETTINGS, **(settings or {})}
    for name, value in wanted.items():
        builder = builder.config(name, value)
    if chosen is not None:
        builder = builder.master(chosen)
    folder = Path(lasting_folder("kcli-spark-"))
    (folder / "log4j2.properties").write_text(LOGGING)
    options = [f"-Dlog4j2.configurationFile=file:{folder}/log4j2.properties", "-XX:-UsePerfData"]
    options += BRIEF if brief else ()
    options += [wanted[JAVA_OPTIONS]] if JAVA_OPTIONS in wanted else []
    builder = builder.config(JAVA_OPTIONS, " ".join(options))
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONSAFEPATH"] = "1"  # as in SETTINGS, for processes that the JVM starts by itself
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1") if (chosen or "").startswith("local") else None
    with stderr_to(log), ended_where_interrupted():
        made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def check_master(master: str) -> None:
    """Raise UsageError for a text that Spark would not accept as a master, because its JVM would end with a stack
    trace.
    """
    if not MASTER.fullmatch(master):
        raise UsageError(f"--master {master}: local, local[N], local[*], spark://HOST:PORT, yarn or k8s://URL expected")


def log_beside(output: str) -> str | None:
    """Return the file for Spark's own messages, below the output folder; for a remote one /dev/null."""
    return "/dev/null" if "://" in output else str(Path(output) / "_kcli" / "spark.log")


def submitted() -> bool:
    """Return whether spark-submit started this process, and chose the master."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if submitted() or (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    raise UsageError("kcli pipeline needs Java 17 or newer: no java in PATH, and no JAVA_HOME")


@contextlib.contextmanager
def stderr_to(log: str | None) -> Iterator[None]:
    """Redirect standard error to the log for processes that are started here: the JVM and its workers."""
    if log is None:
        yield
        return
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def ended_where_interrupted() -> Iterator[None]:
    """End the JVM if its start is interrupted, because PySpark has then removed the folder for its port and the JVM
    would stay.
    """
    from pyspark import SparkContext
    from pyspark import java_gateway as found

    gateway, started = cast(Any, found), list[Any]()
    make = gateway.Popen

    def start(*args: Any, **options: Any) -> Any:
        started.append(make(*args, **options))
        return started[-1]

    gateway.Popen = start
    try:
        yield
    except KeyboardInterrupt:
        if SparkContext._gateway is None:  # otherwise the JVM ends with this process
            for process in started:
                process.kill()
                process.wait()
        raise
    finally:
        gateway.Popen = make


def hand_out(
    spark: SparkSession,
    tasks: Sequence[Any],
    work: Callable[[Any], Any],
    done: Callable[[int], None] = lambda count: None,
) -> list[Any]:
    """Return work(task) of each task, in order; each is a Spark task of its own. done: called with the number of
    finished tasks.

    Tasks go to Spark as pickled values of an RDD, so that each worker gets only its own task and no query is planned.
    """
    if not tasks:
        return []
    from pyspark import cloudpickle

    context = spark.sparkContext
    values = context.parallelize([cloudpickle.dumps(task) for task in tasks], len(tasks))  # type: ignore[no-untyped-call]
    results = []
    for result in collected(spark, values.map(working(work)), done):
        results.append(pickle.loads(result))
        if isinstance(results[-1], InputError | OSError):
            raise results[-1]
    return results


def working(work: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """Return a function that runs a pickled task and returns its pickled result."""

    def run(task: bytes) -> bytes:
        return pickle.dumps(tried(work, pickle.loads(task)))

    return run


def tried(work: Callable[[Any], Any], task: Any) -> Any:
    """Return the result of a task, or an error of its input or of a disk, because a retry would not help."""
    try:
        return work(task)
    except InputError as error:
        return InputError(error.text, file=error.file)
    except OSError as error:
        if error.errno not in HOPELESS:
            raise
        return OSError(error.errno, error.strerror, error.filename)


def collected(spark: SparkSession, values: Any, done: Callable[[int], None]) -> Any:
    """Collect an RDD's values, while a thread reports the progress. Raises UsageError if the workers have no kcli."""
    import threading

    context = spark.sparkContext
    group = f"kcli-{os.urandom(4).hex()}"
    context.setJobGroup(group, "kcli pipeline")
    over = threading.Event()

    def watch() -> None:
        tracker = context.statusTracker()
        while not over.wait(0.2):
            stages = [
                tracker.getStageInfo(each) for job in tracker.getJobIdsForGroup(group) for each in info(tracker, job)
            ]
            done(sum(stage.numCompletedTasks for stage in stages if stage is not None))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        return values.collect()
    except Exception as error:
        if "No module named 'kcli'" in str(error):
            raise UsageError(NO_KCLI) from None
        raise
    finally:
        over.set()
        thread.join()


def info(tracker: Any, job: int) -> list[int]:
    found = tracker.getJobInfo(job)
    return list(found.stageIds) if found is not None else []
