"""A survey as plain values for JSON, and the names that tables share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcli.calendar import date_text, has_date
from kcli.schemas.catalog import catalog
from kcli.snapshots.image.partitions import FACTS
from kcli.snapshots.reading.decoding import upper_snake
from kcli.snapshots.reading.names import parse_snapshot_name, segment_offset

if TYPE_CHECKING:
    from kcli.snapshots.reading.file_survey import Survey

# Kinds of objects that have one record each in a snapshot, with the apiKeys of these records.
TOTALS = {
    "configs": (4,),
    "quotas": (14,),
    "acls": (18,),
    "scramCredentials": (11,),
    "delegationTokens": (10,),
}


def instant(ms: int | None) -> str | None:
    """Format ms as ISO 8601 in UTC with milliseconds. Returns None for None, negative values and times that datetime
    can't hold.
    """
    return f"{date_text(ms)}Z" if ms is not None and ms >= 0 and has_date(ms) else None


def type_name(key: int, dialect: str | None = None) -> str:
    """Return "PartitionRecord" for an apiKey; "type 99" for an unknown one."""
    return catalog(dialect).records("metadata").get(key, f"type {key}")


def survey_json(found: Survey, stats: bool = False) -> dict[str, Any]:
    """Return a survey as one JSON object; times are ISO 8601. stats: add KIP-630's measures."""
    name = parse_snapshot_name(found.file)
    base = segment_offset(found.file)
    form: dict[str, Any] = {
        "file": found.file,
        "kind": "log" if base is not None else "snapshot",
        "sizeInBytes": found.size,
    }
    if name is not None:
        form |= {"endOffset": name.id.end_offset, "epoch": name.id.epoch, "state": name.state}
    if base is not None:
        form |= {"baseOffset": base}
    form |= {
        "offsets": list(found.offsets or ()),
        "leaderEpochs": list(found.epochs or ()),
        "batches": found.batches,
        "controlBatches": found.control_batches,
        "compressions": found.compressions,
        "crcsValid": not found.bad_checksums,
        "records": found.records,
        "unread": found.unread,
        "metadataVersion": found.metadata_version,
        "features": found.features,
    }
    form |= header_json(found) if base is None else {}
    form["types"] = [
        {"type": upper_snake(type_name(key)), "apiKey": key, "version": version, "count": row[0], "bytes": row[1]}
        for (key, version), row in sorted(found.types.items())
    ]
    if base is None:
        form |= totals_json(found)
    form["problems"] = found.problems
    if stats:
        form["stats"] = stats_json(found)
    return form


def header_json(found: Survey) -> dict[str, Any]:
    header = found.control("SNAPSHOT_HEADER")
    return {
        "header": header,
        "lastContainedLogTime": instant(found.header_timestamp),
        "footer": found.control("SNAPSHOT_FOOTER"),
        "kRaftVersion": found.kraft_version,
        "voters": found.voters,
    }


def totals_json(found: Survey) -> dict[str, Any]:
    return {
        "brokers": found.brokers,
        "brokersFenced": found.fenced,
        "controllers": found.controllers,
        "topics": found.topics,
        "partitions": found.partitions,
        **{camel(name): found.facts.get(name, 0) for name in FACTS},
        **{name: found.count(*keys) for name, keys in TOTALS.items()},
        "largestTopics": [
            {"topic": topic, "partitions": partitions, "bytes": size} for topic, partitions, size in found.largest
        ],
    }


def camel(name: str) -> str:
    """Return a name like "log-end" in camel case."""
    first, *rest = name.split("-")
    return first + "".join(word.title() for word in rest)


def stats_json(found: Survey) -> dict[str, Any]:
    """Return KIP-630's measures. The generation time runs from the first timestamp of the batches to the last."""
    generated = None if found.timestamps is None else found.timestamps[1] - found.timestamps[0]
    return {
        "SnapshotSizeBytes": found.size,
        "GenSnapshotLatencyMs": generated,
        "LoadSnapshotLatencyMs": round(found.seconds * 1000, 3),
        "bytesPerRecord": round(found.size / found.records, 2) if found.records else None,
    }
