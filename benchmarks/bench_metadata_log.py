"""A metadata log replayed between its snapshots, and the nodes of a quorum compared, beside reading the same files.

    python benchmarks/bench_metadata_log.py [PARTITIONS [MB]]      1,000,000 and 1,000 by default

Beside: `snapshot verify`, which reads every record of the same snapshots and segments. Rounds are interleaved; the best
of each is reported, with the memory it took at most.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bench_snapshots import kcli, timed

ROUNDS = 3


def best_of(lines: dict[str, list[str]]) -> dict[str, tuple[float, int]]:
    """Of each command the least seconds and the most MiB."""
    best: dict[str, tuple[float, int]] = {}
    for _ in range(ROUNDS):
        for name, line in lines.items():
            seconds, memory = timed(line)
            known = best.get(name, (seconds, memory))
            best[name] = min(known[0], seconds), max(known[1], memory)
    return best


def main(arguments: list[str]) -> None:
    partitions = int(arguments[0]) if arguments else 1_000_000
    megabytes = int(arguments[1]) if len(arguments) > 1 else 1000
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
        making = [sys.executable, str(Path(__file__).with_name("metadata_quorum.py")), folder]
        subprocess.run([*making, str(partitions), str(megabytes * 1_000_000)], check=True)
        node, *quorum = (str(Path(folder) / name) for name in ("node", "n1", "n2", "n3"))
        lines = {
            "kcli verify": kcli("verify", node),
            "kcli verify --replay": kcli("verify", "--replay", node),
            "kcli verify, three nodes": kcli("verify", *quorum),
            "kcli drift, three nodes": kcli("drift", *quorum),
        }
        best = best_of(lines)
    print(f"{partitions:,} partitions, {megabytes:,} MB of log")
    for name, (seconds, memory) in best.items():
        print(f"  {name:<26} {seconds:7.3f} s {memory:6,} MiB")
    for name, other in (
        ("kcli verify --replay", "kcli verify"),
        ("kcli drift, three nodes", "kcli verify, three nodes"),
    ):
        print(f"  {name}: {best[name][0] / best[other][0]:.2f} times {other}")


if __name__ == "__main__":
    main(sys.argv[1:])
