"""Record batches beside Kafka's own code: down-conversion (kafka-clients 3.9.1), segments (kafka-dump-log 4.4.0).

    python benchmarks/bench_records.py [kernel] [process] [memory] [chunks] [dump]      some parts, or all

Segments are made by Kafka's classes in a folder that is removed again. Rounds of kcli and Java alternate where both are
short; MB are 10^6 bytes of input. KCLI_BENCH_GIB: the size of the great segments (1).
"""

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.turns import KCLI, Spent, spent, turn
from kcli.records import Slice
from kcli.records.conversion import Conversion
from tests.real.maven import command, compiled, jars

ROUNDS = 5
MIB = 1 << 20
GREAT = int(float(os.environ.get("KCLI_BENCH_GIB", "1")) * 1024) * MIB
# KIP-283's measurements, MB/s by chunk size in kB, and without chunks.
KIP_283 = {16: 136.95, 32: 167.04, 64: 181.92, 128: 197.72, 256: 181.25, 512: 180.41, 1024: 176.64}
KIP_WHOLE = 178.9


def oracle(*arguments: object, heap: str | None = None) -> list[str]:
    """The command line of Kafka's own conversion, with the JVM as it comes."""
    classpath = jars("kafka-clients", "3.9.1")
    path = os.pathsep.join(map(str, [compiled("RecordOracle.java", classpath), *classpath]))
    return ["java", *([f"-Xmx{heap}"] if heap else []), "-cp", path, "RecordOracle", *map(str, arguments)]


def make(folder: Path, name: str, size: int, spec: str, batch_bytes: int) -> Path:
    path = folder / name
    if not path.exists():
        subprocess.run(oracle("make", path, f"{spec},batches={size // batch_bytes}"), check=True, capture_output=True)
    return path


def small(folder: Path, bytes_a_record: int) -> Path:
    per_batch = 15 if bytes_a_record == 1000 else 145
    spec = f"codec=none,key=8,value={bytes_a_record},records={per_batch},data=text"
    return make(folder, f"{bytes_a_record}.log", 64 * MIB, spec, per_batch * (bytes_a_record + 20))


def great(folder: Path, codec: str = "none") -> Path:
    """Records of 1 kB; compressed ones of 100 bytes, so that there is something to do."""
    spec = "key=8,value=1000,records=15" if codec == "none" else "key=8,value=100,records=145"
    ratio = {"none": 15300, "lz4": 9300, "zstd": 6300}[codec]
    return make(
        folder, f"great-{codec}.log", GREAT if codec == "none" else GREAT // 2, f"codec={codec},{spec},data=text", ratio
    )


def reported(run: Spent) -> str:
    return f"{run.seconds:.3f} s ({run.processor:.3f} of processors), {run.peak / 1024:.0f} MiB"


def best(run: Callable[[], float], rounds: int = ROUNDS) -> float:
    return min(run() for _ in range(rounds))


def convert(path: Path, chunk_bytes: int = 128 * 1024) -> float:
    """Seconds for one conversion to magic 1 from a file, in this process; the output is thrown away."""
    handle = os.open(path, os.O_RDONLY)
    turn()
    start = time.perf_counter()
    source = Slice(lambda into, position: os.preadv(handle, [into], position), 0, path.stat().st_size)
    for _ in Conversion(source, 1, 0, chunk_bytes).chunks():
        pass
    seconds = time.perf_counter() - start
    os.close(handle)
    return seconds


def java_rate(path: Path, runs: int, *options: object) -> float:
    """Best MB/s of Java's conversion in one warm process."""
    done = subprocess.run(oracle("bench", path, 1, runs, *options), check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["bestMBps"])


def bench_kernel(folder: Path) -> None:
    print("down-conversion v2 -> v1, warm, chunks of 128 kB, MB/s: kcli, Java, ratio (wanted)")
    cases: list[tuple[str, Path, float]] = [
        ("uncompressed, 100 B", small(folder, 100), 5),
        ("uncompressed, 1 kB", small(folder, 1000), 3),
    ]
    spec = "key=8,value=100,records=145"
    for codec, wanted in (("lz4", 1.2), ("snappy", 1.2), ("gzip", 4)):
        cases.append(
            (f"{codec}, 100 B", make(folder, f"{codec}.log", 16 * MIB, f"codec={codec},{spec}", 10500), wanted)
        )
    for name, path, wanted in cases:
        plain = name.startswith("un")
        java = java_rate(path, ROUNDS, "--warm", 5 if plain else 2)
        ours = path.stat().st_size / best(lambda path=path: convert(path), 3 * ROUNDS if plain else 2) / 1e6  # type: ignore[misc]
        print(f"  {name:22} {ours:7.0f} {java:7.0f}   {ours / java:5.1f}x  ({wanted}x)")


