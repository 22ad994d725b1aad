"""The record vectors in tests/records/data, and batches to vary in tests."""

import base64
import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kcli.records.builder import build_batch, build_marker, build_message_set

__all__ = [
    "Case",
    "Sent",
    "as_kafka",
    "bad",
    "content",
    "fetches",
    "good",
    "kafkas_records",
    "mixed_batches",
    "named",
    "records_as_kafka",
    "truth",
]

DATA = Path(__file__).parent / "data"
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A segment, the rows of Kafka's dump, and by magic the converted bytes or the name of Kafka's error."""

    name: str
    data: bytes
    dump: list[Row]
    converted: dict[int, Any]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Sent:
    name: str
    data: bytes
    magic: int
    options: Row
    error: str | None
    size: int
    sha256: str

    def __str__(self) -> str:
        return self.name


def rows(name: str) -> list[Row]:
    return [json.loads(line) for line in gzip.decompress((DATA / name).read_bytes()).splitlines()]


def outcome(row: Row) -> Any:
    if "error" in row:
        return row["error"]
    return base64.b64decode(row["output"]) if "output" in row else (row["bytes"], row["sha256"])


@cache
def good() -> list[Case]:
    return [case(row) for row in rows("good.jsonl.gz")]


@cache
def bad() -> list[Case]:
    return [case(row) for row in rows("bad.jsonl.gz")]


def case(row: Row) -> Case:
    converted = {magic: outcome(row[f"v{magic}"]) for magic in (0, 1)}
    return Case(row["name"], base64.b64decode(row["input"]), row["dump"], converted)


def named(name: str) -> bytes:
    return next(case.data for case in (*good(), *bad()) if case.name == name)


@cache
def fetches() -> list[Sent]:
    first, *others = rows("fetch.jsonl.gz")
    inputs = {name: base64.b64decode(text) for name, text in first["inputs"].items()}
    return [
        Sent(row["name"], inputs[row["input"]], row["magic"], row["options"], row["error"], row["bytes"], row["sha256"])
        for row in others
    ]


def truth(dump: list[Row]) -> list[tuple[Row, list[Row]]]:
    """Kafka's dump as batches with their records; "error" in a batch whose records it could not read."""
    batches: list[tuple[Row, list[Row]]] = []
    for row in dump:
        if row["type"] == "batch":
            batches.append((dict(row), []))
        elif row["type"] == "record" and batches:
            batches[-1][1].append(row)
        elif row["type"] == "error" and batches:
            batches[-1][0].setdefault("error", row["error"])
    return batches


def mixed_batches() -> bytes:
    """Batches of each magic and codec one after another, a marker among them."""
    headed = [(1000 + n, b"k%d" % n, b"value %d" % n * 5, [("h", b"x"), ("n", None)]) for n in range(5)]
    plain = [(2000 + n, None if n % 2 else b"key", b"v" * 40) for n in range(4)]
    parts, offset = [], 0
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        parts.append(build_batch(headed, offset, codec=codec, producer_id=7, producer_epoch=1, base_sequence=offset))
        offset += len(headed)
        if codec != "zstd":
            for magic in (0, 1):
                parts.append(build_message_set(plain, offset, magic=magic, codec=codec))
                offset += len(plain)
    return b"".join([*parts, build_marker(True, 3000, offset, 7, 1, 2)])


# How kcli's JSON and Kafka's dump are compared.
SHARED = ("lastOffset", "magic", "compression", "sizeInBytes", "crc")
OF_MAGIC_2 = (
    "baseOffset",
    "isTransactional",
    "isControl",
    "partitionLeaderEpoch",
    "producerId",
    "producerEpoch",
    "baseSequence",
    "count",
)
OF_TIME = ("maxTimestamp", "timestampType")


def content(value: Any) -> str | None:
    if value is None:
        return None
    return str(value["base64"]) if isinstance(value, dict) else base64.b64encode(value.encode()).decode()


def as_kafka(row: dict[str, Any]) -> dict[str, Any]:
    names = SHARED + OF_TIME * (row["magic"] > 0) + OF_MAGIC_2 * (row["magic"] > 1)
    return {name: row[name] for name in names}


def records_as_kafka(row: dict[str, Any], timed: bool) -> list[tuple[Any, ...]]:
    return [
        (
            record["offset"],
            record["timestamp"] if timed else -1,
            content(record["key"]),
            content(record["value"]),
            [[header["key"], content(header["value"])] for header in record["headers"]],
        )
        for record in row["records"]
    ]


def kafkas_records(records: list[dict[str, Any]], timed: bool) -> list[tuple[Any, ...]]:
    return [(r["offset"], r["timestamp"] if timed else -1, r["key"], r["value"], r.get("headers", [])) for r in records]
