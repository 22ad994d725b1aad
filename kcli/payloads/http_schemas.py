"""Finds schemas in a capture: those in the HTTP traffic of clients and a registry, on any port.

TLS is decrypted if its key log is given. Addresses of clients and passwords are not kept.
"""

import contextlib
import re
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any
from urllib.parse import quote, unquote

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.first_bytes import HTTP
from kcli.capture.kafka.connection import CapturedConnection
from kcli.capture.kafka.events import Kind
from kcli.capture.sinks import Sink
from kcli.capture.tls.layer import TlsLayer
from kcli.errors import InputError
from kcli.jsontext import loads
from kcli.payloads.entries import NEWEST, Entries, is_entry, native_path, native_references
from kcli.payloads.framing import SchemaId
from kcli.payloads.http import HttpExchanges, HttpRequest, HttpResponse
from kcli.payloads.schema import Schema
from kcli.payloads.schema_files import type_of_text

MOST_ENTRIES = 10_000
MOST_TEXT = 64 << 20  # the most bytes of schemas that are kept
BY_ID = re.compile(r".*/schemas/(ids|guids)/([\w-]{1,40})")
OF_SUBJECT = re.compile(r".*/subjects/([^/]+)(?:/versions(?:/[^/]+)?)?")
NATIVE = re.compile(
    r".*/apis/registry/v(\d)(/ids/(globalId|contentId)s/(\d{1,19})|/groups/[^/]+/artifacts/[^/]+/versions/[^/]+)"
    r"(/content|/references)?"
)
NEWER = re.compile(r".*/apis/registry/v[3-9]/")  # registries whose serializers write content ids
NATIVE_NEW = re.compile(r".*/apis/registry/v\d/groups/[^/]+/artifacts(?:/[^/]+/versions)?")

Row = dict[str, Any]


class CapturedSchemas:
    """A source of schemas (see PayloadDecoder): captures, which are read when a schema is first needed."""

    def __init__(self, paths: Sequence[str], options: DecodeOptions) -> None:
        """Prepare to read schemas from captures. options: only its memory and key logs are used."""
        self.paths = paths
        self.options = DecodeOptions(memory=options.memory, key_logs=options.key_logs)

    @cached_property
    def entries(self) -> Entries:
        """All schemas of the captures."""
        tap = Tap()
        if self.paths:
            with contextlib.suppress(InputError):  # the reader of the records reports it
                for _ in CaptureDecoder(self.paths, tap, self.options).read():
                    pass
        tap.join()
        return tap.entries

    def find(self, schema: SchemaId) -> Schema | None:
        """Return the schema with this id in the captures; None if they do not show it."""
        return self.entries.find(schema)


