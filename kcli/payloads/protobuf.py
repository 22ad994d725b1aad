"""Protobuf, by Google's library: messages of .proto texts, which protoc compiles, and of compiled descriptors.

JSON of a message: fields by their names in the schema, 64-bit numbers as numbers, bytes as base64, enums by name.
Fields without presence have their default. Google's own types (Timestamp, Struct, ...) are as in Protobuf's JSON.
Unknown fields are left out.
"""

import base64
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError as NoMessageError
from google.protobuf.message import EncodeError as NoBytesError

from kcli.jsontext import dumps
from kcli.payloads.framing import Frame
from kcli.payloads.json_values import json_of
from kcli.payloads.plain import json_form
from kcli.payloads.schema import FAILURES, PayloadError, Schema
from kcli.temporary import TemporaryFolder

NAME = "schema.proto"  # the file name of the text with the messages
SECONDS = 20  # the longest run of protoc
DEEPEST = 100  # the most levels of nested messages
MOST_INDEXES = 100
NUMBERS = {
    FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64, FieldDescriptor.CPPTYPE_BOOL,
}  # fmt: skip
OWN = "google.protobuf."
MAP_ENTRY = re.compile(r"\boption\s+map_entry\s*=\s*true\s*;")
IMPORTS = Path(__file__).parent / "imports"  # types that serializers bring along, so that no registry has them
WRONG = (*FAILURES, NoMessageError, NoBytesError, json_format.Error)


class ProtobufCodec:
    """Reads and writes messages of one schema. Message indexes or names choose the message; without them it is the
    first.
    """

    def __init__(self, schema: Schema) -> None:
        """Compile the schema. Raises PayloadError if it is no schema of Protobuf."""
        try:
            files = descriptor_pb2.FileDescriptorSet.FromString(schema.descriptors or compiled(schema))
            self.pool = descriptor_pool.DescriptorPool()
            for file in files.file:
                self.pool.Add(file)
            self.file = self.pool.FindFileByName(files.file[-1].name)
            self.messages = [*self.file.message_types_by_name.values()]
            self.names = {name: kind for kind in self.all_messages() for name in (kind.name, kind.full_name)}
            self.first = self.named(schema.message) if schema.message else self.messages[0]
        except WRONG as error:
            raise PayloadError(f"not a schema of Protobuf: {' '.join(str(error).split())[:200]}") from None

    def decode(self, data: bytes, start: int) -> Any:
        """Return the value of a payload as in JSON. Raises PayloadError."""
        return self.message(data, start, self.first)

    def decode_framed(self, frame: Frame, data: bytes) -> Any:
        """Return the value of a message after its frame and the message indexes or name there. Raises PayloadError."""
        if frame.json:
            return json_of(data[frame.start :])
        kind, at = self.place(frame, data)
        return self.message(data, at, kind)

    def encode_like(self, value: Any, frame: Frame, data: bytes) -> bytes:
        """Return the bytes of a value after a frame, of the same message as the payload there. Raises PayloadError."""
        if frame.json:
            return dumps(value).encode("utf-8", "surrogatepass")
        kind, at = self.place(frame, data)
        return data[frame.start : at] + self.encoded(value, kind)

    def place(self, frame: Frame, data: bytes) -> tuple[Descriptor, int]:
        """Return (message, position at which it begins) of a payload. Raises PayloadError.

        Confluent's serializers write the message's indexes, there or in a header, Apicurio's its name or a header.
        Those of Apicurio's version 3 write the name beside a header, too, and after indexes if they are configured to
        write both.
        """
        found, at = self.behind_name(data, frame.start), frame.start
        if frame.indexes:
            return self.behind_indexes(frame.indexes, 0)[0], at
        if frame.message is None:
            if found is not None:
                return found
            kind, at = self.behind_indexes(data, at)
            return self.behind_name(data, at) or (kind, at)
        kind = self.named(frame.message)
        return found if found is not None and found[0] is kind else (kind, at)

    def behind_indexes(self, data: bytes, start: int) -> tuple[Descriptor, int]:
        """Return (message, position after the indexes) for the indexes that Confluent's serializers write. Raises
        PayloadError.
        """
        indexes, at = read_indexes(data, start)
        kinds, found = self.messages, None
        for index in indexes:
            if not 0 <= index < len(kinds):
                raise PayloadError(f"the schema has no message {index} there")
            found = kinds[index]
            # As in Java, in which the entries of maps are no messages of the text.
            kinds = [each for each in found.nested_types if not each.GetOptions().map_entry]
        return found or self.first, at

    def behind_name(self, data: bytes, start: int) -> tuple[Descriptor, int] | None:
        """Return (message, position after the name) for the name that Apicurio's serializer writes; None if there is
        none.
        """
        if data[start + 1 : start + 2] != b"\n":
            return None
        size, at = varint(data, start)
        name = data[at + 2 : at + size]
        kind = self.names.get(name.decode("utf-8", "replace"))
        return None if kind is None or size != len(name) + 2 or data[at + 1] != len(name) else (kind, at + size)

    def named(self, name: str) -> Descriptor:
        """Return a message by its full or short name. Raises PayloadError."""
        if name not in self.names:
            raise PayloadError(f"the schema has no message {name!r}")
        return self.names[name]

    def all_messages(self) -> list[Descriptor]:
        """Return all messages of the file, inner ones first, so that a short name refers to the outermost."""
        found = [*self.messages]
        for kind in found:
            found += kind.nested_types
        return found[::-1]

    def message(self, data: bytes, start: int, kind: Descriptor) -> Any:
        """Return the value of a message of this kind. Raises PayloadError if the bytes are none."""
        try:
            made = message_factory.GetMessageClass(kind)()
            made.ParseFromString(data[start:] if start else data)
            return json_form(fields_of(made, 1))
        except WRONG as error:
            raise PayloadError(f"not of message {kind.full_name}: {' '.join(str(error).split())[:200]}") from None

    def encode(self, value: Any) -> bytes:
        """Return the payload of a value. Raises PayloadError."""
        return self.encoded(value, self.first)

    def encoded(self, value: Any, kind: Descriptor) -> bytes:
        """Return the bytes of a message of this kind. Raises PayloadError."""
        made = message_factory.GetMessageClass(kind)()
        try:
            data: bytes = json_format.ParseDict(value, made, descriptor_pool=self.pool).SerializeToString()
        except WRONG as error:
            raise PayloadError(f"no message {kind.full_name}: {' '.join(str(error).split())[:200]}") from None
        return data


