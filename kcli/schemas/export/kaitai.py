"""Writes a specification for Kaitai Struct: frames, every message in every version, and record batches.

Each message is a type with its version as parameter, `fetch_request(version)`. The length of an array is named
`num_...`. Texts and bytes are types of their own, without a `value` for null.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kcli.jsontext import dumps
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Api, Field, Message
from kcli.schemas.ranges import Range
from kcli.version import __version__

HEADERS = ("RequestHeader", "ResponseHeader")
PLAIN = {
    "bool": "u1", "int8": "s1", "int16": "s2", "int32": "s4", "int64": "s8", "uint16": "u2", "uint32": "u4",
    "float64": "f8",
}  # fmt: skip
PRIMITIVES = Path(__file__).parent / "primitives.ksy"  # types that do not depend on the tables
SIZED = {"string": "text", "bytes": "blob", "records": "record_batches"}
HEAD = f"""\
# Apache Kafka's protocol for Kaitai Struct: every API in every version, by kcli {__version__}.
# Made by `kcli schema export --to kaitai`; do not edit.
meta:
  id: kafka
  title: Apache Kafka's wire protocol
  endian: be
  ks-version: 0.10
doc: |
  Requests as a client sends them, each behind its length. A response can be read where its request is known:
  response(api_key, api_version). Layouts that old releases had under the same version number are left out.
seq:
  - {{id: requests, type: request_frame, repeat: eos}}
types:
  request_frame:
    seq:
      - {{id: len_request, type: s4}}
      - {{id: request, type: request, size: len_request}}"""


def kaitai(tables: Catalog) -> Iterator[str]:
    """Yield the text of the specification, line by line or in larger parts."""
    yield HEAD
    yield from request_type(tables)
    yield from response_type(tables)
    yield PRIMITIVES.read_text("utf-8").rstrip()
    for name in (*HEADERS, *(name for api in tables.apis.values() for name in (api.request, api.response))):
        yield from message_type(tables.message(name))
    yield "enums:"
    yield "  apis:"
    yield from (f"    {key}: {identifier(api.name)}" for key, api in tables.apis.items())


def request_type(tables: Catalog) -> Iterator[str]:
    yield "  request:"
    yield "    seq:"
    yield "      - {id: header, type: request_header(header_version)}"
    yield "      - id: body"
    yield "        type:"
    yield "          switch-on: api_key"
    yield "          cases:"
    for api in tables.apis.values():
        yield f"            {api.key}: {identifier(api.request)}(api_version)"
    yield "      - {id: trailing, size-eos: true}"
    yield "    instances:"
    yield "      api_key: {pos: 0, type: s2}"
    yield "      api_version: {pos: 2, type: s2}"
    version = header_version(tables.apis.values(), Api.request_header_version, 2)
    yield f"      header_version: {{value: {dumps(version)}}}"


def response_type(tables: Catalog) -> Iterator[str]:
    yield "  response:"
    yield "    params:"
    yield "      - {id: api_key, type: s2}"
    yield "      - {id: api_version, type: s2}"
    yield "    seq:"
    yield "      - {id: header, type: response_header(header_version)}"
    yield "      - id: body"
    yield "        type:"
    yield "          switch-on: api_key"
    yield "          cases:"
    for api in tables.apis.values():
        yield f"            {api.key}: {identifier(api.response)}(api_version)"
    yield "      - {id: trailing, size-eos: true}"
    yield "    instances:"
    version = header_version(tables.apis.values(), Api.response_header_version, 0)
    yield f"      header_version: {{value: {dumps(version)}}}"


def header_version(apis: Iterable[Api], version_of: Callable[[Api, int], int], unknown: int) -> str:
    """Return an expression for the header's version: a number, or a choice by API if it depends on the API or its
    version.
    """
    runs: dict[int, list[str]] = {}
    for api in apis:
        for number, versions in header_runs(api, version_of):
            runs.setdefault(number, []).append(
                condition(f"api_key == {api.key}", versions, api.versions, "api_version")
            )
    expression = str(unknown)
    for number, conditions in runs.items():
        if number != unknown:
            expression = f"({' or '.join(conditions)}) ? {number} : ({expression})"
    return expression


def header_runs(api: Api, version_of: Callable[[Api, int], int]) -> Iterator[tuple[int, Range]]:
    begun = api.versions.lo
    for version in api.versions:
        if version == api.versions.hi or version_of(api, version + 1) != version_of(api, version):
            yield version_of(api, version), Range(begun, version)
            begun = version + 1


def condition(first: str, versions: Range, all_: Range, word: str = "version") -> str:
    """Return the expression `first`, combined with the version's range; "" if it is always true."""
    terms = [first] if first else []
    terms += [f"{word} >= {versions.lo}"] if versions.lo > all_.lo else []
    terms += [f"{word} <= {versions.hi}"] if versions.hi < all_.hi else []
    return f"({' and '.join(terms)})" if len(terms) > 1 else "".join(terms)


def message_type(message: Message) -> Iterator[str]:
    """Yield the type of a message, and the types of its structs."""
    types = Types(message)
    root = types.struct(message.fields, "")
    yield f"  {identifier(message.name)}:"
    yield from (f"    {line}" for line in root)
    if types.made:
        yield "    types:"
    for name, lines in types.made.items():
        yield f"      {name}:"
        yield from (f"        {line}" for line in lines)


