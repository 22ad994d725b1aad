"""Kafka's small text files: checkpoints, meta.properties and partition.metadata.

Each is written to a temporary file and renamed, so that it is never incomplete. The layouts are in grammar/checkpoints.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kcli.errors import DecodeError, InputError
from kcli.grammar.files.checkpoints import LEADER_EPOCH_CHECKPOINT, OFFSET_CHECKPOINT, PARTITION_METADATA
from kcli.grammar.words.structs import Struct
from kcli.java_properties import properties_text

Partition = tuple[str, int]


def replace(path: Path, text: str) -> None:
    """Write a file atomically, by a temporary file beside it. Raises OSError."""
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(text)
    beside.replace(path)


def read_entries(path: Path, grammar: Struct) -> list[dict[str, Any]]:
    """Read the entries of a checkpoint; [] if there is no file. Raises InputError if it is no checkpoint."""
    try:
        return list(grammar.parse(path.read_bytes())["entries"])
    except FileNotFoundError:
        return []
    except DecodeError as error:
        raise InputError(f"not a checkpoint: {error}", file=str(path)) from None


def write_entries(path: Path, grammar: Struct, entries: list[dict[str, Any]]) -> None:
    replace(path, grammar.build({"version": 0, "entries": entries}).decode())


def read_epochs(path: Path) -> list[tuple[int, int]]:
    """Read (leader epoch, first offset) pairs. Raises InputError if the file is no checkpoint."""
    return [(each["epoch"], each["startOffset"]) for each in read_entries(path, LEADER_EPOCH_CHECKPOINT)]


def write_epochs(path: Path, epochs: Iterable[tuple[int, int]]) -> None:
    """Write (leader epoch, first offset) pairs. Raises OSError."""
    entries = [{"epoch": epoch, "startOffset": start} for epoch, start in epochs]
    write_entries(path, LEADER_EPOCH_CHECKPOINT, entries)


def read_offsets(path: Path) -> dict[Partition, int]:
    """Read offsets by (topic, partition). Raises InputError if the file is no checkpoint."""
    found = read_entries(path, OFFSET_CHECKPOINT)
    return {(each["topic"], each["partition"]): each["offset"] for each in found}


def write_offsets(path: Path, offsets: Mapping[Partition, int]) -> None:
    """Write offsets by (topic, partition). Raises OSError."""
    entries = [
        {"topic": topic, "partition": partition, "offset": offset}
        for (topic, partition), offset in sorted(offsets.items())
    ]
    write_entries(path, OFFSET_CHECKPOINT, entries)


def write_properties(path: Path, properties: Mapping[str, object]) -> None:
    """Write a Java properties file. Raises OSError."""
    replace(path, properties_text(properties))


def read_topic_id(folder: Path) -> str | None:
    """Read the topic id in a partition's folder; None if there is no valid partition.metadata."""
    try:
        return str(PARTITION_METADATA.parse((folder / "partition.metadata").read_bytes())["topicId"])
    except (FileNotFoundError, DecodeError):
        return None


def write_topic_id(folder: Path, topic_id: str) -> None:
    """Write partition.metadata with the topic's id. Raises OSError."""
    replace(folder / "partition.metadata", PARTITION_METADATA.build({"version": 0, "topicId": topic_id}).decode())
