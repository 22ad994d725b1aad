"""Reads Kafka's error codes from a compiled class, as only the enum Errors in kafka-clients has them.

Chapter 4 of the Java Virtual Machine Specification describes class files. The static initialiser of an enum makes its
constants; each of Errors is `new, dup, name, ordinal, code, message, constructor of its exception, ...`.
"""

import struct
import zipfile
import zlib
from dataclasses import dataclass

from kcli.errors import InputError
from kcli.schemas.definition import LARGEST

ERRORS_CLASS = "org/apache/kafka/common/protocol/Errors"
RETRIABLE = "org/apache/kafka/common/errors/RetriableException"

# Constant pool tag -> struct format of the entry (JVMS 4.4). Utf8 has a length instead; long and double take two
# indexes.
UTF8, INTEGER, LONG, DOUBLE, CLASS, STRING, HANDLE, DYNAMIC = 1, 3, 5, 6, 7, 8, 15, 18
POOL = {3: ">i", 4: ">f", 5: ">q", 6: ">d", 7: ">H", 8: ">H", 9: ">HH", 10: ">HH", 11: ">HH", 12: ">HH", 15: ">BH",
        16: ">H", 17: ">HH", 18: ">HH", 19: ">H", 20: ">H"}  # fmt: skip

NEW, DUP, LDC, LDC_W, BIPUSH, SIPUSH, ACONST_NULL, INVOKEDYNAMIC = 0xBB, 0x59, 0x12, 0x13, 0x10, 0x11, 0x01, 0xBA
ICONST_0 = 3


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A code, its name, and whether its exception is a RetriableException."""

    code: int
    name: str
    retriable: bool


def read_errors(jar: zipfile.ZipFile) -> list[ErrorCode]:
    """Return the error codes in a kafka-clients jar, sorted by code; [] for a jar without them.

    Raises InputError.
    """
    if f"{ERRORS_CLASS}.class" not in jar.NameToInfo:
        return []
    try:
        errors = ClassFile(read_class(jar, ERRORS_CLASS))
        found = [ErrorCode(code, name, is_retriable(jar, cause)) for code, name, cause in errors.constants()]
    except (struct.error, IndexError, KeyError, TypeError, ValueError):
        raise InputError(f"{ERRORS_CLASS}.class: not a class file that can be read") from None
    return sorted(found, key=lambda error: error.code)


def read_class(jar: zipfile.ZipFile, name: str) -> bytes:
    data = read_member(jar, jar.getinfo(f"{name}.class"))
    if len(data) > LARGEST:
        raise ValueError(name)
    return data


def read_member(jar: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a file in a jar, at most LARGEST + 1, whatever size the jar states. Raises BadZipFile."""
    try:
        with jar.open(info) as file:
            return file.read(LARGEST + 1)
    except (zlib.error, RuntimeError, NotImplementedError, EOFError) as error:
        raise zipfile.BadZipFile(f"{info.filename}: {error}") from None


def is_retriable(jar: zipfile.ZipFile, name: str) -> bool:
    """Return whether an exception is a RetriableException or inherits from it."""
    while name and name != RETRIABLE and f"{name}.class" in jar.NameToInfo:
        name = ClassFile(read_class(jar, name)).parent
    return name == RETRIABLE


class ClassFile:
    """A class file: its constant pool, the name of its parent, its methods' code and its bootstrap methods."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 8
        self.pool: list[tuple[int, tuple[object, ...]]] = [(0, ())]
        self.read_pool(self.take(">H")[0])
        _, self.own, parent = self.take(">HHH")
        self.parent = self.class_name(parent) if parent else ""
        (interfaces,) = self.take(">H")
        self.at += 2 * interfaces
        self.members()
        self.methods = self.members()
        self.attributes = self.read_attributes()

    def take(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def read_pool(self, count: int) -> None:
        while len(self.pool) < count:
            (tag,) = self.take(">B")
            if tag == UTF8:
                (size,) = self.take(">H")
                self.pool.append((tag, (self.data[self.at : self.at + size].decode("utf-8", "replace"),)))
                self.at += size
            else:
                self.pool.append((tag, self.take(POOL[tag])))
            if tag in (LONG, DOUBLE):
                self.pool.append((0, ()))

    def value(self, index: int, tag: int) -> tuple[object, ...]:
        found, value = self.pool[index]
        if found != tag:
            raise ValueError(f"constant {index} has tag {found}, not {tag}")
        return value

    def text(self, index: int) -> str:
        return str(self.value(index, UTF8)[0])

    def class_name(self, index: int) -> str:
        return self.text(number(self.value(index, CLASS)[0]))

    def members(self) -> dict[str, dict[str, bytes]]:
        """Return the attributes of fields or methods, by name."""
        (count,) = self.take(">H")
        found = {}
        for _ in range(count):
            _, name, _ = self.take(">HHH")
            found[self.text(name)] = self.read_attributes()
        return found

    def read_attributes(self) -> dict[str, bytes]:
        (count,) = self.take(">H")
        found = {}
        for _ in range(count):
            name, size = self.take(">HI")
            found[self.text(name)] = self.data[self.at : self.at + size]
            self.at += size
            if self.at > len(self.data):
                raise ValueError(f"{self.at} bytes expected, {len(self.data)} are here")
        return found

    def constants(self) -> list[tuple[int, str, str]]:
        """Return (code, name, class of its exception) of each constant of the enum."""
        code = self.methods["<clinit>"]["Code"]
        start = struct.pack(">BHB", NEW, self.own, DUP)
        found, at = [], code.find(start)
        while at >= 0:
            found.append(self.constant(code, at + len(start)))
            at = code.find(start, at + len(start))
        return [each for each in found if each is not None]

    def constant(self, code: bytes, at: int) -> tuple[int, str, str] | None:
        """Return the constant whose name the code at an offset pushes; None if the code makes another object."""
        name, at = self.pushed(code, at)
        _ordinal, at = self.pushed(code, at)
        error, at = self.pushed(code, at)
        _message, at = self.pushed(code, at)
        if not isinstance(name, str) or not isinstance(error, int) or code[at] != INVOKEDYNAMIC:
            return None
        return error, name, self.made_by(int.from_bytes(code[at + 1 : at + 3], "big"))

    def pushed(self, code: bytes, at: int) -> tuple[object, int]:
        """Return the constant that an instruction pushes, and the offset of the next instruction."""
        op = code[at]
        if op in (LDC, LDC_W):
            width = 1 if op == LDC else 2
            return self.loaded(int.from_bytes(code[at + 1 : at + 1 + width], "big")), at + 1 + width
        if op in (BIPUSH, SIPUSH):
            width = op - BIPUSH + 1
            return int.from_bytes(code[at + 1 : at + 1 + width], "big", signed=True), at + 1 + width
        return (None if op == ACONST_NULL else op - ICONST_0), at + 1

    def loaded(self, index: int) -> object:
        tag, value = self.pool[index]
        return self.text(number(value[0])) if tag == STRING else value[0] if tag == INTEGER else None

    def made_by(self, index: int) -> str:
        """Return the class of a constructor reference (`X::new`)."""
        method, _ = self.value(index, DYNAMIC)
        table, at = self.attributes["BootstrapMethods"], 2
        for _ in range(number(method)):
            at += 4 + 2 * int.from_bytes(table[at + 2 : at + 4], "big")
        # The second argument of LambdaMetafactory is the implementation.
        (argument,) = struct.unpack_from(">H", table, at + 6)
        _, reference = self.value(argument, HANDLE)
        return self.class_name(number(self.pool[number(reference)][1][0]))


def number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value
