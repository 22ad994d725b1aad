"""Questions at the terminal, each as a fraction of the speed of `decode pcap --format jsonl` on the same capture.

    python -m tests.bench.bench_terminal [MEGABYTES]        default: 200

A speed is of processor time (user and system), the least of some rounds, the commands in turn. `kcli stats` is to keep
0.8 of it, Parquet 0.5, the table 0.2, a count by `kcli sql` 0.5.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

from tests.bench.bench_pcap import CASES
from tests.bench.grow import grow
from tests.bench.turns import processor_time

ROUNDS = 5
KCLI = [sys.executable, "-m", "kcli.cli"]
PEER = "decode pcap --format jsonl"
QUESTIONS = (
    "stats",
    "stats --by client --by api --by error",
    "stats --by topic",
    "stats --by partition --by minute",
    "decode pcap --format table",
    "decode pcap --format table --errors",
    "decode pcap --format table --api Produce",
    "decode pcap --format parquet",
    "sql 'SELECT client_id, count(*) FROM exchanges GROUP BY ALL'",
)


def seconds(words: str, path: Path) -> float:
    """Processor time of a command."""
    return processor_time([*KCLI, *shlex.split(words), "--quiet", str(path)])


def main(size: int) -> None:
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
        for case, (samples, mss) in CASES.items():
            path = Path(name) / "capture.pcap"
            exchanges = grow(samples, mss, size, path)
            times: dict[str, float] = {}
            for _ in range(ROUNDS):
                for words in (PEER, *QUESTIONS):
                    times[words] = min(times.get(words, 1e9), seconds(words, path))
            print(f"{case:<16} {path.stat().st_size / 1e6:6.0f} MB {exchanges:>9,} exchanges")
            for words, time in times.items():
                print(f"  kcli {words:<62} {time:6.2f} s   {times[PEER] / time:5.2f} of jsonl's speed", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 200_000_000)
