"""Skew: `kcli pipeline run` over a capture with nine tenths of its bytes on one connection, beside one with as many
bytes evenly on twenty.

    python -m benchmarks.bench_pipeline_skew [MEGABYTES]        default: 400

Wall time of both stages on two cores, Spark's workers started and warm, the better of two runs each in turn. Last, how
many windows the connection was cut into, and how many of them had to be decoded again.
"""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.turns import turn
from kcli.records.builder import build_batch
from tests.capture.messages import metadata, produce
from tests.capture.wires import Wire, pcap

CONNECTIONS = 20
CASES = {"60-kB requests": 60, "1-kB requests": 1}  # records of 1 kB in each

RUN = """
import shutil, sys, time
from pathlib import Path
from kcli.pipeline import run
from kcli.pipeline.spark_engine import SparkEngine
from kcli.pipeline.spark import session
from kcli.pipeline.stages import Stages
output, paths = sys.argv[1], sys.argv[2:]
spark = session("local[2]", log="/dev/null")
run.derive_tables = lambda *_: None
cut, again = [], []
place, decode = Stages.place, Stages.decode_tasks
Stages.place = lambda *words: cut.append(place(*words)) or cut[-1]
Stages.decode_tasks = lambda self, what, *words: again.append(what) or decode(self, what, *words)
best = {}
for turn in range(3):
    for path in paths:
        start = time.perf_counter()
        made = run.run_pipeline(SparkEngine(spark), [path], run.Options(output))
        took = time.perf_counter() - start
        shutil.rmtree(output)
        if turn:
            best[path] = min(took, best.get(path, took))
for path in paths:
    print(best[path])
print(max(map(len, cut), default=0), again.count("decoding again"))
"""


def grown(path: Path, megabytes: int, records: int, heavy: int) -> None:
    """Produce and Metadata exchanges; `heavy` of twenty go to the first connection, the rest to each in turn."""
    wires = [Wire(client=(f"10.0.1.{number}", 40_000)).open() for number in range(CONNECTIONS)]
    chance = random.Random(7)
    batch = build_batch([(1_700_000_000_000, None, chance.randbytes(1_000), {}) for _ in range(records)])
    count = megabytes * 1_000_000 // (len(batch) + 300)
    now = 0
    with path.open("wb") as file:
        file.write(pcap(packet for wire in wires for packet in wire.packets))
        for number in range(count):
            turn = number % CONNECTIONS
            wire = wires[0 if turn < heavy else number // CONNECTIONS % CONNECTIONS if heavy else turn]
            wire.packets.clear()
            now = max(now, wire.now)
            wire.now = now
            asked, answer = produce(number, records=batch) if number % 10 else metadata(number)
            wire.client(asked).server(answer)
            now = wire.now
            file.write(pcap(wire.packets)[24:])


def main(megabytes: int) -> None:
    root = Path(__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(root)}
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
        folder = Path(name)
        for case, records in CASES.items():
            paths = [folder / "even.pcap", folder / "lopsided.pcap"]
            for path, heavy in zip(paths, (0, CONNECTIONS * 9 // 10), strict=True):
                grown(path, megabytes // (1 if records > 1 else 4), records, heavy)
            turn()
            words = [sys.executable, "-c", RUN, str(folder / "out"), *map(str, paths)]
            answer = subprocess.run(
                words, stdout=subprocess.PIPE, text=True, check=True, env=environment
            ).stdout.split()
            even, skewed = map(float, answer[:2])
            print(
                f"{case:<16} {paths[1].stat().st_size / 1e6:6.0f} MB   even {even:.1f} s   "
                f"nine tenths on one connection {skewed:.1f} s   {skewed / even:.2f}x   "
                f"{answer[2]} windows, {answer[3]} decoded again",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