def compiled(schema: Schema) -> bytes:
    """Return the FileDescriptorSet of a .proto text and its imports; the last file is the text's. Raises PayloadError.

    Each text may be the base64 of a descriptor instead, which is passed to protoc. Apicurio's serializer writes the
    entries of maps as messages with an option that protoc refuses in a text; the option is removed and set afterwards.
    """
    descriptors = descriptor_pb2.FileDescriptorSet()
    entries = False
    with TemporaryFolder("kcli-proto-") as folder:
        root = Path(folder)
        for name, text in (*schema.references, (NAME, schema.text)):
            place = root / relative(name)
            if (file := base64_descriptor(text)) is not None:
                file.name = name
                descriptors.file.append(file)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            plain, number = MAP_ENTRY.subn("", text)
            place.write_text(plain)
            entries = entries or number > 0
        if descriptors.file and descriptors.file[-1].name == NAME and not descriptors.file[-1].dependency:
            return bytes(descriptor_pb2.FileDescriptorSet(file=descriptors.file[-1:]).SerializeToString())
        out = root / "descriptors.bin"
        words = ["--include_imports", f"--descriptor_set_out={out}"]
        if descriptors.file:
            (root / "given.bin").write_bytes(descriptors.SerializeToString())
            words.append("--descriptor_set_in=given.bin")
        run_protoc(root, [*words, NAME])
        if not out.exists():
            raise PayloadError("not a schema of Protobuf: protoc gave up")
        data = out.read_bytes()
        return with_map_entries(data) if entries else data


