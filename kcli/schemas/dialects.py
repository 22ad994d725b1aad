"""Dialects: message definitions laid over the stock tables.

A dialect is a directory of definitions in Kafka's JSON form, one message in each file. It replaces only the versions
that it defines; all other versions and messages are those of the stock tables. `draft_keys` chooses the API keys;
`--dialect NAME,Api=KEY` sets one.

A file dialect.json beside the definitions may hold "apiKeys" ({"IncrementalFetch": 30227}), "errors"
({"30227": "INCREMENTAL_FETCH_UUID_MISMATCH"}) and "source" (text). In a field, "readAs" replaces the versions of the
draft if these cannot be meant.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from kcli.errors import InputError, SchemaError, UsageError
from kcli.schemas.checks.definition_check import (
    SchemaFinding,
    check_message,
    check_pair,
    check_versions_of_pair,
    repair,
)
from kcli.schemas.checks.draft_keys import is_rpc, key_faults, names_of_apis, with_keys
from kcli.schemas.definition import build, camel, check_size, parse_text
from kcli.schemas.dialect_settings import IGNORED, SETTINGS, read_settings
from kcli.schemas.layout import layout, reads
from kcli.schemas.lookup import Catalog, unknown, without_counterpart
from kcli.schemas.model import Field, Message
from kcli.schemas.ranges import HIGHEST, NONE, Range, covering
from kcli.schemas.table_files import INDEX, api_row
from kcli.schemas.vectors.notes import Notes, notes_of

SHIPPED = Path(__file__).parent / "dialects"


@dataclass(slots=True)
class Dialect:
    """The contents of a directory of definitions.

    settings  the file dialect.json, "" without one
    api_keys  "IncrementalFetch" -> key, as set by dialect.json or the user
    errors    code -> name of errors that only the dialect has
    findings  faults and oddities of the definitions, and how kcli reads them
    """

    name: str
    source: str = ""
    settings: str = ""
    messages: list[Message] = field(default_factory=list)
    notes: dict[str, Notes] = field(default_factory=dict)
    api_keys: dict[str, int] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    findings: list[SchemaFinding] = field(default_factory=list)


def shipped() -> list[str]:
    """Return the names of the dialects that come with kcli."""
    return sorted(path.name for path in SHIPPED.iterdir() if path.is_dir())


def lay_over(stock: Catalog, choice: str) -> Catalog:
    """Return the catalog with a dialect: NAME or DIR, followed by ",Api=KEY" for each key to set. Raises UsageError or
    SchemaError.
    """
    name, *settings = choice.split(",")
    folder = find(name)
    if (folder / INDEX).is_file():
        if settings:
            raise UsageError(f"dialect ...,{settings[0]}: imported tables have their keys")
        return tables_over(stock, Catalog.open(folder))
    dialect = read_dialect(folder)
    apis = names_of_apis(stock, dialect.messages)
    for text in settings:
        api, key = setting(text)
        if api not in apis:
            raise UsageError(f"dialect ...,{text}: {unknown('API in this dialect', api, apis)}")
        dialect.api_keys[api] = key
    return applied(stock, dialect)


def tables_over(stock: Catalog, opened: Catalog) -> Catalog:
    """Return a dialect's own tables, laid over the stock's. Messages whose lines differ are checked as drafts."""
    for name in (name for name, line in opened.lines.items() if stock.lines.get(name) != line):
        message = opened.message(name)
        if is_rpc(message):
            draft(stock, opened, message)
    return opened


def find(name: str) -> Path:
    if name in shipped():
        return SHIPPED / name
    folder = Path(name)
    if folder.is_dir():
        return folder
    raise UsageError(f"dialect {name}: neither a directory nor a dialect of kcli's ({', '.join(shipped())})")


def setting(text: str) -> tuple[str, int]:
    api, _, key = text.partition("=")
    if not api or not key.isascii() or not key.isdigit() or int(key) > HIGHEST:
        raise UsageError(f"dialect ...,{text}: Api=KEY expected, KEY from 0 to {HIGHEST}")
    return api, int(key)


def definition_files(place: Path) -> list[Path]:
    """Return the definition files in a directory and its subdirectories, or the file itself."""
    return [place] if place.is_file() else sorted(place.rglob("*.json"))


def read_dialect(folder: Path) -> Dialect:
    """Return the dialect in a directory, or in a file. Raises SchemaError with the file that is invalid."""
    dialect = Dialect(folder.name)
    for path in definition_files(folder):
        try:
            read_file(dialect, path)
        except InputError as error:
            raise error.within(str(path)) from None
    if not dialect.messages:
        raise SchemaError("no message definitions (*.json) in this directory", file=str(folder))
    return dialect


def read_file(dialect: Dialect, path: Path) -> None:
    check_size(path)
    raw = parse_text(path.read_text("utf-8", "replace"))
    if path.name == SETTINGS:
        take_settings(dialect, raw, path)
        return
    written = build(raw)
    message, repaired = repair(build(corrected(raw)))
    dialect.findings += [*check_message(written), *read_as(raw, written.name), *repaired]
    dialect.messages.append(message)
    dialect.notes[message.name] = notes_of(raw)


def take_settings(dialect: Dialect, raw: dict[str, Any], path: Path) -> None:
    found = read_settings(raw)
    for fault in found.faults:
        if fault.rule != IGNORED:
            raise SchemaError(f"{fault.path}: {fault.text}")
        dialect.findings.append(SchemaFinding(SETTINGS, "", fault.rule, fault.text))
    dialect.source, dialect.settings = found.source or dialect.source, str(path)
    dialect.api_keys |= found.api_keys
    dialect.errors |= found.errors


def corrected(raw: Any) -> Any:
    """Return a definition in which "readAs" replaces the written versions."""
    if isinstance(raw, list):
        return [corrected(each) for each in raw]
    if not isinstance(raw, dict):
        return raw
    result = {key: corrected(value) for key, value in raw.items()}
    if "readAs" in raw:
        result["versions"] = raw["readAs"]
    return result


def read_as(raw: Any, message: str, path: str = "") -> Iterator[SchemaFinding]:
    for each in raw.get("fields", ()):
        field_path = f"{path}{camel(each['name'])}"
        if "readAs" in each:
            text = f"written for versions {each.get('versions', 'none')}, read as {each['readAs']}"
            yield SchemaFinding(message, field_path, "versions-read-as", text)
        yield from read_as(each, message, f"{field_path}.")


def applied(stock: Catalog, dialect: Dialect) -> Catalog:
    """Return the stock catalog with a dialect's messages. Raises SchemaError if these contradict each other or the
    tables.
    """
    for fault in key_faults(stock, dialect.api_keys, dialect.messages):
        if not fault.message:
            raise SchemaError(f"apiKeys: {fault.text}", file=dialect.settings)
        raise SchemaError(f"{fault.message}: {fault.text}")
    laid = stock.copy()
    laid.findings = list(dialect.findings)
    laid.errors = {**stock.errors, **dialect.errors}
    laid.laid_notes = {stock.current_names.get(name, name): notes for name, notes in dialect.notes.items()}
    keyed = with_keys(stock, dialect.api_keys, dialect.messages)
    for message in keyed:
        laid.laid[message.name] = over(stock, message)
        laid.written[message.name] = message
        if message.kind == "metadata":
            laid.numbered.setdefault("metadata", {})[str(message.api_key)] = message.name
    for message in keyed:
        if is_rpc(message):
            draft(stock, laid, message)
    for key in sorted({message.api_key for message in keyed if is_rpc(message) and message.api_key is not None}):
        pair(stock, laid, key)
    return laid


def draft(stock: Catalog, laid: Catalog, message: Message) -> None:
    """Note the versions of a definition that Apache's tables lack, or have with another layout."""
    known = stock.message(message.name) if message.name in stock.lines else None
    known_versions = known.versions if known is not None else NONE
    mine = {v for v in message.versions if v not in known_versions or (known and not is_compatible(known, message, v))}
    for table, versions in ((laid.drafted, mine), (laid.rewritten, mine & {*known_versions})):
        if versions and message.api_key is not None:
            table[message.api_key] = covering({*table.get(message.api_key, NONE), *versions})