class Tap(Sink):
    """Ignores exchanges of Kafka, and keeps the schemas in those of HTTP."""

    learns = False

    def __init__(self) -> None:
        self.entries, self.size, self.count = Entries(), 0, 0
        self.native: list[Row] = []
        self.references: dict[str, list[Row]] = {}  # {path: references}

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        self.capture = capture
        capture.handover.layer = self.layer

    def layer(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> TlsLayer:
        """Return the reader of a connection that the core does not read."""
        handover = self.capture.handover
        make = partial(HttpConnection, ends, client, started, handover.bodies, handover.receive)

        def tapped() -> CapturedConnection:
            made = make()
            made.exchanges = HttpExchanges(self.pair)
            return made

        return TlsLayer(tapped, started, handover.keys, handover.tally.add_decrypted)

    def pair(self, request: HttpRequest, answer: HttpResponse) -> None:
        """Add the schemas in a request to a registry and its response."""
        if answer.status != 200 or self.count >= MOST_ENTRIES or self.size >= MOST_TEXT:
            return
        for entry in entries_of(request, answer):
            self.count += 1
            self.size += len(entry["schema"])
            self.entries.add(entry)
            self.native += [entry] if places(entry) else []
        if NEWER.match(request.path):
            self.entries.kinds = ("schemaId", "contentId", "globalId")
        if (found := references_of(request, answer)) is not None:
            self.count += 1
            self.references[found[0]] = found[1]

    def join(self) -> None:
        """Add references to schemas of Apicurio's own API, from other exchanges, or from the requests that created
        them.
        """
        for entry in self.native:
            for place in places(entry) if "references" in entry else ():
                self.references.setdefault(place, entry["references"])
        for entry in self.native:
            known = [self.references[place] for place in places(entry) if place in self.references]
            entry.setdefault("references", known[0] if known else [])


class HttpConnection(CapturedConnection):
    """A connection of any protocol, of which HTTP is read. It never counts as foreign, so that its bytes keep
    coming.
    """

    exchanges: HttpExchanges
    http: int | None = None  # the client's direction

    def data(self, d: int, ns: int, data: bytes) -> None:
        if self.http is None and self.foreign is None and not self.spoke and HTTP.match(self.first(d, data)):
            self.http = d if not data.startswith(b"HTTP/") else 1 - d
        if self.http is None:
            super().data(d, ns, data)
        else:
            self.exchanges.receive(d == self.http, data)

    def first(self, d: int, data: bytes) -> bytes:
        """Return the first bytes of a direction; b"" if it began before the capture."""
        return b"" if self.streams[d].buffer or self.streams[d].received else data[:64]

    @property
    def weight(self) -> int:
        return self.exchanges.size if self.http is not None else super().weight

    def lost(self, d: int, ns: int, count: int, kind: Kind, reason: str) -> None:
        if self.http is None:
            super().lost(d, ns, count, kind, reason)
        else:
            self.exchanges.fail()

    def give_up(self) -> None:
        if self.http is None:
            super().give_up()
        else:
            self.exchanges.fail()

    def close(self, ns: int, why: str, extra: tuple[int, int] = (0, 0)) -> None:
        if self.http is None:
            super().close(ns, why, extra)


def entries_of(request: HttpRequest, answer: HttpResponse) -> list[Row]:
    """Return the schemas in an exchange with a registry, as entries."""
    if (native := NATIVE.fullmatch(request.path)) is not None:
        return native_entries(native, answer)
    path = unquote(request.path)
    try:
        response: Any = loads(answer.body)
        request_body: Any = loads(request.body) if request.body else None
    except InputError:
        return []
    if (named := BY_ID.fullmatch(path)) is not None and is_entry(response):
        name = {"guid": named[2]} if named[1] == "guids" else {"id": int(named[2])} if named[2].isdigit() else {}
        return [response | name]
    if (subject := OF_SUBJECT.fullmatch(path)) is not None:
        if is_entry(response):
            return [{"subject": subject[1]} | response]
        if is_entry(request_body) and isinstance(response, dict) and isinstance(response.get("id"), int):
            return [{"schemaType": "AVRO"} | request_body | {"subject": subject[1]} | response]
    if path.endswith("/schemas") and isinstance(response, list):
        return [*filter(is_entry, response)]
    if NATIVE_NEW.fullmatch(path) and isinstance(response, dict):
        return created(request.body, request_body, response)
    return []


def native_entries(matched: re.Match[str], answer: HttpResponse) -> list[Row]:
    """Return the schema in a response of Apicurio's own API. Some paths have the schema in version 2, but data about it
    in version 3.
    """
    version, path, kind, number, part = matched.groups()
    if part == "/references" or (part is None and kind is None and version != "2"):
        return []
    text = answer.body.decode("utf-8", "replace")
    name: Row = {"subject": same_path(path), "version": NEWEST} if kind is None else {kind: int(number)}
    return [name | {"schema": text, "schemaType": type_of_text(text, answer.kind)}]


def references_of(request: HttpRequest, answer: HttpResponse) -> tuple[str, list[Row]] | None:
    """Return the path of a schema in Apicurio's own API and its references; None if the exchange has no references."""
    path = NATIVE.fullmatch(request.path)
    if path is None or path[5] != "/references":
        return None
    try:
        return same_path(path[2]), native_references(loads(answer.body))
    except InputError:
        return None


def same_path(path: str) -> str:
    """Return a path quoted as `native_path` does."""
    return "/".join(quote(unquote(part), safe="") for part in path.split("/"))


def places(entry: Row) -> list[str]:
    """Return the paths of a schema in Apicurio's own API: by each of its ids, and as a version."""
    paths = [f"/ids/{kind}s/{entry[kind]}" for kind in ("contentId", "globalId") if kind in entry]
    return paths + ([entry["subject"]] if str(entry.get("subject", "")).startswith("/groups/") else [])


def created(body: bytes, request: Any, response: Row) -> list[Row]:
    """Return the schema that a client registered by Apicurio's own API, which is the request's body or a part of it."""
    inner = response.get("version")
    version: Row = inner if isinstance(inner, dict) else response | {"artifactId": response.get("id")}
    first = request.get("firstVersion", request) if isinstance(request, dict) else None
    content = first.get("content") if isinstance(first, dict) else None
    if isinstance(content, str) and request.keys() <= {"content", "references"}:
        content = request  # of version 2
    text = content.get("content") if isinstance(content, dict) else body.decode("utf-8", "replace")
    made: Row = {name: version[name] for name in ("globalId", "contentId") if isinstance(version.get(name), int)}
    if not made or not isinstance(text, str):
        return []
    if version.get("artifactId") and version.get("version"):
        made |= {"subject": native_path(version), "version": NEWEST}
    if isinstance(content, dict) and content.get("references"):
        made["references"] = native_references(content["references"])
    kind = str(response.get("type") or version.get("artifactType") or "")
    return [made | {"schema": text, "schemaType": type_of_text(text, kind)}]
