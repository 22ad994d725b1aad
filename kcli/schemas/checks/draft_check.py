"""Checks a folder of definitions by the rules of Kafka's generator, and against the versions of a release."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kcli.errors import InputError, SchemaError
from kcli.schemas.checks.definition_check import check_message
from kcli.schemas.checks.draft_keys import is_rpc, key_faults
from kcli.schemas.checks.generator_rules import broken_rules
from kcli.schemas.definition import blanked, build, check_size
from kcli.schemas.definition_keys import coerce
from kcli.schemas.dialect_settings import SETTINGS, read_settings
from kcli.schemas.dialects import applied, definition_files, read_dialect
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Field, Message
from kcli.schemas.ranges import NONE, Range, covering

OWN_RULES = ("struct-shapes", "versions-outside")  # the rules of `check_message` that no generator has
Finding = tuple[str, str, str]  # path, rule, text


class DraftFinding(NamedTuple):
    """line: of the JSON object with the fault, from 1. path: the field, "" for the message."""

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
    """A JSON decoder that records the line of each object, by the object's id()."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines: dict[int, int] = {}
        breaks = [at for at, char in enumerate(text) if char == "\n"]
        read: Any = json.decoder.JSONObject  # type: ignore[attr-defined]

        def parse_object(place: tuple[str, int], *rest: Any) -> Any:
            made = read(place, *rest)
            self.lines[id(made[0])] = bisect.bisect_left(breaks, place[1] - 1) + 1
            return made

        self.parse_object = parse_object
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def check_folder(folder: Path, stock: Catalog, release: str) -> list[DraftFinding]:
    """Return the findings about the definitions in a folder and its subfolders, or in a file. Raises InputError if
    there are no definitions.

    release: the one whose versions must not change.
    """
    files = definition_files(folder)
    if all(path.name == SETTINGS for path in files):
        raise InputError("no message definitions (*.json) in it", file=str(folder))
    checked = Checked(stock, release)
    for path in files:
        checked.file(path)
    checked.pairs()
    checked.keys()
    if not checked.found:
        checked.use(folder)
    return sorted(checked.found.values(), key=lambda each: (each.file, each.line))


class Definition(NamedTuple):
    """A message from a definition. line: of its JSON object."""

    message: Message
    file: str
    line: int


