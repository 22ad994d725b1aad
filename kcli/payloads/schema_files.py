"""Schemas in files: one that an option names for a topic, and folders that stand for a registry."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcli.errors import InputError, UsageError, unreadable
from kcli.jsontext import loads
from kcli.payloads.entries import Entries, is_entry
from kcli.payloads.framing import SchemaId
from kcli.payloads.schema import AVRO, JSON, LONGEST, PROTOBUF, TYPES, PayloadError, Schema

DESCRIPTORS = (".desc", ".pb", ".binpb", ".protoset")
SUFFIXES = (".avsc", ".proto", ".json", ".jsonl", *DESCRIPTORS)
LARGEST = 64 << 20  # bytes of a file with many schemas
MOST_FILES = 10_000
IMPORT = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"\n]{1,200})"\s*;', re.MULTILINE)
AVRO_TYPES = ("record", "enum", "fixed", "array", "map", "error")


def local_schema(name: str) -> Schema:
    """Read a schema of the user's own: `FILE`, for Protobuf also `FILE#Message`. Raises InputError, UsageError."""
    file, _, message = name.rpartition("#") if "#" in name and not Path(name).exists() else (name, "", "")
    path = Path(file)
    try:
        schema = schema_in(path, message or None)
    except OSError as error:
        raise unreadable(error, file) from None
    except InputError as error:
        raise error.within(file) from None
    if message and schema.type != PROTOBUF:
        raise UsageError(f"{name}: only a .proto file has messages")
    return schema


def schema_in(path: Path, message: str | None = None) -> Schema:
    """Read the one schema of a file, with the files beside it that it refers to. Raises InputError, OSError."""
    if path.suffix in DESCRIPTORS:
        return Schema(PROTOBUF, descriptors=read(path), local=True, message=message)
    text = text_of(path)
    if path.suffix == ".proto":
        return Schema(PROTOBUF, text, tuple(imports(path, text).items()), local=True, message=message)
    value: Any = loads(text) if text.lstrip()[:1] in ("{", "[", '"') else text
    if is_entry(value):
        entries = Entries()
        entries.add(value, 0)
        found = entries.find(SchemaId("schemaId", value.get("id", 0)))
        assert found is not None
        return found
    if path.suffix == ".avsc" or is_avro(value):
        return Schema(AVRO, text, tuple(types_beside(path, value).items()), local=True)
    return Schema(JSON, text, local=True)


def is_avro(value: Any) -> bool:
    """Return whether JSON looks like a schema of Avro. JSON Schema has none of these types with a name."""
    return isinstance(value, list) or (isinstance(value, dict) and value.get("type") in AVRO_TYPES and "name" in value)


def type_of_text(text: str, declared: str) -> str:
    """Return the type of a schema without references: the one that a registry names, else by its text."""
    if declared.upper() in TYPES:
        return declared.upper()
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return PROTOBUF
    try:
        return AVRO if is_avro(loads(text)) else JSON
    except InputError:
        return JSON


def read(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"more than {LARGEST >> 20} MiB")
    return data


def text_of(path: Path) -> str:
    try:
        return read(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"not text: byte {error.start} is not UTF-8") from None


def imports(path: Path, text: str) -> dict[str, str]:
    """Return {name: text} of the files that a .proto file imports from its folder, and of theirs. Raises
    PayloadError.
    """
    found: dict[str, str] = {}
    waiting = [*IMPORT.findall(text)]
    while waiting:
        name = waiting.pop()
        place = path.parent / name
        if name in found or ".." in Path(name).parts or not place.is_file():
            continue
        found[name] = text_of(place)
        waiting += IMPORT.findall(found[name])
        if sum(map(len, found.values())) > LONGEST:
            raise PayloadError(f"imports of more than {LONGEST >> 20} MiB")
    return found


def types_beside(path: Path, value: Any) -> dict[str, str]:
    """Return {name: text} of the Avro schemas that one refers to by name, from files `name.avsc` beside it, and of
    theirs.
    """
    found: dict[str, str] = {}

    def add(value: Any, space: str) -> None:
        for name in (f"{space}.{each}" if space and "." not in each else each for each in named_types(value)):
            place = path.parent / f"{name}.avsc"
            if name not in found and place != path and re.fullmatch(r"[\w.]+", name) and place.is_file():
                found[name] = ""  # begun
                other = loads(text_of(place))
                add(other, namespace_of(other))
                found[name] = found.pop(name) or text_of(place)

    add(value, namespace_of(value))
    return found


def namespace_of(value: Any) -> str:
    """Return the namespace of a schema's names; "" without one."""
    if not isinstance(value, dict):
        return ""
    name = value.get("name")
    return name.rpartition(".")[0] if isinstance(name, str) and "." in name else str(value.get("namespace") or "")


def named_types(value: Any) -> Iterator[str]:
    """Yield the strings at the places of types in an Avro schema."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            waiting += [each[name] for name in ("type", "items", "values") if name in each]
            waiting += [
                field["type"] for field in each.get("fields") or () if isinstance(field, dict) and "type" in field
            ]


class SchemaFiles:
    """Files and folders that stand for a registry. Their schemas are found by id.

    `7.avsc` and `7-orders.proto` have id 7. .json and .jsonl files may have a registry's responses, one or a list of
    them, or the records of its topic.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        """Read files of schemas. Raises InputError for one that can't be read."""
        self.entries = Entries()
        self.paths: dict[int | str, Path] = {}
        for name in map(Path, names):
            for path in files_in(name):
                try:
                    path.stat()
                    if not self.add(path) and path == name:
                        raise InputError("no schema with an id (7.avsc, 7-order.proto, a registry's answer expected)")
                except OSError as error:
                    raise unreadable(error, str(path)) from None
                except InputError as error:
                    raise error.within(str(path)) from None

    def add(self, path: Path) -> bool:
        """Add the schemas of a file; return whether it has any."""
        number = re.match(r"\d{1,10}(?=\D|$)", path.stem)
        if path.suffix in (".json", ".jsonl") and (found := [*entries_in(path)]):
            for entry in found:
                self.entries.add(entry, int(number[0]) if number and len(found) == 1 else None)
        elif number:
            self.paths[int(number[0])] = path
        else:
            return False
        return True

    def find(self, schema: SchemaId) -> Schema | None:
        """Return the schema with this id; None if no file has it. Raises PayloadError."""
        if found := self.entries.find(schema):
            return found
        path = self.paths.get(schema.value)
        return None if path is None else self.read(path)

    def read(self, path: Path) -> Schema:
        """Read the schema of a file. Raises PayloadError."""
        try:
            return schema_in(path)
        except (InputError, OSError) as error:
            raise PayloadError(f"{path}: {error}") from None


def files_in(path: Path) -> list[Path]:
    """Return a file, or the files of schemas in a folder and its subfolders. Raises InputError if there are none, or
    too many.
    """
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file())
    if not found:
        raise InputError(f"no schemas in this folder ({', '.join(SUFFIXES)})", file=str(path))
    if len(found) > MOST_FILES:
        raise InputError(f"more than {MOST_FILES:,} files of schemas", file=str(path))
    return found


def entries_in(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the schemas of a file that has a registry's responses."""
    text = text_of(path)
    values = [loads(line) for line in text.splitlines() if line.strip()] if path.suffix == ".jsonl" else [loads(text)]
    for value in values:
        for each in value if isinstance(value, list) else [value]:
            inner = each.get("value") if isinstance(each, dict) and not is_entry(each) else None
            made = loads(inner) if isinstance(inner, str) and inner.startswith("{") else inner or each
            if is_entry(made):
                yield made
