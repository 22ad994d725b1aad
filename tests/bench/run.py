"""Run the benches: every `bench_*.py` beside this file, one after the other, each a program of its own.

    python tests/bench/run.py [NAME...]     only those whose names hold one of these

A bench prints what it measured, its peer in the same run and the ratio. A failing one does not stop the others.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["main", "scripts"]

HERE = Path(__file__).resolve().parent


def scripts(names: list[str]) -> list[Path]:
    """The benches whose names hold one of `names`; all of them without names."""
    found = sorted(HERE.glob("bench_*.py"))
    return [path for path in found if not names or any(name in path.stem for name in names)]


def main(names: list[str]) -> int:
    chosen = scripts(names)
    if not chosen:
        print(f"no bench is called {' or '.join(names)}; there are: {', '.join(path.stem for path in scripts([]))}")
        return 2
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1]), "PYTHONUNBUFFERED": "1"}
    failed = []
    for path in chosen:
        print(f"== {path.stem}", flush=True)
        start = time.monotonic()
        if subprocess.run([sys.executable, str(path)], env=environment, check=False).returncode:
            failed.append(path.stem)
        print(f"   ({time.monotonic() - start:.0f} s)\n", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
