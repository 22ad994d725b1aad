"""Schemas that a capture shows: what clients and a registry said to each other by HTTP, on whatever port.

TLS is taken off where its key log is given. Who asked, and by which password, is not kept.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any
from urllib.parse import unquote

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.first_bytes import HTTP
from kcli.capture.kafka.connection import CapturedConnection
from kcli.capture.kafka.events import Kind
from kcli.capture.sink import Sink
from kcli.capture.tls.layer import TlsLayer
from kcli.errors import InputError
from kcli.jsontext import loads
from kcli.payloads.entries import Entries, is_entry
from kcli.payloads.framing import SchemaId
from kcli.payloads.http import Answer, Exchanges, Request
from kcli.payloads.schema import Schema
from kcli.payloads.schema_files import type_of_text

MOST_ENTRIES = 10_000
MOST_TEXT = 64 << 20  # bytes of schemas that are kept
BY_ID = re.compile(r".*/schemas/(ids|guids)/([\w-]{1,40})")
OF_SUBJECT = re.compile(r".*/subjects/([^/]+)(?:/versions(?:/[^/]+)?)?")
NATIVE_ID = re.compile(r".*/apis/registry/v\d/ids/(globalId|contentId)s/(\d{1,19})")
NATIVE_NEW = re.compile(r".*/apis/registry/v\d/groups/[^/]+/artifacts(?:/[^/]+/versions)?")

Row = dict[str, Any]


class CapturedSchemas:
    """A source of schemas (see PayloadDecoder): captures, which are read when a schema is first asked for."""

    def __init__(self, paths: Sequence[str], options: DecodeOptions) -> None:
        """Prepare to read schemas from captures. options: ports, memory and key logs of them count."""
        self.paths = paths
        self.options = DecodeOptions(memory=options.memory, key_logs=options.key_logs)

    @cached_property
    def entries(self) -> Entries:
        """All schemas of the captures."""
        tap = Tap()
        if self.paths:
            with contextlib.suppress(InputError):  # who reads the records says it
                for _ in CaptureDecoder(self.paths, tap, self.options).read():
                    pass
        return tap.entries

    def find(self, schema: SchemaId) -> Schema | None:
        """See Source."""
        return self.entries.find(schema)


class Tap(Sink):
    """Drops exchanges of Kafka's, and keeps the schemas in those of HTTP."""

    learns = False

    def __init__(self) -> None:
        self.entries, self.size, self.count = Entries(), 0, 0

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        """See Sink."""
        self.capture = capture
        capture.handover.layer = self.layer

    def layer(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> TlsLayer:
        """Make what reads a connection that the core does not read."""
        handover = self.capture.handover
        make = partial(HttpConnection, ends, client, started, handover.bodies, handover.receive)

        def tapped() -> CapturedConnection:
            made = make()
            made.exchanges = Exchanges(self.pair)
            return made

        return TlsLayer(tapped, started, handover.keys, handover.tally.add_decrypted)

    def pair(self, request: Request, answer: Answer) -> None:
        """Take what was asked of a registry and answered."""
        if answer.status != 200 or self.count >= MOST_ENTRIES or self.size >= MOST_TEXT:
            return
        for entry in entries_of(request, answer):
            self.count += 1
            self.size += len(entry["schema"])
            self.entries.add(entry)


class HttpConnection(CapturedConnection):
    """A connection of any protocol, of which HTTP is read: it is never foreign, so that its bytes keep coming."""

    exchanges: Exchanges
    http: int | None = None  # the end that asks

    def data(self, d: int, ns: int, data: bytes) -> None:
        """See CapturedConnection."""
        if self.http is None and self.foreign is None and not self.spoke and HTTP.match(self.first(d, data)):
            self.http = d if not data.startswith(b"HTTP/") else 1 - d
        if self.http is None:
            super().data(d, ns, data)
        else:
            self.exchanges.receive(d == self.http, data)

    def first(self, d: int, data: bytes) -> bytes:
        """Return what an end begins with; nothing where it began before."""
        return b"" if self.streams[d].buffer or self.streams[d].received else data[:64]

    @property
    def weight(self) -> int:
        """See ConnectionState."""
        return self.exchanges.size if self.http is not None else super().weight

    def lost(self, d: int, ns: int, count: int, kind: Kind, reason: str) -> None:
        """See CapturedConnection."""
        if self.http is None:
            super().lost(d, ns, count, kind, reason)
        else:
            self.exchanges.fail()

    def give_up(self) -> None:
        """See CapturedConnection."""
        if self.http is None:
            super().give_up()
        else:
            self.exchanges.fail()

    def close(self, ns: int, why: str, extra: tuple[int, int] = (0, 0)) -> None:
        """See CapturedConnection."""
        if self.http is None:
            super().close(ns, why, extra)


def entries_of(request: Request, answer: Answer) -> list[Row]:
    """Return the schemas in an exchange with a registry, as entries."""
    path = unquote(request.path)
    if (native := NATIVE_ID.fullmatch(path)) is not None:
        text = answer.body.decode("utf-8", "replace")
        return [{native[1]: int(native[2]), "schema": text, "schemaType": type_of_text(text, answer.kind)}]
    try:
        said: Any = loads(answer.body)
        asked: Any = loads(request.body) if request.body else None
    except InputError:
        return []
    if (named := BY_ID.fullmatch(path)) is not None and is_entry(said):
        name = {"guid": named[2]} if named[1] == "guids" else {"id": int(named[2])} if named[2].isdigit() else {}
        return [said | name]
    if (subject := OF_SUBJECT.fullmatch(path)) is not None:
        if is_entry(said):
            return [{"subject": subject[1]} | said]
        if is_entry(asked) and isinstance(said, dict) and isinstance(said.get("id"), int):
            return [{"schemaType": "AVRO"} | asked | {"subject": subject[1]} | said]
    if path.endswith("/schemas") and isinstance(said, list):
        return [*filter(is_entry, said)]
    if NATIVE_NEW.fullmatch(path) and isinstance(said, dict):
        return created(request.body, asked, said)
    return []


def created(body: bytes, asked: Any, said: Row) -> list[Row]:
    """Return the schema that a client registered by Apicurio's own API: the request's body, or part of it."""
    inner = said.get("version")
    version: Row = inner if isinstance(inner, dict) else said
    first = asked.get("firstVersion", asked) if isinstance(asked, dict) else None
    content = first.get("content") if isinstance(first, dict) else None
    text = content.get("content") if isinstance(content, dict) else body.decode("utf-8", "replace")
    ids: Row = {name: version[name] for name in ("globalId", "contentId") if isinstance(version.get(name), int)}
    kind = str(said.get("type") or version.get("artifactType") or "")
    return [ids | {"schema": text, "schemaType": type_of_text(text, kind)}] if ids and isinstance(text, str) else []
