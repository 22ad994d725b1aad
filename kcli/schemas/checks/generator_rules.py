"""The rules of Kafka's message generator for definitions (MessageSpec, StructSpec, FieldSpec, StructRegistry,
MessageDataGenerator of org.apache.kafka:generator 3.9.1).

They check the JSON itself, so that each finding has the JSON object with the fault, and so its line.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kcli.errors import SchemaError
from kcli.nearest import suggestion
from kcli.schemas.defaults import default_text, default_value
from kcli.schemas.definition import KINDS
from kcli.schemas.definition_keys import FIELD_KEYS, MESSAGE_KEYS, STRUCT_KEYS, WORDS, Raw, fits, objects
from kcli.schemas.model import SCALARS, SIZED
from kcli.schemas.ranges import HIGHEST, NONE, Range

LISTENERS = ("zkBroker", "broker", "controller")
NAME, TYPE_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9]*)"), re.compile(r"[A-Z][A-Za-z0-9]*")
ENTITIES: dict[str, str | None] = {
    "unknown": None,
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}


class Broken(NamedTuple):
    """at: the JSON object with the fault; path: the field, "" for the message."""

    at: Raw
    path: str
    rule: str
    text: str


class Rules:
    """Checks one definition, and collects the findings."""

    def __init__(self, raw: Raw) -> None:
        self.raw, self.found = raw, list[Broken]()
        self.structs: dict[str, Raw] = {}
        self.common: dict[str, Raw] = {}
        self.used: set[str] = set()

    def report(self, at: Raw, path: str, rule: str, text: str) -> None:
        self.found.append(Broken(at, path, rule, text))

    def message(self) -> None:
        raw = self.raw
        self.keys(raw, "", MESSAGE_KEYS, "message")
        for key in ("name", "type", "validVersions", "flexibleVersions"):
            if has_no_value(raw, key):
                self.report(raw, "", "key-missing", f'"{key}" is missing')
        kind = raw.get("type")
        if isinstance(kind, str) and kind not in KINDS:
            self.report(raw, "", "type-unknown", f"type {kind!r} is none of {', '.join(KINDS)}")
        self.about_kind(kind)
        versions = self.versions(raw, "", "validVersions")
        if versions and versions.hi == HIGHEST:
            self.report(raw, "", "versions-open", f'"validVersions" {versions}: a last version expected')
        self.versions(raw, "", "deprecatedVersions")
        flexible = self.versions(raw, "", "flexibleVersions", open_ended=True)
        if "validVersions" in raw and versions == NONE and raw["validVersions"] == "none" and self.raw.get("fields"):
            self.report(raw, "", "versions-none", "it has fields, but no version")
        for struct in objects(raw.get("commonStructs")):
            self.common_struct(struct)
        self.fields(objects(raw.get("fields")), "", flexible, top=True)
        for struct in self.common.values():
            for key in ("versions", "deprecatedVersions"):
                self.versions(struct, str(struct.get("name")), key)  # also reports an invalid range
            self.fields(objects(struct.get("fields")), f"{struct.get('name')}.", flexible)
        for name in self.common:
            if self.holds_itself(name):
                self.report(self.common[name], name, "struct-recursive", f"struct {name} holds itself")

    def about_kind(self, kind: object) -> None:
        raw, name = self.raw, self.raw.get("name")
        if kind in ("request", "response", "metadata") and raw.get("apiKey") is None:
            self.report(raw, "", "key-missing", f'"apiKey" is missing: a {kind} needs one')
        suffix = {"request": "Request", "response": "Response"}.get(str(kind), "")
        if isinstance(name, str) and not name.endswith(suffix):
            self.report(raw, "", "name-suffix", f"{name} does not end with {suffix}, as the name of a {kind} does")
        if kind != "request":
            for key in ("listeners", "latestVersionUnstable"):
                if raw.get(key):
                    self.report(raw, "", "requests-only", f'"{key}" is for requests, and this is a {kind}')
        for listener in raw.get("listeners") or () if isinstance(raw.get("listeners"), list) else ():
            if listener not in LISTENERS:
                self.report(raw, "", "listener-unknown", f"listener {listener!r} is none of {', '.join(LISTENERS)}")
        number = raw.get("apiKey")
        if isinstance(number, int) and not -HIGHEST - 1 <= number <= HIGHEST:
            self.report(raw, "", "key-range", f"API key {number} is no int16")

    def keys(self, at: Raw, path: str, known: dict[str, type], kind: str) -> None:
        """Report unknown keys, and values whose types Jackson cannot coerce."""
        for key, value in at.items():
            if key not in known:
                self.report(at, path, "key-unknown", f'"{key}" is no key of a {kind}{suggestion(key, known)}')
            elif not fits(value, known[key]):
                self.report(at, path, "key-type", f'"{key}" is {value!r}: {WORDS[known[key]]} expected')

    def versions(self, at: Raw, path: str, key: str, *, open_ended: bool = False, default: Range = NONE) -> Range:
        text = at.get(key)
        if not isinstance(text, str) or not text.strip():
            return default
        try:
            found = Range.parse(text.strip())
        except SchemaError as error:
            if not backward(text):
                self.report(at, path, "range", f'"{key}": {error.text}')
            return default
        if open_ended and found and found.hi < HIGHEST:
            self.report(at, path, "range-closed", f'"{key}" {text}: "none" or an open range ({found.lo}+) expected')
        return found

    def common_struct(self, struct: Raw) -> None:
        name = struct.get("name")
        self.keys(struct, str(name), STRUCT_KEYS, "common struct")
        for key in ("name", "versions"):
            if has_no_value(struct, key):
                self.report(struct, str(name or ""), "key-missing", f'"{key}" of a common struct is missing')
        if not isinstance(name, str):
            return
        if not TYPE_NAME.fullmatch(name):
            self.report(
                struct, name, "name-invalid", f"struct {name}: a capital letter first, then letters and digits expected"
            )
        if name in self.common:
            self.report(struct, name, "struct-twice", f"common struct {name} is defined twice")
        self.common[name] = struct

    def holds_itself(self, name: str) -> bool:
        seen, todo = set[str](), [name]
        while todo:
            for field in inner_fields(self.common[todo.pop()]):
                element = str(field.get("type", "")).removeprefix("[]")
                if element == name:
                    return True
                if element in self.common and element not in seen:
                    seen.add(element)
                    todo.append(element)
        return False

    def fields(self, fields: list[Raw], path: str, flexible: Range, top: bool = False) -> None:
        names, tags = set[str](), dict[int, str]()
        for field in fields:
            name = field.get("name")
            field_path = f"{path}{name[:1].lower() + name[1:]}" if isinstance(name, str) else path.rstrip(".")
            self.field(field, field_path, flexible, top)
            if isinstance(name, str):
                if field_path in names:  # with a small first letter, as all names in Java and JSON
                    self.report(field, field_path, "name-twice", f"an earlier field is named {name}, too")
                names.add(field_path)
            tag = field.get("tag")
            if isinstance(tag, int) and not isinstance(tag, bool):
                if tag in tags:
                    self.report(field, field_path, "tag-clash", f"tag {tag} is that of {tags[tag]}")
                tags[tag] = str(name)
        free = next(number for number in range(len(tags) + 1) if number not in tags)
        for field in fields:
            tag = field.get("tag")
            if isinstance(tag, int) and tag > free:
                text = f"tag {tag}, but no field has tag {free}: tags run on from 0"
                self.report(field, f"{path}{field.get('name')}", "tag-gap", text)

    def field(self, field: Raw, path: str, flexible: Range, top: bool) -> None:
        self.keys(field, path, FIELD_KEYS, "field")
        name, kind = field.get("name"), field.get("type")
        for key in ("name", "type"):
            if has_no_value(field, key):
                self.report(field, path, "key-missing", f'"{key}" is missing')
        if isinstance(name, str) and not NAME.fullmatch(name):
            self.report(field, path, "name-invalid", f"name {name!r}: letters and digits expected")
        tagged = self.versions(field, path, "taggedVersions", open_ended=True)
        versions = self.versions(field, path, "versions", default=tagged)
        if has_no_value(field, "versions") and not tagged:
            self.report(field, path, "key-missing", '"versions" is missing')
        if not isinstance(kind, str):
            return
        element = kind.removeprefix("[]")
        if not self.type(field, path, kind, element):
            return
        nullable = self.versions(field, path, "nullableVersions")
        if nullable and element == kind and kind in SCALARS and kind not in SIZED:
            self.report(field, path, "not-nullable", f"{kind} has no null")
        self.tagging(field, path, versions, nullable, tagged, flexible)
        self.flags(field, path, kind, top)
        self.override(field, path, kind, flexible)
        self.default(field, path, kind, nullable, versions)
        if element not in SCALARS:
            self.struct(field, path, element, flexible)

    def type(self, field: Raw, path: str, kind: str, element: str) -> bool:
        if element.startswith("[]"):
            self.report(field, path, "type-unknown", f"{kind}: an array of arrays; put a struct between them")
        elif kind == "[]records":
            self.report(field, path, "type-unknown", "[]records: there is no array of records")
        elif element not in SCALARS and not TYPE_NAME.fullmatch(element):
            meant = suggestion(element, SCALARS) or "; a struct's name begins with a capital letter"
            self.report(field, path, "type-unknown", f"{kind!r} is no type{meant}")
        else:
            return True
        return False

    def struct(self, field: Raw, path: str, element: str, flexible: Range) -> None:
        inner = objects(field.get("fields"))
        if inner:
            if element in self.common:
                self.report(
                    field, path, "struct-twice", f"{element} is a common struct: its fields can't be given here"
                )
            elif element in self.structs:
                self.report(field, path, "struct-twice", f"struct {element} is defined twice; make it a common struct")
            self.structs.setdefault(element, field)
            if field.get("versions") == "none" and any(each.get("mapKey") for each in inner):
                self.report(field, path, "versions-none", f"{element} has a key of a map, but no version")
            self.fields(inner, f"{path}.", flexible)
        elif element in self.structs:
            text = f"struct {element} is defined elsewhere with its fields; make it a common struct"
            self.report(field, path, "struct-twice", text)

    def tagging(self, field: Raw, path: str, versions: Range, nullable: Range, tagged: Range, flexible: Range) -> None:
        tag = field.get("tag")
        if tag is None:
            if tagged:
                self.report(field, path, "tag-missing", f"taggedVersions {tagged} without a tag")
            return
        if isinstance(tag, int) and tag < 0:
            self.report(field, path, "tag-negative", f"tag {tag}: 0 or more expected")
        if field.get("mapKey") is True:
            self.report(field, path, "tag-map-key", "a tagged field can't be a key of a map")
        if field.get("type") == "records":
            self.report(field, path, "tag-records", "records can't be tagged")
        if not tagged:
            self.report(field, path, "tag-unused", f"tag {tag} without taggedVersions")
            return
        both = nullable & tagged
        if both and both != tagged:
            text = f"nullable in {nullable}, tagged in {tagged}: in all tagged versions, or in none"
            self.report(field, path, "tag-null", text)
        if not versions.holds(tagged):
            self.report(
                field, path, "tag-versions", f"tagged in {tagged}, which are not all of its versions {versions}"
            )
        if not flexible.holds(tagged):
            self.report(
                field, path, "tag-inflexible", f"tagged in {tagged}, but flexible in {flexible}: no place for tags"
            )

    def flags(self, field: Raw, path: str, kind: str, top: bool) -> None:
        if field.get("fields") and kind.removeprefix("[]") in SCALARS:
            self.report(field, path, "fields-of-scalar", f"{kind} has no fields")
        if field.get("zeroCopy") is True and kind != "bytes":
            self.report(field, path, "zero-copy", f'"zeroCopy" is for bytes, and this is {kind}')
        if field.get("mapKey") is True and top:
            self.report(field, path, "map-key", '"mapKey" is for fields of a struct in an array')
        if isinstance(entity := field.get("entityType"), str) and (text := wrong_entity(entity, kind)):
            self.report(field, path, "entity", text)

    def override(self, field: Raw, path: str, kind: str, flexible: Range) -> None:
        versions_text = field.get("flexibleVersions")
        if not isinstance(versions_text, str) or not versions_text:
            return
        own = self.versions(field, path, "flexibleVersions")
        text = ""
        if not versions_text.strip():
            text = '"flexibleVersions" is blank'
        elif kind not in ("string", "bytes"):
            text = f'"flexibleVersions" is for strings and bytes, and this is {kind}'
        elif not flexible.holds(own):
            text = f"flexible in {own}, but the message in {flexible}: in some of its versions expected"
        if text:
            self.report(field, path, "flexible-override", text)

    def default(self, field: Raw, path: str, kind: str, nullable: Range, versions: Range) -> None:
        value = field.get("default")
        if value is None or isinstance(value, (list, dict)):
            return
        text = default_text(value)
        if text == "null":
            able = kind.startswith("[]") or kind not in SCALARS or kind in SIZED
            if able and not nullable.holds(versions):
                self.report(field, path, "null-default", f"null by default, but nullable in {nullable} of {versions}")
            if able:
                return
        if not text:
            return
        if kind.startswith("[]"):
            self.report(field, path, "default", "an array has no other default than empty and null")
        elif kind not in SCALARS:
            self.report(field, path, "default", "a struct has no other default than empty and null")
        elif reason := wrong_default(kind, text):
            self.report(field, path, "default", f"default {text!r}: {reason}")


def has_no_value(raw: Raw, key: str) -> bool:
    """Return whether a key has no value. For `versions` and `validVersions`, a blank text is none; `flexibleVersions`
    may be blank.
    """
    value = raw.get(key)
    return value is None or (key in ("versions", "validVersions") and isinstance(value, str) and not value.strip())


def broken_rules(raw: Raw) -> list[Broken]:
    """Return the faults for which the generator refuses a definition."""
    rules = Rules(raw)
    rules.message()
    return rules.found


def backward(text: str) -> bool:
    """Return whether a range runs from high to low, which is an empty range for the generator."""
    lo, _, hi = text.partition("-")
    return lo.isdigit() and hi.isdigit()


def wrong_default(kind: str, text: str) -> str:
    """Return why the generator rejects a text as the default of a scalar type; "" if it accepts it."""
    if kind == "bytes":
        return "no other default than empty and null"
    try:
        default_value(kind, text)
    except ValueError as error:
        return str(error)
    return ""


def inner_fields(raw: Raw) -> Iterator[Raw]:
    """Yield the fields of a struct and of the structs in it."""
    for field in objects(raw.get("fields")):
        yield field
        yield from inner_fields(field)


def wrong_entity(entity: str, kind: str) -> str:
    """Return the fault of a field's entityType, or ""."""
    if entity not in ENTITIES:
        return f"entityType {entity!r} is none of {', '.join(ENTITIES)}"
    base = ENTITIES[entity]
    return f"entityType {entity} is a {base}, and this is {kind}" if base not in (None, kind.removeprefix("[]")) else ""
