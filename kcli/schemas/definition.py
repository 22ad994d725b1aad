"""Parses message definitions in Kafka's JSON form into Message.

It is the form of the files under `common/message` in Kafka's jars, of kcli's own tables, and of users' dialects.
Kafka's files have `//` comments, in one case text after the JSON (2.8.2, DescribeProducersRequest), a field without
`versions` because it is tagged (3.5.2, FetchRequest), and tags as text (before 4.1).
"""

import json
import re
from pathlib import Path
from typing import Any

from kcli.errors import SchemaError
from kcli.schemas.defaults import default_text, default_value
from kcli.schemas.definition_keys import Raw, coerce
from kcli.schemas.model import SCALARS, Field, Message, Releases, Variant
from kcli.schemas.ranges import ALL, NONE, Range

KINDS = ("request", "response", "header", "data", "metadata", "coordinator-key", "coordinator-value")
ZERO_UUID = "A" * 22
LARGEST = 1 << 20  # bytes of a definition file
MOST_NESTED = 32
MOST_FIELDS = 10_000  # fields of a message; those of a struct count at each use
COMMENT = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'


def check_size(path: Path) -> None:
    """Raise SchemaError if a file is larger than a definition may be."""
    if (size := path.stat().st_size) > LARGEST:
        raise SchemaError(f"{size} bytes are too many for a message definition")


