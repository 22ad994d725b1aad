"""The pipeline: `kcli pipeline run` beside `kcli decode pcap`, on one core and two, with an even and a lopsided
capture.

    python tests/bench/bench_pipeline.py [MEGABYTES]        default: 200 (1000 and more for figures that last)

"stages": the work of both stages in one process, by its CPU time, against `kcli decode pcap`'s. "memory": the greatest
resident size of that process, here and with four times the bytes. "run": wall time of both stages on Spark, its workers
started, on one core and on two. "skew": the same with nine tenths of the bytes on one connection. "tshark": `-T ek`
of a small part and Spark's JSON reader over it, with the count of packets that have Kafka in them.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.bench_pcap import BIG, SMALL, TESTS
from tests.bench.grow import grow

CASES = {"small requests": (SMALL, 1448), "64-kB segments": (BIG, 65_400)}
EK_BYTES = 3_000_000

STAGES = """
import resource, sys, time
from kcli.pipeline.decoding import decode
from kcli.pipeline.ranges import Range
from kcli.pipeline.scattering import scatter
path, folder, shares = sys.argv[1], sys.argv[2], 4
import numpy, pyarrow.parquet
start = time.process_time()
made = scatter(Range(path, 0), 0, shares, folder + "/staging")
middle = time.process_time()
for share in range(shares):
    decode(share, [each.uri for each in made.staged if each.share == share], folder + "/rows")
print(middle - start, time.process_time() - middle, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

ONE = """
import sys, time
from kcli.capture.exchanges import Source
start = time.process_time()
with open("/dev/null", "wb") as out:
    Source([sys.argv[1]], text=True).lines(out.write)
print(time.process_time() - start)
"""


def printed(script: str, *words: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    return [float(each) for each in done.stdout.split()]


def stages(name: str, path: Path, folder: Path) -> None:
    size = path.stat().st_size / 1e6
    alone = min(printed(ONE, str(path))[0] for _ in range(2))
    first, second, peak = printed(STAGES, str(path), str(folder / "stages"))
    shutil.rmtree(folder / "stages")
    both = first + second
    told = f"{name:<16} {size:6.0f} MB   decode pcap {size / alone:6,.0f} MB/s   stages {size / both:6,.0f} MB/s"
    told += f" (sorting {size / first:,.0f}, decoding {size / second:,.0f})   {alone / both:.2f}x"
    print(f"{told}   {peak / 1000:,.0f} MB", flush=True)


RUN = """
import sys, time
from kcli.pipeline import run
from kcli.pipeline.spark import hand_out, session
cores, output, paths = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
spark = session(f"local[{cores}]", log="/dev/null")
hand_out(spark, list(range(2 * cores)), lambda number: __import__("kcli.pipeline.decoding") and None)
run.Work.derive = lambda self: None
start = time.perf_counter()
run.run_pipeline(spark, paths, run.Options(output, shares=8))
print(time.perf_counter() - start)
"""


def run(paths: list[Path], folder: Path, cores: int) -> float:
    """Wall seconds of both stages on Spark, its workers started."""
    took = printed(RUN, str(cores), str(folder / "out"), *map(str, paths))[0]
    shutil.rmtree(folder / "out")
    return took


def cores(path: Path, folder: Path) -> None:
    one, two = (run([path], folder, count) for count in (1, 2))
    size = path.stat().st_size / 1e6
    print(f"{'run':<16} {size:6.0f} MB   1 core {one:6.1f} s   2 cores {two:6.1f} s   {one / two:.2f}x")


def skew(megabytes: int, even: Path, folder: Path) -> None:
    """The same bytes, nine tenths of them on one connection."""
    lopsided = folder / "lopsided.pcap"
    one_connection(megabytes * 9 // 10, lopsided)
    rest = folder / "rest.pcap"
    grow(BIG, 65_400, megabytes * 100_000, rest)
    balanced, skewed = run([even], folder, 2), run([lopsided, rest], folder, 2)
    print(
        f"{'skew':<16} even {balanced:.1f} s   nine tenths on one connection {skewed:.1f} s   {skewed / balanced:.2f}x"
    )


def one_connection(megabytes: int, out: Path) -> None:
    """Metadata and Produce exchanges, over and over, on one connection."""
    from tests.capture.messages import metadata, produce
    from tests.capture.wires import Wire, pcap

    wire = Wire().open()
    asked, told = produce(0, records=bytes(60_000))
    count = megabytes * 1_000_000 // (len(asked) + len(told) + 120)
    header = pcap(wire.packets)
    with out.open("wb") as file:
        file.write(header)
        for number in range(count):
            wire.packets.clear()
            pair = produce(number, records=bytes(60_000)) if number % 10 else metadata(number)
            wire.client(pair[0]).server(pair[1])
            file.write(pcap(wire.packets)[24:])


def memory(path: Path, folder: Path) -> None:
    peaks = []
    for copies in (1, 4):
        grown = folder / "grown.pcap"
        grow(SMALL, 1448, copies * path.stat().st_size // 8, grown)
        peaks.append(printed(STAGES, str(grown), str(folder / "stages"))[2] / 1000)
        shutil.rmtree(folder / "stages")
    print(f"{'memory':<16} a worker {peaks[0]:.0f} MB; with four times the bytes {peaks[1]:.0f} MB")


EK = """
import sys, time
from kcli.pipeline.spark import session
spark = session("local[2]", log="/dev/null")
start = time.perf_counter()
layers = "layers struct<frame: struct<frame_frame_number: string>, kafka: string>"
requests = spark.read.schema(layers).json(sys.argv[1]).where("layers.kafka IS NOT NULL").count()
print(time.perf_counter() - start, requests)
"""


def beside_tshark(folder: Path) -> None:
    if shutil.which("tshark") is None:
        return
    part = folder / "part.pcap"
    count = grow(SMALL, 1448, EK_BYTES, part)
    start = time.perf_counter()
    with (folder / "ek.json").open("wb") as out:
        words = ["tshark", "-n", "-r", str(part), "-d", "tcp.port==21000-21999,kafka", "-T", "ek"]
        subprocess.run(words, stdout=out, stderr=subprocess.DEVNULL, check=True)
    dissected = time.perf_counter() - start
    read, frames = printed(EK, str(folder / "ek.json"))
    size = part.stat().st_size / 1e6
    first, second, _ = printed(STAGES, str(part), str(folder / "stages"))
    print(
        f"{'tshark':<16} {size:6.0f} MB   -T ek {dissected:.1f} s, Spark's JSON {read:.1f} s: {frames:,.0f} "
        f"packets with Kafka",
        end="",
    )
    print(
        f"   kcli's stages {first + second:.1f} s: {count:,} exchanges   {(dissected + read) / (first + second):.0f}x"
    )


def main(megabytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["PYTHONPATH"] = str(TESTS.parent)
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
        folder = Path(name)
        paths = {}
        for case, (captures, segment) in CASES.items():
            paths[case] = folder / f"{case.split()[0]}.pcap"
            grow(captures, segment, megabytes * 1_000_000 // (8 if captures is SMALL else 1), paths[case])
            stages(case, paths[case], folder)
        memory(paths["small requests"], folder)
        cores(paths["small requests"], folder)
        skew(megabytes, paths["64-kB segments"], folder)
        beside_tshark(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