def run_protoc(root: Path, words: Sequence[str]) -> None:
    """Run protoc on the texts in a folder. Raises PayloadError if protoc refuses them, or takes too long."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "grpc_tools.protoc", f"-I{root}", f"-I{IMPORTS}", *own_types(), *words],
            capture_output=True,
            timeout=SECONDS,
            check=False,
            cwd=root,
        )
    except subprocess.TimeoutExpired:
        raise PayloadError(f"not a schema of Protobuf: protoc took longer than {SECONDS} s") from None
    if done.returncode:
        reported = re.search(r"^[^\n]*\.proto[: ][^\n]*", done.stderr.decode("utf-8", "replace"), re.MULTILINE)
        text = reported[0].replace(f"{root}/", "")[:200] if reported else "protoc gave up"
        raise PayloadError(f"not a schema of Protobuf: {text}")


def with_map_entries(data: bytes) -> bytes:
    """Return a FileDescriptorSet in which messages of key and value are marked as entries of the maps that use them."""
    files = descriptor_pb2.FileDescriptorSet.FromString(data)
    waiting = [kind for file in files.file for kind in file.message_type]
    while waiting:
        kind = waiting.pop()
        waiting += kind.nested_type
        repeated = {field.type_name.rpartition(".")[2] for field in kind.field if field.label == field.LABEL_REPEATED}
        for inner in kind.nested_type:
            members = [(field.name, field.number) for field in inner.field]
            if inner.name in repeated and inner.name.endswith("Entry") and members == [("key", 1), ("value", 2)]:
                inner.options.map_entry = True
    return bytes(files.SerializeToString())


def own_types() -> list[str]:
    """Return the options by which protoc finds Google's own types."""
    import grpc_tools

    return [f"-I{Path(each) / '_proto'}" for each in grpc_tools.__path__]


def relative(name: str) -> PurePosixPath:
    """Return a file's name as a path below a folder. Raises PayloadError if it would be outside."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not re.fullmatch(r"[\w./ +-]{1,200}", name):
        raise PayloadError(f"not a name of a .proto file: {name!r}")
    return path


def base64_descriptor(text: str) -> descriptor_pb2.FileDescriptorProto | None:
    """Return a file's descriptor from base64 text (a registry's `format=serialized`, or from Python clients); None for
    other texts.
    """
    if not re.fullmatch(r"[A-Za-z0-9+/\s]+={0,2}\s*", text):
        return None
    try:
        return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text))
    except WRONG:
        return None


def read_indexes(data: bytes, start: int) -> tuple[list[int], int]:
    """Return (indexes of a message, position after them); a single 0 stands for [0]. Raises PayloadError."""
    count, at = zigzag(data, start)
    if not 0 <= count <= MOST_INDEXES:
        raise PayloadError("no indexes of a message in front of it")
    indexes = []
    for _ in range(count):
        index, at = zigzag(data, at)
        indexes.append(index)
    return indexes, at


def write_indexes(indexes: list[int]) -> bytes:
    """Return the bytes of message indexes, none of which is negative."""
    numbers = [0] if indexes in ([], [0]) else [len(indexes), *indexes]
    out = bytearray()
    for number in numbers:
        rest = number << 1
        while rest > 0x7F:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
    return bytes(out)


def zigzag(data: bytes, at: int) -> tuple[int, int]:
    number, at = varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return (number, position after it). Raises PayloadError."""
    value = shift = 0
    for end in range(at, min(len(data), at + 10)):
        value |= (data[end] & 0x7F) << shift
        shift += 7
        if data[end] < 0x80:
            return value, end + 1
    raise PayloadError("it ends too early")


def fields_of(message: Any, depth: int) -> Any:
    """Return a message in nearly the form of JSON: bytes, and numbers outside of JSON, are left to `json_form`. Raises
    PayloadError.
    """
    kind = message.DESCRIPTOR
    if depth > DEEPEST:
        raise PayloadError(f"deeper than {DEEPEST} messages")
    if kind.full_name.startswith(OWN) and kind.file.name.startswith("google/protobuf/"):
        return json_format.MessageToDict(message, preserving_proto_field_name=True)
    made: dict[str, Any] = {}
    for field in kind.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            form = entry.fields_by_name["value"]
            made[field.name] = {key_text(key): value_of(form, value[key], depth) for key in value}
        elif field.is_repeated:
            made[field.name] = [value_of(field, each, depth) for each in value]
        else:
            made[field.name] = value_of(field, value, depth)
    for field, value in message.ListFields():
        if field.is_extension:
            made[f"[{field.full_name}]"] = (
                [value_of(field, each, depth) for each in value] if field.is_repeated else value_of(field, value, depth)
            )
    return made


def key_text(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def value_of(field: FieldDescriptor, value: Any, depth: int) -> Any:
    """Return one value of a field in the form of `fields_of`."""
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_MESSAGE:
        return fields_of(value, depth + 1)
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    if kind == FieldDescriptor.CPPTYPE_FLOAT:
        return shortest(value)
    return value


def shortest(value: float) -> float:
    """Return the number with the fewest digits that is the same 32-bit float."""
    if value - value:  # NaN or infinite
        return value
    for digits in (6, 7, 8, 9):
        made = float(f"{value:.{digits}g}")
        if struct.pack("f", made) == struct.pack("f", value):
            return made
    return value
