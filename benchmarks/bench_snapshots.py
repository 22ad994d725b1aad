"""Snapshots: kcli's commands beside Kafka's own classes, as whole processes, on a large file and a small one.

    python benchmarks/bench_snapshots.py [PARTITIONS]      1,000,000 by default (125 MB)

Peers: DumpLogSegments (its output thrown away, as kcli's is), and RecordsSnapshotReader with a full replay into a
MetadataImage, checksums on (SnapshotReplay.java). Rounds are interleaved; the best of each is reported, with the memory
it took at most.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.turns import spent
from kcli.snapshots.image.image import Image, Provenance, Topic
from kcli.snapshots.image.partitions import id_bytes, id_text
from kcli.snapshots.image.replay import replay
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.writing.write import write_snapshot
from tests.real.maven import broker_jars, command, compiled

VERSION = "4.4.0"
ROUNDS = {"large": 3, "small": 5}
BROKERS = 6
PER_TOPIC = 200


def uuid(chance: random.Random) -> str:
    return id_text(b"k" + chance.randbytes(15))


def cluster(partitions: int) -> Image:
    """An image of so many partitions, RF 3, some under-replicated, two configs a topic."""
    chance, decoder = random.Random(7), Decoder()
    found = Image(decode=decoder.read_framed, provenance=Provenance(partitions + 1000, 5, 1_700_000_000_000))
    replay(found, "FeatureLevelRecord", {"name": "metadata.version", "featureLevel": 30})
    directories = [uuid(chance) for _ in range(BROKERS)]
    for number in range(BROKERS):
        points = [{"name": "PLAINTEXT", "host": f"broker-{number}", "port": 9092, "securityProtocol": 0}]
        record = {"brokerId": number, "brokerEpoch": 10 + number, "incarnationId": uuid(chance), "endPoints": points}
        record |= {"features": [], "rack": f"rack-{number % 3}", "fenced": False, "logDirs": [directories[number]]}
        replay(found, "RegisterBrokerRecord", record | {"isMigratingZkBroker": False, "inControlledShutdown": False})
    for number in range(-(-partitions // PER_TOPIC)):
        identity, name = uuid(chance), f"generated.topic-{number:07d}"
        topic = found.topics[id_bytes(identity)] = Topic(id_bytes(identity), name)
        identity = topic.id_text
        for partition in range(min(PER_TOPIC, partitions - number * PER_TOPIC)):
            topic.partitions[partition] = framed(decoder, chance, identity, partition, directories)
        for key, value in (("retention.ms", "604800000"), ("cleanup.policy", "compact")):
            found.configs.setdefault((2, name), {})[key] = value
    return found


def framed(decoder: Decoder, chance: random.Random, topic: str, partition: int, directories: list[str]) -> bytes:
    first = chance.randrange(BROKERS)
    replicas = [(first + index) % BROKERS for index in range(3)]
    value = {
        "partitionId": partition,
        "topicId": topic,
        "replicas": replicas,
        "isr": replicas[:2] if partition % 50 == 49 else replicas,
        "removingReplicas": [],
        "addingReplicas": [],
        "leader": replicas[0],
        "leaderEpoch": chance.randrange(200),
        "partitionEpoch": chance.randrange(400),
        "directories": [directories[each] for each in replicas],
    }
    if partition % 50 == 49:
        value["eligibleLeaderReplicas"] = replicas[2:]
    return decoder.write("PartitionRecord", 2, value)


def made(folder: Path, partitions: int) -> Path:
    found = cluster(partitions)
    file = folder / f"{found.provenance.end_offset:020d}-{found.provenance.epoch:010d}.checkpoint"
    with file.open("wb") as out:
        write_snapshot(found, out.write, now_ms=1_700_000_000_000)
    return file


def timed(line: list[str]) -> tuple[float, int]:
    """Seconds and MiB of one process, its output thrown away."""
    found = spent(line)
    return found.seconds, found.peak // 1024


def kcli(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kcli.cli", "snapshot", *arguments]


def java(jars: list[Path], main: str, *arguments: str) -> list[str]:
    """A Java process as it comes: no flags but room."""
    program = shutil.which("java")
    assert program is not None, "java (17 or newer) is not installed"
    return [program, "-Xmx4g", "-cp", os.pathsep.join(map(str, jars)), main, *arguments]


def contestants(file: str) -> dict[str, list[str]]:
    jars, dump = command(VERSION, "DumpLogSegments")
    server = broker_jars(VERSION)
    replaying = compiled("SnapshotReplay.java", tuple(server))
    return {
        "DumpLogSegments": java(jars, dump, "--cluster-metadata-decoder", "--skip-record-metadata", "--files", file),
        "Java reader, full replay": java([replaying, *server], "SnapshotReplay", file),
        "kcli inspect": kcli("inspect", file),
        "kcli inspect --records": kcli("inspect", file, "--records", "--format", "jsonl"),
        "kcli verify": kcli("verify", file),
        "kcli image": kcli("image", file),
    }


def measure(label: str, file: Path) -> None:
    lines = contestants(str(file))
    best: dict[str, tuple[float, int]] = {}
    for _ in range(ROUNDS[label]):
        for name, line in lines.items():
            seconds, memory = timed(line)
            known = best.get(name, (seconds, memory))
            best[name] = min(known[0], seconds), max(known[1], memory)
    print(f"{label}: {file.stat().st_size:,} bytes")
    dump, reader = best["DumpLogSegments"][0], best["Java reader, full replay"][0]
    for name, (seconds, memory) in best.items():
        ratios = (
            "" if "kcli" not in name else f"   {dump / seconds:5.1f}x dump-log, {reader / seconds:5.1f}x Java's reader"
        )
        print(f"  {name:<26} {seconds:7.3f} s {memory:6,} MiB{ratios}")


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--make"]:
        print(made(Path(arguments[1]), int(arguments[2])))
        return
    partitions = int(arguments[0]) if arguments else 1_000_000
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
        for label, count in (("small", 130), ("large", partitions)):
            inner = Path(folder) / label
            inner.mkdir()
            # In a process of its own: a child is said to have used what its parent did when it was forked.
            making = [sys.executable, __file__, "--make", str(inner), str(count)]
            measure(label, Path(subprocess.run(making, capture_output=True, text=True, check=True).stdout.strip()))


if __name__ == "__main__":
    main(sys.argv[1:])
