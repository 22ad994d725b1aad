"""The pipeline: `kcli pipeline run` beside `kcli decode pcap`, on one core and two.

    python -m benchmarks.bench_pipeline [MEGABYTES]        default: 200 (1000 and more for figures that last)

"one core": the work of a run on one core, and that of both stages as runs on more cores do it, in one process, warmed
up as the command is, by its CPU time, against `kcli decode pcap`'s; the best of some rounds each, in turn. "fewer
tables": of the work on one core, those tables alone that kcli 0.1.0 had. "memory": the greatest resident size of the
second, here and with four times the bytes. "run": wall time on Spark, its workers warmed up, on
one core and on two, without the tables that look across connections. "tshark": `-T ek` of a small part and Spark's
JSON reader over it, and whether both count the same exchanges of each API.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.bench_pcap import CASES, SAMPLES, SMALL, TESTS
from benchmarks.grow import grow
from benchmarks.turns import turn

ROUNDS = 3
WARM = SAMPLES / "kcat-codecs.pcap"
EK_BYTES = 3_000_000
# As `kcli` itself starts.
PREPARED = """
from kcli.cli.__main__ import prepare
prepare()
"""
FEWER = (
    "client_uses", "connection_sums", "down_conversions", "exchanges", "fetch_frames", "fetch_partitions",
    "noted_exchanges", "outcomes", "produce_partitions", "record_batches", "remote_fetches", "snapshot_parts",
    "topic_names", "undecodable",
)  # fmt: skip

STAGES = """
import resource, sys, time
from functools import partial
from kcli.pipeline.packets.decoding import Portion, decode
from kcli.pipeline.packets.ranges import Range
from kcli.pipeline.packets.reading import Reading
from kcli.pipeline.packets.shuffle import Dealing, shuffle_ranges
def stages(path, folder, shares=4):
    start = time.process_time()
    (made,) = shuffle_ranges([Range(path, 0)], 0, Dealing(shares, folder + "/staging", refer=True))
    middle = time.process_time()
    for share in range(shares):
        slices = [each.whole for each in made.staged if each.share == share]
        decode(Portion(share, partial(Reading, slices=slices)), folder + "/rows")
    return middle - start, time.process_time() - middle
