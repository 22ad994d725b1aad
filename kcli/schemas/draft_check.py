"""A folder of definitions judged: by the rules of Kafka's generator, and by what a release has promised."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kcli.errors import InputError, SchemaError
from kcli.schemas.check import check
from kcli.schemas.definition import blanked, build, without_null
from kcli.schemas.dialects import LARGEST, SETTINGS
from kcli.schemas.evolution import broken_promises
from kcli.schemas.generator_rules import broken_rules
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Message

__all__ = ["DraftFinding", "check_folder"]

OWN_RULES = ("struct-shapes", "versions-outside")  # of `check`: what no generator looks at


class DraftFinding(NamedTuple):
    """line: from 1, of the object that it is about. path: the field, "" for the message."""

    file: str
    line: int
    message: str
    path: str
    rule: str
    text: str

    def __str__(self) -> str:
        where = ": ".join(part for part in (f"{self.file}:{self.line}", self.message, self.path) if part)
        return f"{where}: {self.text} [{self.rule}]"


class Placed(json.JSONDecoder):
    """Reads JSON, and knows the line of each object by its id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines: dict[int, int] = {}
        breaks = [at for at, char in enumerate(text) if char == "\n"]
        read: Any = json.decoder.JSONObject  # type: ignore[attr-defined]

        def parse_object(place: tuple[str, int], *rest: Any) -> Any:
            made = read(place, *rest)
            without_null(made[0])
            self.lines[id(made[0])] = bisect.bisect_left(breaks, place[1] - 1) + 1
            return made

        self.parse_object = parse_object
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def check_folder(folder: Path, stock: Catalog, release: str) -> list[DraftFinding]:
    """Every finding about the definitions in a folder and below it. InputError: there are none.

    release: whose versions may not change.
    """
    files = [path for path in sorted(folder.rglob("*.json")) if path.name != SETTINGS]
    if not files:
        raise InputError("no message definitions (*.json) in this directory", file=str(folder))
    checked = Checked(stock, release)
    for path in files:
        checked.file(path)
    checked.pairs()
    return sorted(checked.found, key=lambda each: (each.file, each.line))


class Checked:
    """The findings so far, and the messages that were read."""

    def __init__(self, stock: Catalog, release: str) -> None:
        self.stock, self.release = stock, release
        self.found: list[DraftFinding] = []
        self.messages: dict[str, tuple[Message, str]] = {}

    def file(self, path: Path) -> None:
        file, text = str(path), ""
        try:
            if path.stat().st_size > LARGEST:
                raise SchemaError(f"{path.stat().st_size} bytes are too many for a message definition")
            text = blanked(path.read_text("utf-8", "replace"))
            decoder = Placed(text)
            raw, end = decoder.raw_decode(text, len(text) - len(text.lstrip()))
            if not isinstance(raw, dict):
                raise SchemaError("a JSON object expected")
        except json.JSONDecodeError as error:
            self.found.append(DraftFinding(file, error.lineno, "", "", "json", f"column {error.colno}: {error.msg}"))
            return
        except (SchemaError, RecursionError, ValueError) as error:
            reason = error.text if isinstance(error, SchemaError) else "nested too deep, or a number of too many digits"
            self.found.append(DraftFinding(file, 1, "", "", "json", reason))
            return
        name = str(raw.get("name", ""))
        if rest := text[end:].strip():
            line = text.count("\n", 0, text.index(rest, end)) + 1
            self.found.append(DraftFinding(file, line, name, "", "json", f"{rest[:20]!r} behind the message"))
        try:
            broken = broken_rules(raw)
        except RecursionError:
            self.found.append(DraftFinding(file, 1, name, "", "definition", "structs are nested too deep"))
            return
        self.found += [
            DraftFinding(file, decoder.lines[id(each.at)], name, each.path, each.rule, each.text) for each in broken
        ]
        try:
            message = build(raw)
        except SchemaError as error:
            if not broken:
                self.found.append(DraftFinding(file, 1, name, "", "definition", error.text))
            return
        for path_, rule, reason in self.meanings(message):
            self.found.append(DraftFinding(file, line_of(raw, path_, decoder.lines), name, path_, rule, reason))
        if name in self.messages:
            self.found.append(DraftFinding(file, 1, name, "", "message-twice", f"{self.messages[name][1]} has it, too"))
        self.messages[name] = message, file

    def meanings(self, message: Message) -> Iterator[tuple[str, str, str]]:
        """What is wrong with what a definition means: (path, rule, text)."""
        yield from ((each.path, each.rule, each.text) for each in check(message) if each.rule in OWN_RULES)
        if message.name in self.stock.lines or message.name in self.stock.current_names:
            yield from broken_promises(self.stock.message(message.name), message, self.release)
        elif message.kind in ("request", "response") and message.api_key in self.stock.rows:
            holder = self.stock.rows[message.api_key][1]
            yield "", "key-taken", f"API key {message.api_key} is that of {holder}"

    def pairs(self) -> None:
        """Requests and responses go together, in the same versions."""
        for message, file in self.messages.values():
            if message.kind not in ("request", "response"):
                continue
            suffix, other = ("Request", "Response") if message.kind == "request" else ("Response", "Request")
            twin = message.name.removesuffix(suffix) + other
            mate = self.messages[twin][0] if twin in self.messages else None
            if mate is None and twin in self.stock.lines:
                mate = self.stock.message(twin)
            if mate is None:
                self.found.append(DraftFinding(file, 1, message.name, "", "no-counterpart", f"there is no {twin}"))
            elif twin in self.messages and message.kind == "request" and mate.versions != message.versions:
                text = f"versions {message.versions}, but {twin} has {mate.versions}"
                self.found.append(DraftFinding(file, 1, message.name, "", "versions-differ", text))


def line_of(raw: Any, path: str, lines: dict[int, int]) -> int:
    """The line of the field at a path; of the message where there is none."""
    at = raw
    common = {struct["name"]: struct["fields"] for struct in raw.get("commonStructs", ())}
    for name in path.split(".") if path else ():
        inner = at.get("fields") or common.get(str(at.get("type")).removeprefix("[]"), ())
        found = next((each for each in inner if each["name"][:1].lower() + each["name"][1:] == name), None)
        if found is None:
            break
        at = found
    return lines[id(at)]
