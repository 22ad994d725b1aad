"""Rates the plausibility of a message's values, as bytes read at a wrong place give odd names, codes and numbers."""

import base64
import re
from collections.abc import Iterable
from typing import Any

from kcli.core.records.batches import LENGTH_END, MAGIC_AT, SIZE_AT
from kcli.grammar.words.trace import Span
from kcli.schemas.errors import ERRORS

NONSENSE = 8.0  # a value that no client or broker writes
IMPLAUSIBLE, STRANGE = 4.0, 2.0
FITTING = -2.0  # batches that end exactly at the field's end, which is hardly a coincidence
LAST = re.compile(r"([^.\[\]]+)(?:\[\d+\])?$")
NAME = re.compile(r"[A-Za-z0-9._~:/@*%+=-]*", re.ASCII)
SMALL = re.compile(
    r"(partition|index|partitionIndex|nodeId|brokerId|leaderId|leader|controllerId|coordinatorId|replicaId"
    r"|replicaNodes|isrNodes|offlineReplicas|replicas|isr|port|acks|.*[eE]poch|generationId.*|.*Port)$"
)
VERSIONED = re.compile(r"(apiKey|.*[vV]ersion|.*VersionLevel)$")
UNIQUE = re.compile(
    r"\]\.(apiKey|partition|index|partitionIndex|nodeId|brokerId|name|topicId)$|([rR]eplica|isr|offline|partition)\w*\[\d+\]$"
)
TIMES = re.compile(r".*(imestamp|TimeMs|Time)$")
YEAR_2001, YEAR_2096 = 10**12, 4 * 10**12  # in ms


def oddness(spans: Iterable[Span]) -> float:
    """Return the sum of all fields' oddness, about 0 for messages of real clients and brokers."""
    listed = list(spans)
    return sum(of_value(span) for span in listed) + STRANGE * repeated(listed)


def repeated(spans: list[Span]) -> int:
    """Return how many ids are repeated within an array: brokers, partitions, APIs."""
    seen, count = set[tuple[str, Any]](), 0
    for span in spans:
        if "]" in span.path and UNIQUE.search(span.path):
            head, _, tail = span.path.rpartition("[")
            key = head + tail.partition("]")[2], span.value
            count += key in seen
            seen.add(key)
    return count


def of_value(span: Span) -> float:
    """Return how unlikely a value is, in the units of this module; 0.0 for a plausible value."""
    value, type_ = span.value, span.type
    if value is None:
        return 0.0
    if isinstance(value, bool):
        return 0.0
    if isinstance(value, int):
        return of_number(name_of(span.path), type_, value)
    if type_.endswith("string"):
        return of_text(name_of(span.path), value)
    if type_.endswith("records"):
        return of_records(value)
    if type_ == "uuid":
        return of_uuid(span)
    return NONSENSE if type_ == "unknown tagged field" else 0.0


def name_of(path: str) -> str:
    found = LAST.search(path)
    return found[1] if found else path


def of_number(name: str, type_: str, value: int) -> float:
    """Return how unlikely a number is for a field with this name and type."""
    if name == "errorCode":
        return 0.0 if value in ERRORS else NONSENSE
    if name == "_tags":
        return STRANGE * value
    if name == "correlationId":
        return 0.0
    if value in (0, -1):
        return 0.0
    bits = abs(value).bit_length()
    if type_ == "int8":
        return 0.0 if -2 <= value < 16 else IMPLAUSIBLE
    if VERSIONED.match(name) and type_ == "int16":
        return 0.0 if 0 < value < 100 else IMPLAUSIBLE
    if SMALL.match(name):
        return (0.0 if 0 < value <= 0xFFFF else IMPLAUSIBLE if value > 0 else NONSENSE) + bits / 16
    if type_ == "int64":
        if TIMES.match(name):
            return 0.0 if YEAR_2001 < value < YEAR_2096 or value in (-2, -3, -4, -5) else IMPLAUSIBLE
        return bits / 16 if value > 0 else STRANGE if value > -6 else NONSENSE
    return bits / 16 + (STRANGE if value < 0 else 0.0)


def of_text(name: str, value: str) -> float:
    unprintable = sum(not 0x20 <= ord(char) < 0x7F for char in value[:256])
    if unprintable:
        return NONSENSE + unprintable
    empty = STRANGE if not value and name in ("name", "host", "topic", "groupId", "topicName") else 0.0
    return empty + (0.0 if NAME.fullmatch(value) else 0.5)


def of_records(value: Any) -> float:
    """Return how odd records are; plausible batches follow each other up to the end, with length and magic at fixed
    offsets.
    """
    data, at = bytes(value), 0
    while at + MAGIC_AT < len(data):
        if data[at + MAGIC_AT] > 2:
            return NONSENSE
        at += LENGTH_END + int.from_bytes(data[at + SIZE_AT : at + LENGTH_END], "big")
    return IMPLAUSIBLE if at != len(data) else FITTING if data else 0.0


def of_uuid(span: Span) -> float:
    """Return how odd a uuid is; Kafka's ids are random (version 4) or small numbers."""
    raw = base64.urlsafe_b64decode(str(span.value) + "==")
    if raw[:15] == bytes(15) or (raw[6] >> 4 == 4 and raw[8] >> 6 == 2):
        return 0.0
    return NONSENSE
