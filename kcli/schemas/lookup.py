"""A catalog of Kafka's messages: messages by name, APIs by key, and the versions that each release accepts.

Opening one takes about a millisecond, as a message is built from its line of the tables on first use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kcli.errors import UsageError
from kcli.nearest import did_you_mean, nearest
from kcli.schemas.definition import build
from kcli.schemas.model import Api, Message
from kcli.schemas.ranges import NONE, Range

if TYPE_CHECKING:
    from kcli.schemas.checks.definition_check import SchemaFinding
    from kcli.schemas.vectors.notes import Notes

STOCK = Path(__file__).parent / "stock"

# The values of control records, by the type in their key (ControlRecordType in kafka-clients).
CONTROL_RECORDS = {
    0: "EndTxnMarker",  # ABORT
    1: "EndTxnMarker",  # COMMIT
    2: "LeaderChangeMessage",
    3: "SnapshotHeaderRecord",
    4: "SnapshotFooterRecord",
    5: "KRaftVersionRecord",
    6: "VotersRecord",
}


class Catalog:
    """Messages by name, APIs by key, and the versions of each release."""

    def __init__(
        self,
        releases: tuple[str, ...],
        rows: dict[int, list[Any]],
        numbered: dict[str, dict[str, str]],
        lines: dict[str, str],
        folder: Path = STOCK,
    ) -> None:
        self.releases = releases
        self.rows = rows
        self.numbered = numbered
        self.lines = lines
        self.folder = folder
        self.built: dict[str, Message] = {}
        self.by_release: dict[tuple[str, str | None], Mapping[int, Range]] = {}
        # The messages of a dialect, and the findings about its definitions.
        self.laid: dict[str, Message] = {}
        self.written: dict[str, Message] = {}  # as the dialect has them, without Apache's other versions
        self.laid_notes: dict[str, Notes] = {}
        # By API key: a dialect's request without response, or the reverse.
        self.unpaired: dict[int, Message] = {}
        # By API key: the versions of a dialect that Apache's tables don't have, or have with other bytes; the latter.
        self.drafted: dict[int, Range] = {}
        self.rewritten: dict[int, Range] = {}
        self.findings: list[SchemaFinding] = []

    @classmethod
    def open(cls, folder: Path) -> Catalog:
        """Return the catalog of the tables in a directory."""
        index = json.loads((folder / "index.json").read_bytes())
        # Each line begins {"name":"...",
        lines = (folder / "messages.jsonl").read_text("utf-8").splitlines()
        by_name = {line[9 : line.index('"', 9)]: line for line in lines}
        return cls(tuple(index["releases"]), {row[0]: row for row in index["apis"]}, index["records"], by_name, folder)

    @cached_property
    def errors(self) -> Mapping[int, str]:
        """Error code -> name, including those of a dialect."""
        from kcli.schemas.errors import ERRORS, read_table

        return ERRORS if self.folder == STOCK else {code: name for code, name, _, _ in read_table(self.folder)}

    def copy(self) -> Catalog:
        """Return a copy, over which a dialect can be laid."""
        numbered = {kind: dict(named) for kind, named in self.numbered.items()}
        return Catalog(self.releases, dict(self.rows), numbered, self.lines, self.folder)

    @cached_property
    def apis(self) -> Mapping[int, Api]:
        """Every API (a request and its response), by key."""
        return MappingProxyType({key: api_from(self.rows[key]) for key in sorted(self.rows)})

    def api(self, key: int) -> Api | None:
        """Return the API with this key; None if there is none."""
        row = self.rows.get(key)
        return None if row is None else self.apis[key]

    def knows(self, key: int, version: int) -> bool:
        """Return whether there is an API with this key and version."""
        api = self.api(key)
        return api is not None and version in api.versions

    def api_key(self, name: str | int) -> int:
        """Return the key of an API by its name in any spelling ("fetch", "LIST_OFFSETS"), or by key ("1", 1). Raises
        UsageError.
        """
        if isinstance(name, int) and not isinstance(name, bool) and -32768 <= name < 32768:
            return name
        if not isinstance(name, str):
            raise UsageError(f"{name!r}: no such API; a name (Fetch) or a key (1) expected")
        if name.isascii() and name.isdigit() and int(name) < 32768:
            return int(name)
        key = self.keys_by_name.get(plain(name))
        if key is None:
            for message in self.unpaired.values():
                if plain(message.name) == plain(name):
                    raise UsageError(f"{message.name}: {without_counterpart(message)}")
            raise UsageError(unknown("API", name, [api.name for api in self.apis.values()]))
        return key

    @cached_property
    def keys_by_name(self) -> dict[str, int]:
        """API keys by name, including old names, in the form of `plain`."""
        found = {plain(alias): key for key, api in self.apis.items() for alias in api.aliases}
        found.update((plain(api.name), key) for key, api in self.apis.items())
        return found

    @property
    def names(self) -> list[str]:
        """The name of every message."""
        return [*self.lines, *(name for name in self.laid if name not in self.lines)]

    def message(self, name: str) -> Message:
        """Return a message by its name, or by a name in an old release. Raises UsageError if there is none."""
        found = self.built.get(name)
        if found is None:
            found = self.built[name] = self.load(name)
        return found

    def may_have(self, name: str, field: str) -> bool:
        """Return whether a message may have a field of that name, by its line, without building it."""
        return name in self.laid or f'"{field}"' in self.lines.get(name, f'"{field}"')

    def error_name(self, code: int) -> str:
        """Return the name of an error code, including those of a dialect."""
        from kcli.schemas.errors import error_name

        return self.errors.get(code) or error_name(code)

    def notes(self, message: Message) -> Notes:
        """Return the notes on the message's fields, by path."""
        return self.stock_notes.get(message.name, {}) | self.laid_notes.get(message.name, {})

    @cached_property
    def stock_notes(self) -> dict[str, Notes]:
        """The notes on the fields of all messages in the tables."""
        from kcli.schemas.vectors.notes import read_notes

        return read_notes(self.folder)

    def load(self, name: str) -> Message:
        """Build a message from the dialect or from its line of the tables.

        Raises UsageError if there is none.
        """
        if name in self.laid:
            return self.laid[name]
        line = self.lines.get(name) or self.embedded_lines.get(name)
        if line is None:
            current = self.current_names.get(name)
            if current is None:
                raise UsageError(unknown("message", name, self.names))
            return self.message(current)
        return build(json.loads(line))

    @cached_property
    def embedded_lines(self) -> dict[str, str]:
        """Name -> definition of messages that Connect and Streams put into bytes fields; no release's jars define
        them.
        """
        lines = (STOCK / "embedded.jsonl").read_text("utf-8").splitlines()
        return {line[9 : line.index('"', 9)]: line for line in lines}

    @cached_property
    def current_names(self) -> dict[str, str]:
        """Old name -> name in the newest release."""
        pairs = [(name, build(json.loads(line))) for name, line in self.lines.items() if '"aliases":[' in line]
        return {alias: name for name, message in pairs for alias in message.aliases}

    def request(self, api_key: int) -> Message:
        """Return the request of an API key. Raises UsageError if the tables lack the key."""
        return self.message(self.known(api_key).request)

    def response(self, api_key: int) -> Message:
        """Return the response of an API key. Raises UsageError if the tables lack the key."""
        return self.message(self.known(api_key).response)

    def known(self, api_key: int) -> Api:
        """Return the API with this key. Raises UsageError if the tables lack it."""
        found = self.api(api_key)
        if found is None:
            if api_key in self.unpaired:
                message = self.unpaired[api_key]
                raise UsageError(f"API key {api_key}: {message.name}: {without_counterpart(message)}")
            raise UsageError(f"API key {api_key}: not in the tables (there are 0 to {max(self.rows)})")
        return found

    def records(self, kind: str) -> Mapping[int, str]:
        """Return {record type: message name}.

        kind: "metadata", "control", or "group-", "transaction-", "share-" followed by "key" or "value". Raises
        UsageError.
        """
        if kind == "control":
            return CONTROL_RECORDS
        named = self.numbered.get(kind)
        if named is None:
            raise UsageError(unknown("kind of record", kind, ["control", *self.numbered]))
        return {int(number): name for number, name in named.items()}

    def release(self, text: str) -> str:
        """Return the release "4.4" for "4.4", "4.4.0" or "v4.4.1". Raises UsageError if it is not in the tables."""
        wanted = ".".join(text.removeprefix("v").split(".")[:2])
        if wanted not in self.releases:
            raise UsageError(f"release {text}: not in the tables (there are {', '.join(self.releases)})")
        return wanted

    def release_versions(self, release: str, listener: str | None = None) -> Mapping[int, Range]:
        """Return {API key: the versions that a node of this release accepts by default} (KIP-896).

        listener: only versions that are accepted on this one, "broker", "controller" or "zkBroker"; before 2.8 there
        were only brokers. An API whose only version is unstable is left out. Raises UsageError if the release is not in
        the tables.
        """
        wanted = self.release(release)
        known = self.by_release.get((wanted, listener))
        if known is None:
            found = {key: self.accepted(api.request, wanted, listener) for key, api in self.apis.items()}
            known = {key: versions for key, versions in found.items() if versions}
            self.by_release[wanted, listener] = known
        return known

    def accepted(self, request: str, release: str, listener: str | None) -> Range:
        """Return the versions of a request that a release accepts on a listener, NONE if it accepts none."""
        for releases in self.message(request).releases:
            if release in releases and (not releases.listeners or listener is None or listener in releases.listeners):
                return releases.enabled
        return NONE


def api_from(row: list[Any]) -> Api:
    key, name, log_name, request, response, versions, flexible, aliases = row
    spoken, compact = Range.parse(versions), Range.parse(flexible)
    return Api(key, name, log_name, request, response, spoken, compact, tuple(aliases))


def without_counterpart(message: Message) -> str:
    """Return why no API is made of a message."""
    missing = "response" if message.kind == "request" else "request"
    return f"there is no {missing} of its name: no API is made of it"


def plain(name: str) -> str:
    """Return a name without differences of spelling: case, "_", "-", and the suffix Request or Response."""
    bare = name.lower().replace("_", "").replace("-", "")
    return bare.removesuffix("request").removesuffix("response")


def unknown(kind: str, name: str, names: list[str]) -> str:
    """Return the text of an error about an unknown name, with the nearest of `names` if one is similar."""
    by_plain = {plain(each): each for each in reversed(names)}
    near = nearest(plain(name), by_plain)
    return f"{name or repr('')}: no such {kind}{did_you_mean(None if near is None else by_plain[near])}"