class Types:
    """The types that a message needs, by name: its structs, and their tagged fields."""

    def __init__(self, message: Message) -> None:
        self.versions, self.flexible = message.versions, message.flexible & message.versions
        self.made: dict[str, list[str]] = {}

    def add(self, name: str, lines: Iterable[str]) -> str:
        """Add a type under a name that is still free, and return that name."""
        found, number = name, 2
        while found in self.made:
            found, number = f"{name}_{number}", number + 1
        self.made[found] = []  # reserves the name for the types within it
        self.made[found] = list(lines)
        return found

    def struct(self, fields: tuple[Field, ...], path: str) -> list[str]:
        """Return the lines of a struct's type, and add the types of its members."""
        entries = [
            line
            for field in fields
            for versions in outside(field.versions & self.versions, field.tagged)
            for line in self.entries(field, versions, path, tagged=False)
        ]
        if self.flexible:
            tagged = [field for field in fields if field.tagged & self.versions]
            kind = f"{self.tags(tagged, path)}(version)" if tagged else "unknown_tags"
            entries.append(entry("tagged_fields", condition("", self.flexible, self.versions), type=kind))
        return self.lines(entries)

    def lines(self, entries: list[str]) -> list[str]:
        return [
            "params:",
            "  - {id: version, type: s2}",
            *(["seq:"] if entries else []),
            *(f"  - {e}" for e in entries),
        ]

    def tags(self, fields: list[Field], path: str) -> str:
        """Add a type for the tagged fields of a struct: their number, then each with its tag and size."""
        cases = []
        for field in fields:
            inner = self.lines(list(self.entries(field, field.tagged & self.versions, path, tagged=True)))
            name = self.add(f"{path}tag_{identifier(field.name)}", inner)
            cases.append(f"{field.tag}: {dumps(f'{name}(version)')}")
        one = [
            entry("tag", "", type="uvarint"),
            entry("len", "", type="uvarint"),
            f"{{id: value, size: len.value, type: {{switch-on: tag.value, cases: {{{', '.join(cases)}}}}}}}",
        ]
        each = self.add(f"{path}tag", self.lines(one))
        repeated = {"type": f"{each}(version)", "repeat": "expr", "repeat-expr": "num_fields.value"}
        return self.add(
            f"{path}tags", self.lines([entry("num_fields", "", type="uvarint"), entry("fields", "", **repeated)])
        )

    def entries(self, field: Field, versions: Range, path: str, *, tagged: bool) -> Iterator[str]:
        """Yield the entries in `seq` for a field in these versions."""
        name, when = identifier(field.name), condition("", versions, self.versions)
        compact = "true" if tagged else self.compactness(field, versions)
        if field.is_array:
            count = f"num_{name}"
            yield entry(count, when, type=f"count({compact})")
            kind = self.kind(field, f"{path}{name}_entry", compact)
            yield entry(name, when, **kind, repeat="expr", **{"repeat-expr": f"{count}.value < 0 ? 0 : {count}.value"})
            return
        kind = self.kind(field, f"{path}{name}_fields", compact)
        nullable = field.nullable & versions
        if field.is_struct and nullable:
            yield entry(f"has_{name}", condition("", nullable, self.versions), type="uvarint" if tagged else "s1")
            presence = f"has_{name}.value > 0" if tagged else f"has_{name} >= 0"
            never = condition("", nullable, versions)
            when = " and ".join(each for each in (when, f"(not {never} or {presence})" if never else presence) if each)
        yield entry(name, when, **kind)

    def compactness(self, field: Field, versions: Range) -> str:
        """Return an expression: whether the field's lengths are compact."""
        compact = self.flexible if field.flexible is None else field.flexible & self.versions
        if not compact & versions:
            return "false"
        return "true" if compact.holds(versions) else condition("", compact, self.versions)

    def kind(self, field: Field, name: str, compact: str) -> dict[str, str]:
        """Return the type of the field, or of its array's entries."""
        if field.is_struct:
            made = self.add(name, ())
            self.made[made] = self.struct(field.fields, f"{made.removesuffix('_entry').removesuffix('_fields')}_")
            return {"type": f"{made}(version)"}
        if field.element == "uuid":
            return {"size": "16"}
        if field.element in SIZED:
            return {"type": f"{SIZED[field.element]}({compact})"}
        return {"type": PLAIN[field.element]}


def outside(versions: Range, tagged: Range) -> list[Range]:
    """Return the versions in which a field is not tagged, as ranges."""
    if not versions or not tagged:
        return [versions] if versions else []
    found = [Range(versions.lo, min(versions.hi, tagged.lo - 1)), Range(max(versions.lo, tagged.hi + 1), versions.hi)]
    return [each for each in found if each]


def entry(name: str, when: str, **attributes: str) -> str:
    """Return an entry of `seq`. when: an expression, "" for always."""
    members = {"id": name, **attributes, **({"if": when} if when else {})}
    return "{" + ", ".join(f"{key}: {quoted(value)}" for key, value in members.items()) + "}"


def quoted(value: str) -> str:
    """Return a value in YAML, quoted if necessary."""
    return value if re.fullmatch(r"[a-z0-9_]+", value) else dumps(value)


def identifier(name: str) -> str:
    """Turn a camelCase name into an identifier of Kaitai Struct: snake_case of ASCII."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    plain = re.sub(r"[^a-z0-9_]", "_", spaced.lower())
    return plain if plain[:1].isalpha() else f"x_{plain}"