path, folder, warm = sys.argv[1:]
stages(warm, folder + "/warm")
print(*stages(path, folder), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

WHOLE = """
import os, resource, sys, time
from kcli.pipeline.storage import StoredFile
from kcli.pipeline.packets.decoding import DecodingOptions
from kcli.pipeline.packets.direct_decode import DirectDecode
def whole(path, folder):
    start = time.process_time()
    DirectDecode((StoredFile(path, os.stat(path).st_size, 0),)).decode(folder, options)
    return time.process_time() - start
path, folder, warm, *wanted = sys.argv[1:]
options = DecodingOptions(wanted=frozenset(wanted)) if wanted else DecodingOptions()
whole(warm, folder + "/warm")
print(whole(path, folder + "/rows"), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

ONE = """
import sys, time
from kcli.capture.decoder import decode
from kcli.capture.sinks import LineSink
def lines(path):
    start = time.process_time()
    with open("/dev/null", "wb") as out:
        decode([path], LineSink(out.write))
    return time.process_time() - start
lines(sys.argv[2])
print(lines(sys.argv[1]))
"""


def printed(script: str, *words: str) -> list[float]:
    turn()
    done = subprocess.run([sys.executable, "-c", PREPARED + script, *words], capture_output=True, text=True, check=True)
    return [float(each) for each in done.stdout.split()]


def worked(script: str, path: Path, folder: Path, *more: str) -> list[float]:
    """CPU seconds (of sorting and of decoding, or of both at once), peak memory in kilobytes; what was written stays in
    folder/stages."""
    shutil.rmtree(folder / "stages", ignore_errors=True)
    return printed(script, str(path), str(folder / "stages"), str(WARM), *more)


def stages(name: str, path: Path, folder: Path) -> None:
    size = path.stat().st_size / 1e6
    alone, whole, fewer, rounds = [], [], [], []
    for _ in range(ROUNDS):
        alone += printed(ONE, str(path), str(WARM))
        whole.append(worked(WHOLE, path, folder))
        fewer.append(worked(WHOLE, path, folder, *FEWER))
        rounds.append(worked(STAGES, path, folder))
    one, (all_at_once, peak) = min(alone), min(whole)
    first, second, _ = min(rounds, key=lambda each: each[0] + each[1])
    answer = (
        f"{name:<16} {size:6.0f} MB   decode pcap {size / one:6,.0f} MB/s   one core {size / all_at_once:6,.0f} MB/s"
    )
    answer += f" {one / all_at_once:.2f}x, {peak / 1000:,.0f} MB   in stages {size / (first + second):6,.0f} MB/s"
    answer += f" (sorting {size / first:,.0f}, decoding {size / second:,.0f}) {one / (first + second):.2f}x"
    print(answer, flush=True)
    print(f"{'':<16} fewer tables: one core {size / min(fewer)[0]:6,.0f} MB/s", flush=True)


RUN = """
import sys, time
from kcli.pipeline import run
from kcli.pipeline.spark_engine import SparkEngine
from kcli.pipeline.spark import session
cores, output, warm, path = int(sys.argv[1]), *sys.argv[2:]
spark = session(f"local[{cores}]", log="/dev/null")
run.derive_tables = lambda *_: None
run.run_pipeline(SparkEngine(spark), [warm], run.Options(output + "/warm", shares=4 * cores))
start = time.perf_counter()
run.run_pipeline(SparkEngine(spark), [path], run.Options(output + "/tables"))
print(time.perf_counter() - start)
"""


def run(path: Path, folder: Path, cores: int) -> float:
    """Wall seconds of both stages on Spark, its workers warmed up."""
    took = printed(RUN, str(cores), str(folder / "out"), str(WARM), str(path))[0]
    shutil.rmtree(folder / "out")
    return took


def cores(path: Path, folder: Path) -> None:
    one, two = (min(run(path, folder, count) for _ in range(2)) for count in (1, 2))
    size = path.stat().st_size / 1e6
    print(f"{'run':<16} {size:6.0f} MB   1 core {one:6.1f} s   2 cores {two:6.1f} s   {one / two:.2f}x", flush=True)


def memory(path: Path, folder: Path) -> None:
    peaks = []
    for copies in (1, 4):
        grown = folder / "grown.pcap"
        grow(SMALL, 1448, copies * path.stat().st_size // 2, grown)
        peaks.append(worked(STAGES, grown, folder)[2] / 1000)
    print(f"{'memory':<16} a worker {peaks[0]:.0f} MB; with four times the bytes {peaks[1]:.0f} MB", flush=True)


EK = """
import json, sys, time
from kcli.pipeline.spark import session
spark = session("local[2]", log="/dev/null")
start = time.perf_counter()
layers = "layers struct<kafka: struct<kafka_kafka_api_key: string, kafka_kafka_api_version: string>>"
requests = spark.read.schema(layers).json(sys.argv[1]).where("layers.kafka.kafka_kafka_api_version IS NOT NULL")
rows = requests.groupBy("layers.kafka.kafka_kafka_api_key").count().collect()
print(json.dumps([time.perf_counter() - start, [list(row) for row in rows]]))
"""


def beside_tshark(folder: Path) -> None:
    if shutil.which("tshark") is None:
        return
    part = folder / "part.pcap"
    grow(SMALL, 1448, EK_BYTES, part)
    start = time.perf_counter()
    with (folder / "ek.json").open("wb") as out:
        words = ["tshark", "-n", "-r", str(part), "-d", "tcp.port==21000-21999,kafka", "-T", "ek"]
        subprocess.run(words, stdout=out, stderr=subprocess.DEVNULL, check=True)
    dissected = time.perf_counter() - start
    words = [sys.executable, "-c", EK, str(folder / "ek.json")]
    read, rows = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    first, second, _ = worked(STAGES, part, folder)
    theirs, ours = counted(rows), exchanges_by_api(folder / "stages" / "rows" / "exchanges")
    same = "the same of each API" if theirs == ours else f"unlike: {sorted(theirs.items() ^ ours.items())}"
    answer = f"{'tshark':<16} {part.stat().st_size / 1e6:6.0f} MB   -T ek {dissected:.1f} s, Spark's JSON {read:.1f} s"
    answer += (
        f": {sum(theirs.values()):,} requests   kcli's stages {first + second:.2f} s: {sum(ours.values()):,} exchanges"
    )
    print(f"{answer}, {same}   {(dissected + read) / (first + second):.0f}x", flush=True)


def counted(rows: list[tuple[str, int]]) -> dict[int, int]:
    """Requests by API key; a packet with some has their keys in an array."""
    found: dict[int, int] = {}
    for text, count in rows:
        keys = json.loads(text)
        for key in keys if isinstance(keys, list) else [keys]:
            found[int(key)] = found.get(int(key), 0) + count
    return found


def exchanges_by_api(folder: Path) -> dict[int, int]:
    import pyarrow.dataset

    table: Any = pyarrow.dataset.dataset(str(folder), format="parquet").to_table(columns=["api_key"])
    return {row["values"]: row["counts"] for row in table.column("api_key").value_counts().to_pylist()}


def main(megabytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["PYTHONPATH"] = str(TESTS.parent)
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
        folder = Path(name)
        paths = {}
        for case, (captures, segment) in CASES.items():
            paths[case] = folder / f"{case.split()[0]}.pcap"
            grow(captures, segment, megabytes * 1_000_000, paths[case])
            stages(case, paths[case], folder)
        memory(paths["small requests"], folder)
        cores(paths["small requests"], folder)
        beside_tshark(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