def is_compatible(one: Message, other: Message, version: int) -> bool:
    """Return whether each layout of a version can read the other's bytes; tags that only one has do not count."""
    layouts = layout(one, version), layout(other, version)
    return layouts[0] == layouts[1] or reads(*layouts)


def over(stock: Catalog, message: Message) -> Message:
    """Return a message with the dialect's versions, and the stock's for all others."""
    known = stock.message(message.name) if message.name in stock.lines else None
    if known is None:
        return message
    spoken = message.versions
    versions = covering({*known.versions, *spoken})
    flexible = {v for v in versions if v in (message if v in spoken else known).flexible}
    before, after = Range(0, spoken.lo - 1), Range(spoken.hi + 1, HIGHEST)
    if spoken.hi == versions.hi:
        spoken, after = Range(spoken.lo, HIGHEST), NONE
    fields = joined(limited(known.fields, before), limited(message.fields, spoken))
    return known._replace(
        versions=versions,
        flexible=run(message.name, flexible, known.flexible),
        fields=joined(fields, limited(known.fields, after)),
        variants=tuple(each for each in known.variants if not each.versions & spoken),
    )


def run(name: str, flexible: set[int], known: Range) -> Range:
    """Return flexible versions as a range, open-ended if the stock's is. Raises SchemaError if they have a gap."""
    found = covering(flexible)
    if len(flexible) != len(list(found)):
        raise SchemaError(f"{name}: its flexible versions are not one range after the merge with the stock tables")
    return Range(found.lo, known.hi) if found and known.hi == HIGHEST else found


