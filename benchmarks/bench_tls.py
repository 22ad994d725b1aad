"""Captures with TLS: `kcli decode pcap --format jsonl --key-log` beside the same traffic in the clear.

    python -m benchmarks.bench_tls [MEGABYTES]        default: 200

The same exchanges, TLS 1.3 with AES-256-GCM, records of 16 kB where a message is as long. "long": few connections, so
that reading records takes the time; "short": a handshake for every 180 kB. A ratio is of exchanges in a second of
processor time, the best of some rounds each, by turns.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.bench_pcap import BIG, KCLI
from benchmarks.grow import grow
from benchmarks.turns import processor_time, spent

ROUNDS = 5
CASES = {
    "long, 64-kB segments": (65_400, 200),
    "long, MTU 1500": (1448, 200),
    "short, 64-kB segments": (65_400, 1),
}


def measure(name: str, folder: Path, segment: int, repeat: int, size: int) -> None:
    clear, sealed, keys = folder / "clear.pcap", folder / "tls.pcap", folder / "keys.log"
    keys.unlink(missing_ok=True)
    exchanges = grow(BIG, segment, size, clear, None, repeat)
    same = grow(BIG, segment, size, sealed, folder, repeat)
    commands = [[*KCLI, str(clear)], [*KCLI, str(sealed), "--key-log", str(keys)]]
    assert same == decoded(commands[1])
    times = [[processor_time(command) for command in commands] for _ in range(ROUNDS)]
    in_clear, with_tls = (min(column) for column in zip(*times, strict=True))
    ratio = same / with_tls / (exchanges / in_clear)
    print(f"{name:<22} {sealed.stat().st_size / 1e6:6.0f} MB {same:>7,} exchanges", end="")
    print(f"   clear {in_clear:6.3f} s   TLS {with_tls:6.3f} s   TLS is {ratio:.2f}x as fast", end="")
    print(f"   memory {spent(commands[1]).peak / 1024:.1f} MiB", flush=True)


def decoded(command: list[str]) -> int:
    """How many lines come out."""
    return subprocess.run(command, check=True, capture_output=True).stdout.count(b"\n")


def main(size: int) -> None:
    for case, (segment, repeat) in CASES.items():
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
            measure(case, Path(name), segment, repeat, size)


if __name__ == "__main__":
    main(int(sys.argv[1] if len(sys.argv) > 1 else "200") * 1_000_000)
