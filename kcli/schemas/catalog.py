"""What kcli knows of Kafka's messages: the stock tables, with or without a dialect laid over them.

Opening a catalog costs about a millisecond: a message is read from its line of the tables when it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from kcli.errors import UsageError
from kcli.schemas.definition import build
from kcli.schemas.model import Api, Field, Message, Releases, Variant
from kcli.schemas.ranges import NONE, Range

__all__ = ["STOCK", "Api", "Catalog", "Field", "Message", "Range", "Releases", "Variant", "catalog"]

STOCK = Path(__file__).parent / "stock"

# Control records carry their type in their key (ControlRecordType in kafka-clients); these are their values.
CONTROL_RECORDS = {
    0: "EndTxnMarker",  # ABORT
    1: "EndTxnMarker",  # COMMIT
    2: "LeaderChangeMessage",
    3: "SnapshotHeaderRecord",
    4: "SnapshotFooterRecord",
    5: "KRaftVersionRecord",
    6: "VotersRecord",
}

catalogs: dict[str | None, Catalog] = {}


def catalog(dialect: str | None = None) -> Catalog:
    """The stock tables, or those under a dialect: the name of one that comes with kcli, or a directory of definitions.

    The same object each time. UsageError when there is no such dialect, SchemaError when its definitions make no sense.
    """
    found = catalogs.get(dialect)
    if found is None:
        found = Catalog(STOCK)
        if dialect is not None:
            from kcli.schemas.dialects import lay_over

            found = lay_over(found, dialect)
        catalogs[dialect] = found
    return found


class Catalog:
    """Messages by name, APIs by key, and which release has what."""

    def __init__(self, folder: Path) -> None:
        index = json.loads((folder / "index.json").read_bytes())
        self.releases: tuple[str, ...] = tuple(index["releases"])
        self.rows: dict[int, list[object]] = {row[0]: row for row in index["apis"]}
        self.numbered: dict[str, dict[str, str]] = index["records"]
        # Each line begins {"name":"...",
        lines = (folder / "messages.jsonl").read_text("utf-8").splitlines()
        self.lines = {line[9 : line.index('"', 9)]: line for line in lines}
        self.built: dict[str, Message] = {}

    @cached_property
    def apis(self) -> Mapping[int, Api]:
        """Every pair of request and response, by API key."""
        return MappingProxyType({key: api_from(self.rows[key]) for key in sorted(self.rows)})

    def api(self, key: int) -> Api | None:
        """The API of this key; None when there is none."""
        row = self.rows.get(key)
        return None if row is None else self.apis[key]

    def api_key(self, name: str) -> int:
        """The key of an API by its name in any usual form: "fetch", "Fetch", "FETCH", "list_offsets", "1". UsageError."""
        if name.isascii() and name.isdigit() and int(name) < 32768:
            return int(name)
        key = self.keys_by_name.get(plain(name))
        if key is None:
            raise UsageError(unknown("API", name, [api.name for api in self.apis.values()]))
        return key

    @cached_property
    def keys_by_name(self) -> dict[str, int]:
        found = {plain(alias): key for key, api in self.apis.items() for alias in api.aliases}
        found.update((plain(api.name), key) for key, api in self.apis.items())
        return found

    @property
    def names(self) -> list[str]:
        """The name of every message."""
        return [*self.lines, *(name for name in self.built if name not in self.lines)]

    def message(self, name: str) -> Message:
        """A message by its name, or by one that it had in an old release. UsageError when there is none."""
        found = self.built.get(name)
        if found is None:
            found = self.built[name] = self.load(name)
        return found

    def load(self, name: str) -> Message:
        line = self.lines.get(name)
        if line is None:
            current = self.current_names.get(name)
            if current is None:
                raise UsageError(unknown("message", name, self.names))
            return self.message(current)
        return build(json.loads(line))

    @cached_property
    def current_names(self) -> dict[str, str]:
        """Old name -> today's name."""
        pairs = [(name, build(json.loads(line))) for name, line in self.lines.items() if '"aliases":[' in line]
        return {alias: name for name, message in pairs for alias in message.aliases}

    def request(self, api_key: int) -> Message:
        return self.message(self.known(api_key).request)

    def response(self, api_key: int) -> Message:
        return self.message(self.known(api_key).response)

    def known(self, api_key: int) -> Api:
        found = self.api(api_key)
        if found is None:
            raise UsageError(f"API key {api_key}: not in the tables (there are 0 to {max(self.rows)})")
        return found

    def records(self, kind: str) -> Mapping[int, str]:
        """Record type -> message name.

        kind: "metadata", "control", or "group-", "transaction-", "share-" with "key" or "value". UsageError.
        """
        if kind == "control":
            return CONTROL_RECORDS
        named = self.numbered.get(kind)
        if named is None:
            raise UsageError(unknown("kind of record", kind, ["control", *self.numbered]))
        return {int(number): name for number, name in named.items()}

    def release(self, text: str) -> str:
        """The release that "4.4", "4.4.0" or "v3.9.1" names. UsageError when it is not in the tables."""
        wanted = ".".join(text.removeprefix("v").split(".")[:2])
        if wanted not in self.releases:
            raise UsageError(
                f"release {text}: not in the tables (there are {self.releases[0]} to {self.releases[-1]}: {', '.join(self.releases)})"
            )
        return wanted

    def release_versions(self, release: str, listener: str | None = None) -> Mapping[int, Range]:
        """API key -> the versions that a node of this release accepts unless told otherwise (KIP-896).

        listener: only what is accepted there, "broker", "controller" or "zkBroker" (before 2.8 there were only brokers).
        An API whose only version is marked unstable is left out. UsageError when the release is not in the tables.
        """
        wanted = self.release(release)
        found = {key: self.accepted(api.request, wanted, listener) for key, api in self.apis.items()}
        return {key: versions for key, versions in found.items() if versions}

    def accepted(self, request: str, release: str, listener: str | None) -> Range:
        for said in self.message(request).releases:
            if release in said and (not said.listeners or listener is None or listener in said.listeners):
                return said.enabled
        return NONE


def api_from(row: list[object]) -> Api:
    key, name, log_name, request, response, versions, flexible, aliases = row
    return Api(
        key=key,  # type: ignore[arg-type]
        name=name,  # type: ignore[arg-type]
        log_name=log_name,  # type: ignore[arg-type]
        request=request,  # type: ignore[arg-type]
        response=response,  # type: ignore[arg-type]
        versions=Range.parse(versions),  # type: ignore[arg-type]
        flexible=Range.parse(flexible),  # type: ignore[arg-type]
        aliases=tuple(aliases),  # type: ignore[arg-type]
    )


def plain(name: str) -> str:
    """A name without what people write differently."""
    bare = name.lower().replace("_", "").replace("-", "")
    return bare.removesuffix("request").removesuffix("response")


def unknown(what: str, name: str, names: list[str]) -> str:
    import difflib

    by_plain = {plain(each): each for each in names}
    near = difflib.get_close_matches(plain(name), list(by_plain), 1)
    return f"{name}: no such {what}" + (f"; did you mean {by_plain[near[0]]}?" if near else "")


