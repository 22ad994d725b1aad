"""Kafka's small text files: checkpoints, meta.properties and partition.metadata.

A checkpoint is a version (0), a count, then one line an entry. Each is written beside its place and moved there, so
that it is whole or absent. Source: Kafka's CheckpointFile, LeaderEpochCheckpointFile, OffsetCheckpointFile,
PartitionMetadataFile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kcli.errors import InputError

__all__ = [
    "read_epochs",
    "read_offsets",
    "read_properties",
    "read_topic_id",
    "replace",
    "write_epochs",
    "write_offsets",
]
__all__ += ["write_properties", "write_topic_id"]

Partition = tuple[str, int]


def replace(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(text)
    beside.replace(path)


def read_lines(path: Path) -> list[str]:
    """The entries of a checkpoint; none where there is no file. InputError when it is not one."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return []
    if len(lines) < 2 or lines[0] != "0" or not lines[1].isdigit() or len(lines) - 2 != int(lines[1]):
        raise InputError("not a checkpoint of version 0 with as many lines as it says", file=str(path))
    return lines[2:]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    entries = list(lines)
    replace(path, "\n".join(["0", str(len(entries)), *entries]) + "\n")


def read_epochs(path: Path) -> list[tuple[int, int]]:
    """(leader epoch, its first offset), rising."""
    return [(int(epoch), int(start)) for epoch, start in (line.split() for line in read_lines(path))]


def write_epochs(path: Path, epochs: Iterable[tuple[int, int]]) -> None:
    write_lines(path, (f"{epoch} {start}" for epoch, start in epochs))


def read_offsets(path: Path) -> dict[Partition, int]:
    """Offsets by (topic, partition)."""
    split = (line.rsplit(" ", 2) for line in read_lines(path))
    return {(topic, int(partition)): int(offset) for topic, partition, offset in split}


def write_offsets(path: Path, offsets: Mapping[Partition, int]) -> None:
    write_lines(path, (f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())))


def read_properties(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def write_properties(path: Path, properties: Mapping[str, object]) -> None:
    replace(path, "#\n" + "".join(f"{key}={value}\n" for key, value in properties.items()))


def read_topic_id(folder: Path) -> str | None:
    """The topic id in a partition's folder, None where there is none."""
    try:
        text = (folder / "partition.metadata").read_text()
    except FileNotFoundError:
        return None
    found = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("topic_id")]
    return found[0] if found else None


def write_topic_id(folder: Path, topic_id: str) -> None:
    replace(folder / "partition.metadata", f"version: 0\ntopic_id: {topic_id}\n")
