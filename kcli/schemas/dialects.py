"""Dialects: message definitions laid over the stock tables.

A dialect is a directory of definitions in Kafka's JSON form, one message a file. What it says of the versions it names
holds; every other version, and every other message, stays as in the stock tables. A pair of messages without an API key
gets one: that of the API of its name, else one from PRIVATE_KEYS. `--dialect NAME,Api=KEY` sets another.

A file dialect.json beside the definitions may hold "apiKeys" ({"IncrementalFetch": 30227}), "errors"
({"30227": "INCREMENTAL_FETCH_UUID_MISMATCH"}) and "source" (text). In a field, "readAs" gives the versions to read by
where those of the draft can't be meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kcli.errors import InputError, SchemaError, UsageError
from kcli.schemas.check import SchemaFinding, check, check_pair, check_versions_of_pair, repair
from kcli.schemas.definition import build, camel, parse_text
from kcli.schemas.layout import layout, reads
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Field, Message
from kcli.schemas.notes import Notes, notes_of
from kcli.schemas.ranges import HIGHEST, NONE, Range, covering
from kcli.schemas.tables import INDEX, api_row

__all__ = ["LARGEST", "PRIVATE_KEYS", "SETTINGS", "SHIPPED", "Dialect", "lay_over", "read_dialect", "shipped"]

SHIPPED = Path(__file__).parent / "dialects"
PRIVATE_KEYS = range(30000, 32768)
SETTINGS = "dialect.json"
SETTINGS_KEYS = frozenset(["apiKeys", "errors", "source"])
LARGEST = 1 << 20


@dataclass(slots=True)
class Dialect:
    """What a directory of definitions says.

    api_keys  "IncrementalFetch" -> key, as set by dialect.json or the user
    errors    code -> name of errors that only the dialect has
    findings  what is wrong or odd in the definitions, and what was made of it
    """

    name: str
    source: str = ""
    messages: list[Message] = field(default_factory=list)
    notes: dict[str, Notes] = field(default_factory=dict)
    api_keys: dict[str, int] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    findings: list[SchemaFinding] = field(default_factory=list)


def shipped() -> list[str]:
    """The names of the dialects that come with kcli."""
    return sorted(path.name for path in SHIPPED.iterdir() if path.is_dir())


def lay_over(stock: Catalog, given: str) -> Catalog:
    """The catalog under a dialect: NAME or DIR, then ",Api=KEY" for each key to set. UsageError, SchemaError."""
    name, *settings = given.split(",")
    folder = find(name)
    if (folder / INDEX).is_file():
        return tables_over(stock, Catalog.open(folder))
    dialect = read_dialect(folder)
    dialect.api_keys.update(setting(text) for text in settings)
    return applied(stock, dialect)


def tables_over(stock: Catalog, opened: Catalog) -> Catalog:
    """Tables of their own, with what they have besides the stock's: what differs by its line is looked at."""
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
    raise UsageError(f"--dialect {name}: neither a directory nor a dialect of kcli's ({', '.join(shipped())})")


def setting(text: str) -> tuple[str, int]:
    api, _, key = text.partition("=")
    if not api or not key.isascii() or not key.isdigit() or int(key) > HIGHEST:
        raise UsageError(f"--dialect ...,{text}: Api=KEY expected, KEY from 0 to {HIGHEST}")
    return api, int(key)


def read_dialect(folder: Path) -> Dialect:
    """The definitions in a directory and those below it. SchemaError names the file that makes no sense."""
    dialect = Dialect(folder.name)
    for path in sorted(folder.rglob("*.json")):
        try:
            read_file(dialect, path)
        except InputError as error:
            raise error.within(str(path)) from None
    if not dialect.messages:
        raise SchemaError("no message definitions (*.json) in this directory", file=str(folder))
    return dialect


def read_file(dialect: Dialect, path: Path) -> None:
    if path.stat().st_size > LARGEST:
        raise SchemaError(f"{path.stat().st_size} bytes are too many for a message definition")
    raw = parse_text(path.read_text("utf-8", "replace"))
    if path.name == SETTINGS:
        read_settings(dialect, raw)
        return
    written = build(raw)
    message, repaired = repair(build(corrected(raw)))
    dialect.findings += [*check(written), *read_as(raw, written.name), *repaired]
    dialect.messages.append(message)
    dialect.notes[message.name] = notes_of(raw)


def read_settings(dialect: Dialect, raw: dict[str, Any]) -> None:
    try:
        dialect.source = str(raw.get("source", ""))
        dialect.api_keys.update({str(api): int(key) for api, key in raw.get("apiKeys", {}).items()})
        dialect.errors.update({int(code): str(name) for code, name in raw.get("errors", {}).items()})
    except (ValueError, TypeError, AttributeError):
        raise SchemaError('"apiKeys" ({"Api": key}) and "errors" ({"code": "NAME"}) expected') from None
    for name in sorted(set(raw) - SETTINGS_KEYS):
        text = f"{name!r} is unknown and ignored; there are {', '.join(sorted(SETTINGS_KEYS))}"
        dialect.findings.append(SchemaFinding(SETTINGS, "", "unknown-setting", text))


def corrected(raw: Any) -> Any:
    """The definition with "readAs" in the place of the versions as written."""
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
        here = f"{path}{camel(each['name'])}"
        if "readAs" in each:
            text = f"written for versions {each.get('versions', 'none')}, read as {each['readAs']}"
            yield SchemaFinding(message, here, "versions-read-as", text)
        yield from read_as(each, message, f"{here}.")


