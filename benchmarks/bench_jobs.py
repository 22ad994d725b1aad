"""`--jobs 2` beside one process: wall time, and the processor time of the process that has most to do; and what the
machine's cores allow: how many times as much two processes do that know nothing of each other, each the whole work.

    python -m benchmarks.bench_jobs [MEGABYTES]        default: 1000

On a machine with two idle cores both ratios are the same; with other work beside it the second says more. Wanted are
1.6 for lines of small requests and for `--records full` of compressed batches (a tenth as big, as it takes as long).
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench_pcap import SMALL
from benchmarks.bench_terminal import COMPRESSED
from benchmarks.grow import grow
from benchmarks.turns import turn

ROUNDS = 3
LINES = ["decode", "pcap", "--format", "jsonl"]
CASES = (
    ("small requests, lines", SMALL, 1, LINES),
    ("small requests, stats", SMALL, 1, ["stats"]),
    ("compressed, --records full", COMPRESSED, 10, [*LINES, "--records", "full"]),
)
# kcli, which says in the end what it and the processes that it waited for have spent.
MEASURED = """
import resource, sys
from kcli.cli.__main__ import start
code = start()
spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(*(each.ru_utime + each.ru_stime for each in spent), file=sys.stderr)
sys.exit(code)
"""


class Times(NamedTuple):
    """Seconds: of the clock; processor time of the first process, and of the other."""

    wall: float
    first: float
    other: float

    @property
    def busiest(self) -> float:
        """Processor time of the process that has most to do."""
        return max(self.first, self.other)


def command(words: list[str], path: Path, jobs: int) -> list[str]:
    return [sys.executable, "-c", MEASURED, *words, "--quiet", "--jobs", str(jobs), str(path)]


def times(words: list[str], path: Path, jobs: int) -> Times:
    """Of one run. CalledProcessError: it failed."""
    turn()
    start = time.perf_counter()
    run = command(words, path, jobs)
    done = subprocess.run(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, text=True)
    return Times(time.perf_counter() - start, *map(float, done.stderr.split()))


def side_by_side(words: list[str], path: Path) -> float:
    """Seconds until two processes have each done all of it."""
    turn()
    start = time.perf_counter()
    run = command(words, path, 1)
    running = [subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    for each in running:
        each.wait()
    return time.perf_counter() - start


def main(size: int) -> None:
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
        for case, samples, part, words in CASES:
            path = Path(name) / "capture.pcap"
            exchanges = grow(samples, 1448, size // part, path)
            made: dict[int, list[Times]] = {1: [], 2: []}
            both: list[float] = []
            for _ in range(ROUNDS):
                for jobs, all_times in made.items():
                    all_times.append(times(words, path, jobs))
                both.append(side_by_side(words, path))
            print(f"{case:<27} {path.stat().st_size / 1e6:6.0f} MB {exchanges:>9,} exchanges")
            wall = {jobs: min(each.wall for each in all_times) for jobs, all_times in made.items()}
            busy = {jobs: min(each.busiest for each in all_times) for jobs, all_times in made.items()}
            print(f"  wall    {wall[1]:7.3f} s, --jobs 2 {wall[2]:7.3f} s  {wall[1] / wall[2]:5.2f}x", end="")
            print(f"  two of one process {min(both):7.3f} s  {2 * wall[1] / min(both):5.2f}x")
            print(f"  busiest {busy[1]:7.3f} s, --jobs 2 {busy[2]:7.3f} s  {busy[1] / busy[2]:5.2f}x", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 1_000_000_000)
