"""The folders of a quorum's nodes, as large as asked: a snapshot, the log of restarting brokers behind it, and the
snapshot that follows from both, made without kcli's replay."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bench_snapshots import BROKERS, cluster
from kcli.records.builder import build_batch
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.framing import Batch, batches
from kcli.snapshots.writing.write import write_snapshot

__all__ = ["make_node", "make_quorum"]

RECORDS = 1000  # of a batch: a controller's when a broker goes away
SEGMENT = 128 << 20  # bytes
NOW = 1_700_000_000_000
FRAME = bytes((1, 5, 2))  # PartitionChangeRecord


@dataclass(slots=True)
class Placed:
    """A partition: its place in records (partition and topic id), and its state."""

    place: bytes
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    partition_epoch: int

    def change(self, isr: list[int], leader: int) -> bytes:
        """Change it; the record that says so."""
        tags = []
        if isr != self.isr:
            tags.append(bytes((0, 1 + 4 * len(isr), 1 + len(isr))) + b"".join(each.to_bytes(4) for each in isr))
        if leader != self.leader:
            tags.append(b"\1\4" + leader.to_bytes(4, signed=True))
            self.leader_epoch += 1
        self.isr, self.leader = isr, leader
        self.partition_epoch += 1
        return FRAME + self.place + bytes((len(tags),)) + b"".join(tags)


def placed(image: Image) -> list[Placed]:
    """The partitions of an image, by topic."""
    return [
        Placed(
            number.to_bytes(4) + topic.id,
            each["replicas"],
            each["isr"],
            each["leader"],
            each["leaderEpoch"],
            each["partitionEpoch"],
        )
        for topic in image.topics.values()
        for number, each in image.partitions(topic)
    ]


def restarts(partitions: list[Placed]) -> Iterator[bytes]:
    """The records of brokers that are restarted, one after the other, for ever: the others take over what it led, it
    joins the ISRs again, and leads what it prefers to lead."""
    while True:
        for broker in range(BROKERS):
            mine = [each for each in partitions if broker in each.replicas]
            for each in mine:
                rest = [other for other in each.isr if other != broker]
                if rest and len(rest) < len(each.isr):
                    yield each.change(rest, rest[0] if each.leader == broker else each.leader)
            for each in mine:
                if len(each.isr) < len(each.replicas):
                    yield each.change(list(each.replicas), each.leader)
            for each in mine:
                if each.leader != each.replicas[0]:
                    yield each.change(each.isr, each.replicas[0])


def write_log(folder: Path, base: int, epoch: int, size: int, records: Iterator[bytes]) -> int:
    """Write about so many bytes of segments; the offset behind the last record."""
    while size > 0:
        with (folder / f"{base:020d}.log").open("wb") as out:
            left = min(SEGMENT, size)
            while left > 0:
                rows = [(NOW, None, next(records), ()) for _ in range(RECORDS)]
                batch = build_batch(rows, base, partition_leader_epoch=epoch)
                left -= out.write(batch)
                base += RECORDS
            size -= out.tell()
    return base


def write_state(folder: Path, image: Image) -> None:
    name = f"{image.provenance.end_offset:020d}-{image.provenance.epoch:010d}.checkpoint"
    with (folder / name).open("wb") as out:
        write_snapshot(image, out.write, now_ms=NOW)


def make_node(folder: Path, partitions: int, size: int) -> Path:
    """A node's folder: a snapshot of so many partitions, about `size` bytes of log, and the snapshot at its end."""
    folder.mkdir(parents=True)
    image = cluster(partitions)
    write_state(folder, image)
    states = placed(image)
    end = write_log(folder, image.provenance.end_offset, image.provenance.epoch, size, restarts(states))
    decoder = Decoder()
    known = iter(states)
    for topic in image.topics.values():
        for number, value in image.partitions(topic):
            state = next(known)
            value |= {"partitionId": number, "topicId": topic.id_text, "isr": state.isr, "leader": state.leader}
            value |= {"leaderEpoch": state.leader_epoch, "partitionEpoch": state.partition_epoch}
            for name in ("leaderRecoveryState", "eligibleLeaderReplicas", "lastKnownElr"):
                if not value[name]:
                    del value[name]
            topic.partitions[number] = decoder.write("PartitionRecord", 2, value)
    image.provenance.end_offset, image.provenance.timestamp = end, NOW
    write_state(folder, image)
    return folder


def make_quorum(folder: Path, first: Path) -> list[Path]:
    """Folders of three nodes that have the first snapshot and the log of a node, one of them without the log's end."""
    nodes = [folder / f"n{number}" for number in (1, 2, 3)]
    files = sorted(first.glob("*.checkpoint"))[:1] + sorted(first.glob("*.log"))
    for node in nodes:
        node.mkdir(parents=True)
        for file in files:
            os.link(file, node / file.name)
    last = nodes[2] / files[-1].name
    data = last.read_bytes()
    last.unlink()
    end = max(each.end for each in batches(memoryview(data)) if isinstance(each, Batch) and each.end < len(data) * 0.9)
    last.write_bytes(data[:end])
    return nodes


if __name__ == "__main__":
    made = make_node(Path(sys.argv[1]) / "node", int(sys.argv[2]), int(sys.argv[3]))
    make_quorum(made.parent, made)
