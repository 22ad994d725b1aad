"""The folder of a node that has seen something: brokers that leave, leaders that move, another leader of the quorum."""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kcli.grammar import messages
from kcli.records.builder import build_batch, build_control_batch
from kcli.schemas.catalog import catalog
from kcli.snapshots.reading.decoding import Decoder
from tests.snapshots.made import NAME, TOPIC_ID, snapshot

__all__ = ["FIRST", "eventful", "leader_change", "metadata_batch"]

FIRST = 1_700_000_000_000  # ms: of the first batch
Record = tuple[str, dict[str, Any]]


def metadata_batch(offset: int, *records: Record, time: int = FIRST, epoch: int = 3, newest: bool = False) -> bytes:
    """A batch of metadata records, {"brokerId": 1} and so on; newest: of the version, else they are of version 0."""
    versions = {name: catalog().message(name).versions.hi if newest else 0 for name, _ in records}
    rows = [(time, None, Decoder().write(name, versions[name], value), ()) for name, value in records]
    return build_batch(rows, offset, partition_leader_epoch=epoch)


def leader_change(offset: int, leader: int, epoch: int, time: int) -> bytes:
    """The control batch that begins a leader epoch."""
    value = messages.data("LeaderChangeMessage", 0).write({"version": 0, "leaderId": leader, "voters": []})
    row = (struct.pack(">hh", 0, 2), value)
    return build_control_batch([row], time, offset, partition_leader_epoch=epoch)


def change(partition: int, **values: Any) -> Record:
    return "PartitionChangeRecord", {"topicId": TOPIC_ID, "partitionId": partition, **values}


def eventful(folder: Path, topics: Iterable[str] = ()) -> Path:
    """A minute in which broker 1 is fenced and comes back, partition 0 is led by 2, then by none; epoch 4 begins.

    topics: that are made at the end, each with a partition that has no leader.
    """
    place = folder / "__cluster_metadata-0"
    place.mkdir(parents=True)
    (place / NAME).write_bytes(snapshot())
    parts = [
        metadata_batch(100, ("NoOpRecord", {})),
        metadata_batch(
            101, ("FenceBrokerRecord", {"id": 1, "epoch": 11}), change(0, isr=[2, 3], leader=2), time=FIRST + 10_000
        ),
        metadata_batch(103, ("UnfenceBrokerRecord", {"id": 1, "epoch": 11}), time=FIRST + 20_000),
        leader_change(104, 7, 4, FIRST + 30_000),
        metadata_batch(105, change(0, isr=[2, 3, 1]), time=FIRST + 40_000, epoch=4),
        metadata_batch(106, change(0, leader=-1, isr=[2]), time=FIRST + 60_000, epoch=4),
    ]
    records: list[Record] = []
    for number, name in enumerate(topics):
        identity = f"{number:021d}A"
        records.append(("TopicRecord", {"name": name, "topicId": identity}))
        values = {"partitionId": 0, "topicId": identity, "replicas": [1], "isr": [1], "leader": -1, "leaderEpoch": 0}
        records.append(
            ("PartitionRecord", values | {"partitionEpoch": 0, "removingReplicas": [], "addingReplicas": []})
        )
    if records:
        parts.append(metadata_batch(107, *records, time=FIRST + 60_000, epoch=4))
    (place / f"{100:020d}.log").write_bytes(b"".join(parts))
    return place