class Checked:
    """Collects the findings and the messages of a folder.

    unread: names of messages with invalid definitions; set_keys: API -> (its key in dialect.json, file, line).
    """

    def __init__(self, stock: Catalog, release: str) -> None:
        self.stock, self.release = stock, release
        self.found: dict[tuple[str, int, str, str, str], DraftFinding] = {}
        self.messages: dict[str, Definition] = {}
        self.unread: set[str] = set()
        self.set_keys: dict[str, tuple[int, str, int]] = {}

    def report(self, file: str, line: int, message: str, path: str, rule: str, text: str) -> None:
        """Add a finding, unless there is one by the same rule in the same place, as two lists of rules overlap."""
        self.found.setdefault((file, line, message, path, rule), DraftFinding(file, line, message, path, rule, text))

    def file(self, path: Path) -> None:
        file, text = str(path), ""
        try:
            check_size(path)
            text = blanked(path.read_text("utf-8", "replace"))
            decoder = Placed(text)
            raw, end = decoder.raw_decode(text, len(text) - len(text.lstrip()))
            if not isinstance(raw, dict):
                raise SchemaError("a JSON object expected")
        except json.JSONDecodeError as error:
            self.unread.add(path.stem)
            self.report(file, error.lineno, "", "", "json", f"column {error.colno}: {error.msg}")
            return
        except (SchemaError, RecursionError, ValueError) as error:
            self.unread.add(path.stem)
            reason = error.text if isinstance(error, SchemaError) else "nested too deep, or a number of too many digits"
            self.report(file, 1, "", "", "json", reason)
            return
        name = str(raw.get("name", "")) if path.name != SETTINGS else ""
        if rest := text[end:].strip():
            line = text.count("\n", 0, text.index(rest, end)) + 1
            self.report(file, line, name, "", "json", f"{rest[:20]!r} behind the {'message' if name else 'object'}")
        if path.name == SETTINGS:
            self.settings(raw, file, decoder.lines)
        else:
            self.definition(raw, name or path.stem, file, decoder.lines)

    def settings(self, raw: dict[str, Any], file: str, lines: dict[int, int]) -> None:
        found = read_settings(raw)
        for each in found.faults:
            self.report(file, lines[id(each.at)], "", each.path, each.rule, each.text)
        for api, key in found.api_keys.items():
            self.set_keys[api] = key, file, lines[id(raw["apiKeys"])]

    def definition(self, raw: dict[str, Any], name: str, file: str, lines: dict[int, int]) -> None:
        try:
            coerce(raw)
            broken = broken_rules(raw)
        except RecursionError:
            self.unread.add(name)
            self.report(file, 1, name, "", "definition", "structs are nested too deep")
            return
        for each in broken:
            self.report(file, lines[id(each.at)], name, each.path, each.rule, each.text)
        try:
            message = build(raw)
        except SchemaError as error:
            self.unread.add(name)
            if not broken:
                self.report(file, 1, name, "", "definition", error.text)
            return
        for path, rule, reason in self.meanings(message):
            self.report(file, line_of(raw, path, lines), name, path, rule, reason)
        if name in self.messages:
            self.report(file, 1, name, "", "message-twice", f"{self.messages[name].file} has it, too")
        self.messages[name] = Definition(message, file, lines[id(raw)])

    def meanings(self, message: Message) -> Iterator[tuple[str, str, str]]:
        """Yield (path, rule, text) for each fault in a definition that the generator accepts."""
        yield from ((each.path, each.rule, each.text) for each in check_message(message) if each.rule in OWN_RULES)
        if message.name in self.stock.lines or message.name in self.stock.current_names:
            yield from broken_promises(self.stock.message(message.name), message, self.release)

    def pairs(self) -> None:
        """Check that each request has a response, and each response a request, in the same versions."""
        for message, file, _ in self.messages.values():
            if not is_rpc(message):
                continue
            suffix, other = ("Request", "Response") if message.kind == "request" else ("Response", "Request")
            twin = message.name.removesuffix(suffix) + other
            mate = self.messages[twin].message if twin in self.messages else None
            if mate is None and twin in self.stock.lines:
                mate = self.stock.message(twin)
            if mate is None and twin not in self.unread:
                self.report(file, 1, message.name, "", "no-counterpart", f"there is no {twin}")
            elif mate and twin in self.messages and message.kind == "request" and mate.versions != message.versions:
                text = f"versions {message.versions}, but {twin} has {mate.versions}"
                self.report(file, 1, message.name, "", "versions-differ", text)

    def keys(self) -> None:
        """Check that requests, responses and dialect.json agree on API keys."""
        known = {name.removesuffix("Request").removesuffix("Response") for name in self.unread}
        keys = {api: key for api, (key, _, _) in self.set_keys.items() if api not in known}
        for fault in key_faults(self.stock, keys, (each.message for each in self.messages.values())):
            if fault.setting:
                _, file, line = self.set_keys[fault.setting]
                self.report(file, line, "", f"apiKeys.{fault.setting}", fault.rule, fault.text)
            else:
                definition = self.messages[fault.message]
                self.report(definition.file, definition.line, fault.message, "", fault.rule, fault.text)

    def use(self, folder: Path) -> None:
        """Report any other fault for which the dialect cannot be used."""
        try:
            applied(self.stock, read_dialect(folder))
        except InputError as error:
            self.report(error.file or str(folder), 1, "", "", "dialect", error.text)


def line_of(raw: Any, path: str, lines: dict[int, int]) -> int:
    """Return the line of the field at a path, or of the message if there is no such field."""
    at = raw
    common = {struct["name"]: struct["fields"] for struct in raw.get("commonStructs", ())}
    for name in path.split(".") if path else ():
        inner = at.get("fields") or common.get(str(at.get("type")).removeprefix("[]"), ())
        found = next((each for each in inner if each["name"][:1].lower() + each["name"][1:] == name), None)
        if found is None:
            break
        at = found
    return lines[id(at)]


def released_versions(message: Message, release: str) -> Range:
    """Return the versions of a message in a release, without an unstable one."""
    return next((each.enabled for each in message.releases if release in each), NONE)


