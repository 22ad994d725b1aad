"""Where the fetches to replay come from: a capture, or the JSON lines of `kcli decode pcap`, edited or not."""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from kcli.capture import exchanges
from kcli.capture.clock import parse_instant
from kcli.client.replay.names import TopicNames
from kcli.client.replay.plan import Captured
from kcli.errors import InputError, UsageError
from kcli.sessions.trace import FETCH

__all__ = ["read_fetches", "read_lines"]


def read_fetches(file: str, names: TopicNames, dialect: str | None = None) -> Iterator[Captured]:
    """The Fetch exchanges of a file ("-": standard input); `names` learns the topics' names on the way.

    Raises InputError for what is neither a capture nor such lines (at the end, when the rest was read).
    """
    if file == "-":
        yield from read_stdin(names, dialect)
        return
    with Path(file).open("rb") as stream:
        if is_json(stream.read(64)):
            stream.seek(0)
            yield from read_lines(stream, file, names)
            return
    yield from read_capture(file, names, dialect)


def is_json(start: bytes) -> bool:
    return start.lstrip()[:1] == b"{"


def read_stdin(names: TopicNames, dialect: str | None) -> Iterator[Captured]:
    stream = sys.stdin.buffer
    assert isinstance(stream, io.BufferedReader)
    if is_json(stream.peek(64)[:64]):
        yield from read_lines(stream, "standard input", names)
        return
    # What was looked at can't be put back into a pipe.
    with tempfile.NamedTemporaryFile(suffix=".pcap") as spool:
        shutil.copyfileobj(stream, spool)
        spool.flush()
        yield from read_capture(spool.name, names, dialect)


def read_capture(file: str, names: TopicNames, dialect: str | None) -> Iterator[Captured]:
    for item in exchanges.read([file], dialect=dialect):
        if not isinstance(item, exchanges.Exchange):
            continue
        names.learn(item.api_key, item.request, item.response)
        if item.api_key != FETCH or item.request is None:
            continue
        made = Captured(item.link.server, item.connection, item.header, item.request_ns, item.response_ns)
        made.request_bytes, made.response_bytes = item.request_bytes, item.response_bytes or 0
        yield made.read(item.request, item.response)


def read_lines(stream: BinaryIO, file: str, names: TopicNames) -> Iterator[Captured]:
    """The fetches among JSON lines; a line that is not one of `decode pcap` is an InputError with its number."""
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            made = None if "event" in value else read_line(value, names)
        except (ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(
                f"line {number} is not one of `kcli decode pcap --format jsonl`: {reason}", file=file
            ) from None
        if made is not None:
            yield made


def read_line(value: Mapping[str, Any], names: TopicNames) -> Captured | None:
    header, request, response = value["requestHeader"], value["request"], value["response"]
    names.learn(header["requestApiKey"], request, response)
    if header["requestApiKey"] != FETCH or request is None:
        return None
    ns = parse_instant(value["timestamp"])
    latency = value.get("latencyMs")
    answered = None if latency is None else ns + round(latency * 1e6)
    connection = value["connection"]
    made = Captured(server_of(connection), connection, header, ns, answered)
    made.request_bytes, made.response_bytes = value.get("requestBytes") or 0, value.get("responseBytes") or 0
    return made.read(request, response)


def server_of(connection: str) -> str:
    """The first half of "server:port-client:port"."""
    server, dash, _ = connection.partition("-")
    if not dash:
        raise ValueError(f"connection {connection!r} is not SERVER:PORT-CLIENT:PORT")
    return server
