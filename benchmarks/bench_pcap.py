"""Captures: the whole command `kcli decode pcap --format jsonl` against tshark, on big captures grown from real ones.

    python -m benchmarks.bench_pcap [MEGABYTES]        default: 200

kcli writes every field of every exchange; tshark `-T fields` writes the api key alone, `-T json` everything. A ratio is
of wall times, the best of some rounds each, the tools in turn; of json it is of bytes a second, as tshark gets but a
twentieth of the capture: it is slow. "memory" is kcli's own, on this capture and on one five times as big.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.grow import grow
from benchmarks.turns import spent

ROUNDS = 3
TESTS = Path(__file__).parents[1] / "tests"
SAMPLES = TESTS.parent / "samples"
SMALL = [SAMPLES / "kcat-codecs.pcap", SAMPLES / "java44-txn.pcap", TESTS / "capture" / "data" / "kraft-boot.pcap.zst"]
BIG = [TESTS / "capture" / "data" / "retransmissions.pcap.zst"]
CASES = {
    "small requests": (SMALL, 1448),
    "MTU 1500": (BIG, 1448),
    "64-kB segments": (BIG, 65_400),
}
KCLI = [sys.executable, "-m", "kcli.cli", "decode", "pcap", "--format", "jsonl", "--quiet"]


def tshark(path: Path, *how: str) -> list[str]:
    ports = "tcp.port==21000-21999,kafka"
    return ["tshark", "-n", "-r", str(path), "-d", ports, *how]


def measure(name: str, path: Path, part: Path, exchanges: int) -> None:
    fields = tshark(path, "-T", "fields", "-e", "kafka.api_key")
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(ROUNDS):
        ours.append(spent([*KCLI, str(path)]).seconds)
        if len(theirs) < 2 and shutil.which("tshark"):
            theirs.append(spent(fields).seconds)
    best, size = min(ours), path.stat().st_size
    print(f"{name:<16} {size / 1e6:6.0f} MB {exchanges:>9,} exchanges   kcli {best:7.3f} s", end="")
    print(f"  {size / best / 1e6:7,.0f} MB/s {exchanges / best:>10,.0f} exchanges/s")
    if not theirs:
        return
    print(f"{'':<16} tshark fields {min(theirs):6.2f} s   kcli is {min(theirs) / best:5.1f}x as fast")
    rate = part.stat().st_size / spent(tshark(part, "-T", "json")).seconds
    print(f"{'':<16} tshark json {rate / 1e6:6.1f} MB/s   kcli is {size / best / rate:5.0f}x as fast", flush=True)


def memory(folder: Path, size: int) -> None:
    peaks = []
    for factor in (1, 5):
        path = folder / "memory.pcap"
        grow(SMALL, 1448, size * factor, path)
        peaks.append((path.stat().st_size, spent([*KCLI, str(path)]).peak))
    print("memory           " + ", ".join(f"{size / 1e6:,.0f} MB: {peak / 1024:.1f} MiB" for size, peak in peaks))


def main(size: int) -> None:
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
        folder = Path(name)
        for case, (captures, segment) in CASES.items():
            path, part = folder / "whole.pcap", folder / "part.pcap"
            exchanges = grow(captures, segment, size, path)
            grow(captures, segment, size // 20, part)
            measure(case, path, part, exchanges)
        memory(folder, size)


if __name__ == "__main__":
    main(int(sys.argv[1] if len(sys.argv) > 1 else "200") * 1_000_000)