def parse_text(text: str) -> Raw:
    """Parse the JSON object at the start of a definition's text; ignore comments, and the text after it. Raises
    SchemaError.
    """
    bare = blanked(text)
    start = len(bare) - len(bare.lstrip())
    try:
        raw, _ = json.JSONDecoder().raw_decode(bare, start)
        if isinstance(raw, dict):
            coerce(raw)
    except json.JSONDecodeError as error:
        raise SchemaError(f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise SchemaError("not a message definition: nested too deep") from None
    except ValueError:
        raise SchemaError("not a message definition: a number of too many digits") from None
    if not isinstance(raw, dict):
        raise SchemaError(f"not a message definition: a JSON object expected, not {type(raw).__name__}")
    return raw


def blanked(text: str) -> str:
    """Return a definition's text with comments replaced by blanks."""
    return re.sub(COMMENT, lambda found: blank(found.group()), text.removeprefix("\ufeff"), flags=re.DOTALL)


def blank(found: str) -> str:
    """Return a string literal unchanged, and a comment as blanks, so that errors have the right line and column."""
    return found if found.startswith('"') else "\n".join(" " * len(line) for line in found.split("\n"))


def camel(name: str) -> str:
    """Return a field's name in JSON, with a small first letter (`ISRs` -> `iSRs`)."""
    return name[:1].lower() + name[1:]


def build(raw: Raw) -> Message:
    """Return the message of a definition. Raises SchemaError with the invalid field."""
    name = text_at(raw, "name", "the message")
    kind = text_at(raw, "type", name)
    if kind not in KINDS:
        raise SchemaError(f"{name}: type {kind!r} is none of {', '.join(KINDS)}")
    structs = Structs(name, raw)
    return Message(
        name=name,
        kind=kind,
        api_key=integer_or_none(raw, "apiKey", name),
        versions=range_at(raw, "validVersions", name, required=True),
        flexible=range_at(raw, "flexibleVersions", name),
        fields=structs.fields(raw.get("fields", ()), name),
        releases=releases(raw),
        variants=tuple(
            Variant(each["before"], Range.parse(each["versions"]), build({**raw, **each["message"], "variants": ()}))
            for each in raw.get("variants", ())
        ),
        component=raw.get("component", ""),
        aliases=tuple(raw.get("aliases", ())),
    )


def releases(raw: Raw) -> tuple[Releases, ...]:
    """Parse `"releases": {"2.8-3.9": ["0-17", "zkBroker broker", "unstable"]}`: the versions and listeners of
    releases.
    """
    found = []
    for span, (versions, listeners, *marks) in raw.get("releases", {}).items():
        since, _, until = span.partition("-")
        found.append(
            Releases(since, until or since, Range.parse(versions), "unstable" in marks, tuple(listeners.split()))
        )
    return tuple(found)


def text_at(raw: Raw, key: str, where: str) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not value:
        raise SchemaError(f'{where}: "{key}" is {"missing" if value is None else repr(value)} (a text expected)')
    return value


def integer_or_none(raw: Raw, key: str, where: str) -> int | None:
    value = raw.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise SchemaError(f'{where}: "{key}" is {value!r} (an integer expected)')
    return value


def range_at(raw: Raw, key: str, where: str, *, required: bool = False) -> Range:
    value = raw.get(key)
    if value is None and not required:
        return NONE
    if not isinstance(value, str):
        raise SchemaError(f'{where}: "{key}" is {"missing" if value is None else repr(value)} (versions expected)')
    try:
        return Range.parse(value.strip())
    except SchemaError as error:
        raise SchemaError(f'{where}: "{key}": {error.text}') from None


class Structs:
    """Builds fields. It has the structs of one message by name, as a field may refer to a struct elsewhere in the
    message.
    """

    def __init__(self, message: str, raw: Raw) -> None:
        self.known: dict[str, Any] = {}
        self.open: list[str] = []
        self.built = 0
        common = raw.get("commonStructs", ())
        for struct in objects(common, f"{message}: commonStructs"):
            self.known[text_at(struct, "name", f"{message}: commonStructs")] = struct.get("fields", ())

    def fields(self, raws: Any, path: str) -> tuple[Field, ...]:
        return tuple([self.field(raw, path) for raw in objects(raws, path)])

    def field(self, raw: Raw, path: str) -> Field:
        self.built += 1
        if self.built > MOST_FIELDS:
            raise SchemaError(
                f"{path.partition('.')[0]}: more than {MOST_FIELDS:,} fields, those of structs at each place"
            )
        name = camel(text_at(raw, "name", path))
        path = f"{path}.{name}"
        kind = text_at(raw, "type", path)
        element = kind.removeprefix("[]")
        tagged = range_at(raw, "taggedVersions", path)
        nullable = range_at(raw, "nullableVersions", path)
        members: tuple[Field, ...] = ()
        if element not in SCALARS:
            members = self.members(element, raw, path)
        return Field(
            name=name,
            type=kind,
            versions=range_at(raw, "versions", path) if str(raw.get("versions", "")).strip() else tagged or ALL,
            nullable=nullable,
            tagged=tagged,
            tag=integer_or_none(raw, "tag", path),
            default=default_of(kind, raw.get("default", MISSING), path),
            fields=members,
            flexible=range_at(raw, "flexibleVersions", path) if "flexibleVersions" in raw else None,
        )

    def members(self, struct: str, raw: Raw, path: str) -> tuple[Field, ...]:
        """Return the members of a struct, from the field itself or from the struct of that name.

        Raises SchemaError if there is none.
        """
        if "fields" in raw:
            self.known.setdefault(struct, raw["fields"])
            raws = raw["fields"]
        else:
            raws = self.known.get(struct)
        if raws is None:
            raise SchemaError(f'{path}: "{struct}" is neither a type nor a struct of this message')
        if struct in self.open and "fields" not in raw:
            raise SchemaError(f"{path}: struct {struct} holds itself")
        if len(self.open) >= MOST_NESTED:
            raise SchemaError(f"{path}: structs are nested more than {MOST_NESTED} deep")
        self.open.append(struct)
        members = self.fields(raws, path)
        self.open.pop()
        return members


def objects(raws: Any, path: str) -> list[Raw]:
    if not isinstance(raws, list | tuple) or not all(isinstance(raw, dict) for raw in raws):
        raise SchemaError(f"{path}: a list of JSON objects expected")
    return list(raws)


MISSING = object()
EMPTY: dict[str, object] = {
    "string": "",
    "bytes": b"",
    "records": None,
    "bool": False,
    "float64": 0.0,
    "uuid": ZERO_UUID,
}


def default_of(kind: str, value: object, path: str) -> object:
    """Return the value of a field that is not sent; see Field.default. Raises SchemaError."""
    if value is None or value == "null":
        return None
    if kind.startswith("[]"):
        return ()
    if kind not in SCALARS:
        return {}
    if value is MISSING or (value == "" and kind != "string"):
        return EMPTY.get(kind, 0)
    try:
        return default_value(kind, default_text(value))
    except ValueError as error:
        raise SchemaError(f"{path}: default {value!r}: {error}") from None
