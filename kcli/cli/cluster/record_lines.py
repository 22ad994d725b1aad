"""Makes records to produce from lines of `kcli records --format jsonl`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kcli.cli.terminal.console import warn
from kcli.counting import counted
from kcli.errors import InputError
from kcli.jsontext import loads

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder
    from kcli.payloads.framing import Which

LONGEST_LINE = 256 << 20  # base64 of the largest record, and its other members
LARGEST_TIME = (1 << 63) - 1

Row = dict[str, Any]


class LineSource(Protocol):
    """A stream of lines."""

    def readline(self, most: int, /) -> bytes:
        """Return the next line, `most` bytes of it."""


class NewRecord(NamedTuple):
    """A record to produce. partition, timestamp (ms): None if the producer chooses."""

    key: bytes | None
    value: bytes | None
    partition: int | None = None
    timestamp: int | None = None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


def records_in(stream: LineSource, name: str, topic: str, decoder: PayloadDecoder | None) -> Iterator[NewRecord | None]:
    """Yield the record of each line; None for an empty line or a control record, which is left out.

    decoder: encodes `_key` and `_value`. Raises InputError for an invalid line, NetworkError if the registry can't be
    asked.
    """
    number = controls = 0
    while line := stream.readline(LONGEST_LINE):
        number += 1
        if not line.strip():
            yield None
            continue
        try:
            if len(line) == LONGEST_LINE:
                raise InputError(f"longer than {LONGEST_LINE:,} bytes")
            row = loads(line)
            if not isinstance(row, dict):
                raise InputError("an object expected")
            if "_control" in row:
                controls += 1
                yield None
                continue
            yield record_of(row, topic, decoder)
        except InputError as error:
            if decoder is not None:
                decoder.raise_failure()
            raise InputError(f"line {number}: {error.text}", file=name) from None
    if controls:
        warn(f"{counted(controls, 'control record')} left out: brokers write them")


def record_of(row: Row, topic: str, decoder: PayloadDecoder | None) -> NewRecord:
    """Make a record of a line's object. Raises InputError."""
    return NewRecord(
        content(row, "key", topic, decoder),
        content(row, "value", topic, decoder),
        whole(row, "partition", (1 << 31) - 1),
        whole(row, "timestamp", LARGEST_TIME),
        tuple(header(each) for each in listed(row)),
    )


def content(row: Row, which: Which, topic: str, decoder: PayloadDecoder | None) -> bytes | None:
    """Return a key's or a value's bytes: its payload encoded by the named schema or format, or the value as it is.

    Raises InputError.
    """
    payload = row.get(f"_{which}")
    if decoder is not None and isinstance(payload, dict) and "data" in payload:
        made = decoder.encode(topic, which, payload, row)
        if made is not None:
            return made
    if which not in row and which == "value":
        raise InputError("no value in it")
    return bytes_of(row.get(which), which)


def bytes_of(value: Any, name: str) -> bytes | None:
    """Return the bytes of kcli's JSON: text, {"base64"}, null. Raises InputError."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict) and isinstance(text := value.get("base64"), str):
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise InputError(f"{name}: not base64") from None
    if isinstance(value, dict) and "redacted" in value:
        raise InputError(f"{name}: a secret that was left out (--show-secrets shows it)")
    raise InputError(f'{name}: text, null or {{"base64": ...}} expected')


def whole(row: Row, name: str, most: int) -> int | None:
    """Return a number that is not negative; None if the row has no such member. Raises InputError."""
    value = row.get(name)
    if value is None or value == -1:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise InputError(f"{name}: a whole number from 0 to {most:,} expected")
    return value


def listed(row: Row) -> list[Any]:
    """Return the headers of a line. Raises InputError."""
    headers = row.get("headers") or []
    if not isinstance(headers, list):
        raise InputError("headers: a list expected")
    return headers


def header(each: Any) -> tuple[bytes, bytes | None]:
    if not isinstance(each, dict) or (key := bytes_of(each.get("key"), "headers: key")) is None:
        raise InputError('headers: {"key": ..., "value": ...} expected')
    return key, bytes_of(each.get("value"), "headers: value")
