"""Run the benches: every `bench_*.py` beside this file, one after the other, each a program of its own.

    python benchmarks/run.py [--cpu] [--old WHEEL|REVISION] [NAME...] [-- WORD...]

NAME: only those that are called so, or hold it in their names where none is. --old: run each that another kcli has on
that too, by turns, and print new/old below the figures (benchmarks/beside.py), at the end all ratios, the lowest
first; long ones are shortened (BRIEF). --cpu: processor time instead of wall time, of a bench, of the commands that it
waits for and of kcli's servers beside it, not of others. WORDs are handed to each bench.

A bench prints what it measured, its peer in the same run and the ratio. A failing one does not stop the others.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import beside
from benchmarks.ratios import Ratio, summary
from benchmarks.turns import CLOCK, PROCESSOR

__all__ = ["main", "scripts"]

HERE = Path(__file__).resolve().parent
# Words for long benches beside an old kcli: a ratio needs fewer bytes and clients than a figure, and no real cluster.
BRIEF = {
    "bench_broker": ["--partitions", "1000", "10000", "--clients", "librdkafka"],
    "bench_conversion_wire": ["--megabytes", "128"],
    "bench_leader_discovery": ["embedded", "--rounds", "1", "--client", "kcli metadata", "--client", "kcli hints"],
    "bench_pipeline_skew": ["40"],
}


def scripts(names: list[str]) -> list[Path]:
    """The benches that are called as one of `names`, or hold one that none is called; all of them without names."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    wanted = [name.removeprefix("bench_") for name in names]
    return [
        path for called, path in found.items()
        if not names or any(name == called or (name not in found and name in called) for name in wanted)
    ]  # fmt: skip


def main(arguments: list[str]) -> int:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*")
    options.add_argument("--cpu", action="store_true")
    options.add_argument("--old")
    given, words = options.parse_args(arguments[:at]), arguments[at + 1 :]
    chosen = scripts(given.names)
    if not chosen:
        print(
            f"no bench is called {' or '.join(given.names)}; there are: {', '.join(path.stem for path in scripts([]))}"
        )
        return 2
    old = beside.install(given.old) if given.old else None
    if given.cpu:
        os.environ[CLOCK] = PROCESSOR
    failed: list[str] = []
    ratios: list[Ratio] = []
    for path in chosen:
        print(f"== {path.stem}", flush=True)
        start = time.monotonic()
        ended, found = run(path, words, old)
        failed += ended
        ratios += found
        print(f"   ({time.monotonic() - start:.0f} s)\n", flush=True)
    for line in summary(ratios):
        print(line)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def run(path: Path, words: list[str], old: Path | None) -> tuple[list[str], list[Ratio]]:
    """Names of what failed, and the ratios of new to old."""
    if old is not None:
        script = path.relative_to(beside.ROOT)
        side = beside.side_for(script, old)
        if side is None:
            print("(the old kcli has no such bench)", flush=True)
            return [], []
        if side != old:
            print("   (the old one's own bench beside this)", flush=True)
        codes, ratios = beside.run_both(script, words or BRIEF.get(path.stem, []), side)
        return [f"{path.stem} on the {name} kcli" for name, code in codes.items() if code], ratios
    done = subprocess.run([sys.executable, str(path), *words], env=beside.surroundings(beside.ROOT), check=False)
    return [path.stem] if done.returncode else [], []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