def pair(stock: Catalog, laid: Catalog, key: int) -> None:
    """Add a request and its response to the APIs, and report oddities."""
    mine = {message.kind: message for message in laid.laid.values() if message.api_key == key and is_rpc(message)}
    if key not in stock.rows and len(mine) < 2:
        (message,) = mine.values()
        laid.unpaired[key] = message
        laid.findings.append(SchemaFinding(message.name, "", "no-counterpart", without_counterpart(message)))
        return
    request = mine.get("request") or stock.request(key)
    response = mine.get("response") or stock.response(key)
    laid.rows[key] = api_row(request, response)
    laid.findings += check_versions_of_pair(request, response)
    if key not in stock.rows:
        laid.findings += check_pair(request, response)


def limited(fields: tuple[Field, ...], versions: Range) -> tuple[Field, ...]:
    """Return the fields, and those of their structs, that have some of these versions, limited to these."""
    parts = (each.within(versions)._replace(fields=limited(each.fields, versions)) for each in fields)
    return tuple(each for each in parts if each.versions)


def joined(earlier: tuple[Field, ...], later: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of both in an order that keeps the order of each. A field that both define alike is one field
    with the versions of both; a field that they define differently stays two. later: of the versions that follow.
    """
    found, at, then = list[Field](), 0, 0
    matcher = SequenceMatcher(None, [each.name for each in earlier], [each.name for each in later], autojunk=False)
    for begin, start, length in matcher.get_matching_blocks():
        found += [*earlier[at:begin], *later[then:start]]
        at, then = begin + length, start + length
        for one, other in zip(earlier[begin:at], later[start:then], strict=True):
            found += [union(one, other)] if are_alike(one, other) else [one, other]
    return tuple(found)


def are_alike(one: Field, other: Field) -> bool:
    """Return whether one field can say what both say: the versions adjoin, and all else is equal or a range, too."""
    if one.versions.hi + 1 != other.versions.lo or (one.tagged and other.tagged and one.tag != other.tag):
        return False
    ranges = (
        (covering([*one.nullable, *other.nullable]), one.nullable, other.nullable),
        (covering([*one.tagged, *other.tagged]), one.tagged, other.tagged),
    )
    return all(
        (both & one.versions, both & other.versions) == (of_one, of_other) for both, of_one, of_other in ranges
    ) and (one.type, one.default, one.flexible) == (other.type, other.default, other.flexible)


def union(one: Field, other: Field) -> Field:
    """Return one field for two that are alike."""
    return one._replace(
        versions=Range(one.versions.lo, other.versions.hi),
        nullable=covering([*one.nullable, *other.nullable]),
        tagged=covering([*one.tagged, *other.tagged]),
        tag=one.tag if one.tagged else other.tag,
        fields=joined(one.fields, other.fields),
    )
