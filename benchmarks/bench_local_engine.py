"""`kcli pipeline run --engine local` of small requests, cold: on one core, and on all.

    python -m benchmarks.bench_local_engine [MEGABYTES...]        default: 400

Wall and processor seconds of the whole command; and the processor seconds of the longest path, where wall time says
little: of the thread that decodes, then of the fork that has the most to do with the tables across connections.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bench_pcap import SMALL
from benchmarks.grow import grow
from benchmarks.turns import turn

ROUNDS = 3
PATH = """
import os, resource, sys, time
from kcli.pipeline import local_engine, run
from kcli.pipeline.context import Options
cores, path, output = int(sys.argv[1]), *sys.argv[2:]
write = local_engine.FactsTask.write
def timed(task):
    start = time.process_time()
    made = write(task)
    with open(output + ".parts", "a") as file:
        print(os.getpid(), time.process_time() - start, file=file)
    return made
local_engine.FactsTask.write = timed
run.run_pipeline(local_engine.LocalEngine(cores), [path], Options(output, table_format="delta"))
forks = {}
for line in open(output + ".parts"):
    pid, seconds = line.split()
    if int(pid) != os.getpid():
        forks[pid] = forks.get(pid, 0) + float(seconds)
print(time.thread_time() + max(forks.values(), default=0))
"""


def run(path: Path, folder: Path, cores: str | None) -> tuple[float, float]:
    """(wall, processor) seconds of the command. cores: on these alone."""
    turn()
    command = ["taskset", "-c", cores] if cores else []
    command += [sys.executable, "-m", "kcli.cli", "pipeline", "run", "--engine", "local", "--quiet"]
    output = tempfile.mkdtemp(dir=folder)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*command, "--input", str(path), "--output", output], check=True)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def longest(path: Path, folder: Path, cores: int) -> float:
    """Processor seconds of the longest path."""
    output = tempfile.mkdtemp(dir=folder)
    words = [sys.executable, "-c", PATH, str(cores), str(path), output]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def main(sizes: list[int]) -> None:
    cores = sorted(os.sched_getaffinity(0))
    for megabytes in sizes:
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
            path, folder = Path(name) / "small.pcap", Path(name)
            exchanges = grow(SMALL, 1448, megabytes * 1_000_000, path)
            one, every = ([run(path, folder, each) for _ in range(ROUNDS)] for each in (str(cores[0]), None))
            worked = min(each[1] for each in one)
            chain = min(longest(path, folder, len(cores)) for _ in range(ROUNDS))
            print(
                f"{megabytes} MB of small requests, {exchanges:,} exchanges   one core: {min(one)[0]:.1f} s "
                f"({worked:.1f} s of processor time)   {len(cores)}: {min(every)[0]:.1f} s "
                f"({min(each[1] for each in every):.1f}), longest path {chain:.1f} s: {worked / chain:.2f}x",
                flush=True,
            )


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [400])