def applied(stock: Catalog, dialect: Dialect) -> Catalog:
    """The stock catalog with a dialect's messages over it."""
    laid = stock.copy()
    laid.findings = list(dialect.findings)
    laid.errors = {**stock.errors, **dialect.errors}
    laid.laid_notes = {stock.current_names.get(name, name): notes for name, notes in dialect.notes.items()}
    keyed = [with_key(stock, dialect, message) for message in named_alike(stock, dialect)]
    for message in keyed:
        laid.laid[message.name] = over(stock, message)
        if message.kind == "metadata":
            laid.numbered.setdefault("metadata", {})[str(message.api_key)] = message.name
    for message in keyed:
        if is_rpc(message):
            draft(stock, laid, message)
    for key in sorted({message.api_key for message in keyed if is_rpc(message) and message.api_key is not None}):
        pair(stock, laid, key)
    return laid


def draft(stock: Catalog, laid: Catalog, message: Message) -> None:
    """Enter which versions of a definition Apache's tables don't have, or have otherwise."""
    known = stock.message(message.name) if message.name in stock.lines else None
    there = known.versions if known is not None else NONE
    mine = {v for v in message.versions if v not in there or (known and not is_compatible(known, message, v))}
    for table, versions in ((laid.drafted, mine), (laid.rewritten, mine & {*there})):
        if versions and message.api_key is not None:
            table[message.api_key] = covering({*table.get(message.api_key, NONE), *versions})


def is_compatible(one: Message, other: Message, version: int) -> bool:
    """Whether each reads what the other writes, but for tags that only one of them knows."""
    layouts = layout(one, version), layout(other, version)
    return layouts[0] == layouts[1] or reads(*layouts)


def is_rpc(message: Message) -> bool:
    return message.kind in ("request", "response")


def named_alike(stock: Catalog, dialect: Dialect) -> list[Message]:
    """The messages by today's names; requests first, so that keys are handed out in the order of their names."""
    messages = [each._replace(name=stock.current_names.get(each.name, each.name)) for each in dialect.messages]
    return sorted(messages, key=lambda message: (message.kind != "request", message.name))


def with_key(stock: Catalog, dialect: Dialect, message: Message) -> Message:
    if not is_rpc(message):
        return message
    api = api_name(message)
    key = dialect.api_keys.get(api, message.api_key)
    if key is None:
        known = stock.keys_by_name.get(api.lower())
        taken = {*stock.rows, *dialect.api_keys.values()}
        key = known if known is not None else next(key for key in PRIVATE_KEYS if key not in taken)
    if not 0 <= key <= HIGHEST:
        raise SchemaError(f"{message.name}: API key {key} (0 to {HIGHEST} expected)")
    dialect.api_keys[api] = key
    return message._replace(api_key=key)


def api_name(message: Message) -> str:
    return message.name.removesuffix("Request").removesuffix("Response")


def over(stock: Catalog, message: Message) -> Message:
    """The dialect's versions of a message, and the stock's others."""
    known = stock_message(stock, message)
    if known is None:
        return message
    spoken = message.versions
    flexible = {v for v in {*known.versions, *spoken} if v in (message if v in spoken else known).flexible}
    return known._replace(
        versions=covering({*known.versions, *spoken}),
        flexible=run(message.name, flexible, known.flexible),
        fields=(*cut(known.fields, known.versions, spoken), *limited(message.fields, spoken)),
        variants=tuple(each for each in known.variants if not each.versions & spoken),
    )


def stock_message(stock: Catalog, message: Message) -> Message | None:
    """The stock's message of that name; SchemaError when a request or response goes by another key there."""
    known = stock.message(message.name) if message.name in stock.lines else None
    if not is_rpc(message):
        return known
    if known is None and message.api_key in stock.rows:
        holder = stock.rows[message.api_key][1]
        raise SchemaError(f"{message.name}: API key {message.api_key} is that of {holder}")
    if known is not None and (known.kind, known.api_key) != (message.kind, message.api_key):
        raise SchemaError(
            f"{message.name}: {message.kind} {message.api_key} here, but {known.kind} {known.api_key} in the tables"
        )
    return known


def run(name: str, flexible: set[int], known: Range) -> Range:
    """The flexible versions as a range; it stays open to above where the stock's is."""
    found = covering(flexible)
    if len(flexible) != len(list(found)):
        raise SchemaError(f"{name}: its flexible versions are no unbroken range once laid over the stock tables")
    return Range(found.lo, known.hi) if found and known.hi == HIGHEST else found


def cut(fields: tuple[Field, ...], all_: Range, versions: Range) -> tuple[Field, ...]:
    """The fields without these versions; a field with versions on both sides becomes two. all_: the message's."""
    sides = (Range(0, versions.lo - 1), Range(versions.hi + 1, HIGHEST if all_.hi > versions.hi else 0))
    parts = [each.within(side) for each in fields for side in sides]
    return tuple(each for each in parts if each.versions)


def limited(fields: tuple[Field, ...], versions: Range) -> tuple[Field, ...]:
    return tuple(part for part in (each.within(versions) for each in fields) if part.versions)


def pair(stock: Catalog, laid: Catalog, key: int) -> None:
    """Enter a pair of request and response among the APIs; say what is odd about it."""
    mine = {message.kind: message for message in laid.laid.values() if message.api_key == key and is_rpc(message)}
    if key not in stock.rows and len(mine) < 2:
        laid.findings.append(alone(next(iter(mine.values()))))
        return
    request = mine.get("request") or stock.request(key)
    response = mine.get("response") or stock.response(key)
    laid.rows[key] = api_row(request, response)
    laid.findings += check_versions_of_pair(request, response)
    if key not in stock.rows:
        laid.findings += check_pair(request, response)


def alone(message: Message) -> SchemaFinding:
    missing = "response" if message.kind == "request" else "request"
    return SchemaFinding(message.name, "", "no-counterpart", f"there is no {missing} of its name: no API is made of it")