def broken_promises(old: Message, new: Message, release: str) -> Iterator[Finding]:
    """Yield the changes that a definition makes to versions of a release. old: the message of the tables."""
    spoken = released_versions(old, release)
    if not spoken:
        return
    if (old.kind, old.api_key) != (new.kind, new.api_key):
        yield "", "released-key", f"{new.kind} {new.api_key}, but {old.kind} {old.api_key} in {release}"
    if new.versions.hi < spoken.hi:
        yield "", "released-gone", f"versions {new.versions}, but {release} has {spoken}: its newest may not go"
    both = spoken & new.versions
    wrong = [version for version in both if (version in old.flexible) != (version in new.flexible)]
    if wrong:
        word = "flexible" if wrong[0] in old.flexible else "not flexible"
        yield "", "released-flexible", f"versions {covering(wrong)} are {word} in {release}"
    found: dict[tuple[str, str, str], list[int]] = {}
    for version in both:
        for finding in differences(old.fields, new.fields, version, ""):
            found.setdefault(finding, []).append(version)
    for (path, rule, text), versions in found.items():
        yield path, rule, f"{text} in v{covering(versions)}, which {release} speaks"


def differences(old: tuple[Field, ...], new: tuple[Field, ...], version: int, path: str) -> Iterator[Finding]:
    """Yield the differences between the fields of one version."""
    before = [field for field in old if version in field.versions]
    after = [field for field in new if version in field.versions]
    pairs, removed, added = matched(before, after, version)
    for field in removed:
        yield f"{path}{field.name}", "released-field", f"{field.name} is missing"
    for field in added:
        if version not in field.tagged:
            yield f"{path}{field.name}", "released-field", f"{field.name} is there, and not tagged"
    for was, now in pairs:
        field_path = f"{path}{now.name}"
        for rule, text in changes(was, now, version):
            yield field_path, rule, text
        if was.is_struct and now.is_struct:
            yield from differences(was.fields, now.fields, version, f"{field_path}.")
    plain = [was for was, _ in pairs if version not in was.tagged]
    order = [now for _, now in sorted(pairs, key=lambda pair: after.index(pair[1])) if version not in now.tagged]
    if [now for _, now in pairs if version not in now.tagged] != order and plain:
        yield (
            path.rstrip("."),
            "released-order",
            f"the fields come in the order {', '.join(each.name for each in order)}",
        )


def matched(
    before: list[Field], after: list[Field], version: int
) -> tuple[list[tuple[Field, Field]], list[Field], list[Field]]:
    """Return (pairs of the same field, removed fields, new fields). Fields are paired by name, else by tag, or by place
    and type.
    """
    named = {field.name: field for field in after}
    pairs = [(field, named[field.name]) for field in before if field.name in named]
    known = {field.name for field, _ in pairs}
    removed, added = [f for f in before if f.name not in known], [f for f in after if f.name not in known]
    for field in list(removed):
        twin = next((f for f in added if alike(field, f, version) and before.index(field) == after.index(f)), None)
        twin = twin or next((f for f in added if version in field.tagged & f.tagged and field.tag == f.tag), None)
        if twin is not None:
            pairs.append((field, twin))
            removed.remove(field)
            added.remove(twin)
    return sorted(pairs, key=lambda pair: before.index(pair[0])), removed, added


def alike(one: Field, other: Field, version: int) -> bool:
    same = one.is_array == other.is_array and ((one.is_struct and other.is_struct) or one.element == other.element)
    return same and version not in one.tagged and version not in other.tagged


def changes(was: Field, now: Field, version: int) -> Iterator[tuple[str, str]]:
    """Yield (rule, text) for each change to a field in one version."""
    if was.is_array != now.is_array or (was.element != now.element and not (was.is_struct and now.is_struct)):
        yield "released-type", f"{now.type}, but it was {was.type}"
    if (version in was.nullable) != (version in now.nullable):
        yield "released-null", f"{'may' if version in now.nullable else 'may not'} be null"
    tags = [field.tag if version in field.tagged else None for field in (was, now)]
    if tags[0] != tags[1]:
        yield "released-tag", "not tagged" if tags[1] is None else f"tagged {tags[1]}"
    elif tags[0] is not None and was.default != now.default:
        yield "released-default", f"{now.default!r} by default, but it was {was.default!r}"
    if [field.flexible is None or version in field.flexible for field in (was, now)] not in (
        [True, True],
        [False, False],
    ):
        yield "released-flexible", "its length is written in another way"