def bench_process(folder: Path) -> None:
    path, out = small(folder, 100), folder / "out.bin"
    ours = [[*KCLI, "down-convert", str(path), "--to-magic", "1", "-o", str(out)]] * 3
    java = [oracle("down", path, 1, out, "--path", "chunks")] * 3
    pairs = [(spent(a), spent(b)) for a, b in zip(ours, java, strict=True)]
    mine, theirs = min(a for a, _ in pairs), min(b for _, b in pairs)
    print(f"one cold process, {path.stat().st_size / MIB:.0f} MiB of 100 B (wanted: half of Java's time, 60 MiB)")
    print(f"  kcli {reported(mine)}   Java {reported(theirs)}   {theirs.seconds / mine.seconds:.1f}x")
    path = great(folder)
    mine = spent([*KCLI, "down-convert", str(path), "--to-magic", "1", "-o", os.devnull])
    theirs = spent(oracle("down", path, 1, os.devnull, "--path", "chunks", heap="64m"))
    print(f"  {path.stat().st_size / MIB:.0f} MiB of 1 kB: kcli {reported(mine)}   ", end="")
    print(f"java -Xmx64m {reported(theirs)}   {theirs.seconds / mine.seconds:.1f}x (2x, 64 MiB)")


MEMORY_LIMIT = 200 * MIB
PARTITION = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
from kcli.records import FetchSend, Slice, cut_slice, down_convert
data = open({path!r}, "rb").read()
held, sent = [], 0
for _ in range(250):
    send = FetchSend(cut_slice(Slice.of(data), 1_000_000), 1)
    if {lazy}:
        sent += sum(map(len, send))
    else:
        held.append(b"".join(send))
print(sent + sum(map(len, held)))
"""


def bench_memory(folder: Path) -> None:
    """KIP-283's own test: 1 kB records in 250 partitions, a fetch of 250 MB, a megabyte of each, 200 MB of memory."""
    spec = "codec=none,key=8,value=1000,records=15,data=text"
    path = make(folder, "partition.log", 3_500_000, spec, 15300)
    limit = f"{MEMORY_LIMIT // MIB} MiB of address space"
    print(f"a fetch of 250 partitions at 1 MB, {limit} (wanted: lazy lives, eager dies)")
    for name, lazy in (("lazy", True), ("eager", False)):
        code = PARTITION.format(limit=MEMORY_LIMIT, path=str(path), lazy=lazy)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        end = done.stderr.strip().splitlines()[-1:] or [f"{int(done.stdout):,} bytes sent"]
        print(f"  {name:6} exit {done.returncode}: {end[0]}")


def bench_chunks(folder: Path) -> None:
    path = small(folder, 100)
    print("chunk size, MB/s at 100 B: kcli, Java today, KIP-283's table")
    size = path.stat().st_size / 1e6
    for kib, then in KIP_283.items():
        ours = size / best(lambda kib=kib: convert(path, kib * 1024))  # type: ignore[misc]
        java = java_rate(path, 3, "--chunk", kib * 1024, "--warm", 3)
        print(f"  {kib:5} kB {ours:7.0f} {java:7.0f} {then:8.2f}")
    whole = size / best(lambda: convert(path, 1 << 30))
    java = java_rate(path, 3, "--path", "eager", "--warm", 3)
    print(f"    whole  {whole:7.0f} {java:7.0f} {KIP_WHOLE:8.2f}")


def dump_log(path: Path, *options: str) -> list[str]:
    found, entry = command("4.4.0", "DumpLogSegments")
    return ["java", "-cp", os.pathsep.join(map(str, found)), entry, *options, "--files", str(path)]


def bench_dump(folder: Path) -> None:
    print("decode segment --format jsonl, processes: kcli, kafka-dump-log, ratio of the wall times (wanted)")
    for name, codec, records, options, wanted in (
        ("batches", "none", "batches", [], 20),
        ("full", "none", "full", ["--print-data-log"], 20),
        ("full, lz4", "lz4", "full", ["--print-data-log"], 5),
        ("full, zstd", "zstd", "full", ["--print-data-log"], 5),
    ):
        path = great(folder, codec)
        log = path.parent / "00000000000000000000.log"
        log.unlink(missing_ok=True)
        log.symlink_to(path)
        mine = [*KCLI, "decode", "segment", str(path), "--format", "jsonl", "--records", records]
        ours = min(spent(mine) for _ in range(3))
        java = spent(dump_log(log, *options))
        print(f"  {name:10} {path.stat().st_size / MIB:5.0f} MiB   ", end="")
        print(
            f"kcli {reported(ours)}   Java {reported(java)}   {java.seconds / ours.seconds:.1f}x ({wanted}x)",
            flush=True,
        )


PARTS: dict[str, Callable[[Path], None]] = {
    "kernel": bench_kernel,
    "process": bench_process,
    "memory": bench_memory,
    "chunks": bench_chunks,
    "dump": bench_dump,
}


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
        yield Path(folder)


def main(names: list[str]) -> None:
    # A child's peak is what it had, not what this process had when it was forked.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with workplace() as folder:
        for name in names or PARTS:
            PARTS[name](folder)
            print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
