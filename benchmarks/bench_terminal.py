"""Questions at the terminal, each as a fraction of the speed of `decode pcap --format jsonl` on the same capture.

    python -m benchmarks.bench_terminal [MEGABYTES]        default: 200

A speed is of processor time (user and system), the least of some rounds, the commands in turn. `kcli stats` is to keep
0.8 of it, Parquet 0.5, the table 0.2, a count by client in SQL half of it. `--records full` is beside `tshark -T json`,
on compressed batches, in bytes of capture a second: tshark gets a fortieth of them, as it is slow.
"""

import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.bench_pcap import CASES, SAMPLES, tshark
from benchmarks.grow import grow
from benchmarks.turns import KCLI, processor_time

ROUNDS = 5
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
COMPRESSED = [SAMPLES / "kcat-codecs.pcap"]
FULL = [*KCLI, "decode", "pcap", "--format", "jsonl", "--records", "full", "--quiet"]


def seconds(words: str, path: Path) -> float:
    """Processor time of a command."""
    return processor_time([*KCLI, *shlex.split(words), "--quiet", str(path)])


def full_records(folder: Path, size: int) -> None:
    """Every record of compressed batches."""
    path, part = folder / "compressed.pcap", folder / "part.pcap"
    exchanges = grow(COMPRESSED, 1448, size, path)
    grow(COMPRESSED, 1448, size // 40, part)
    ours = min(processor_time([*FULL, str(path)]) for _ in range(ROUNDS))
    rate = path.stat().st_size / ours
    print(f"compressed       {path.stat().st_size / 1e6:6.0f} MB {exchanges:>9,} exchanges")
    print(f"  kcli decode pcap --records full {ours:7.3f} s  {rate / 1e6:6.1f} MB/s", flush=True)
    if shutil.which("tshark"):
        theirs = part.stat().st_size / processor_time(tshark(part, "-T", "json"))
        print(f"  tshark -T json {theirs / 1e6:6.2f} MB/s   kcli is {rate / theirs:5.0f}x as fast", flush=True)


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
                print(f"  kcli {words:<62} {time:7.3f} s   {times[PEER] / time:5.2f} of jsonl's speed", flush=True)
        full_records(Path(name), size // 4)


if __name__ == "__main__":
    main(int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 200_000_000)
