"""Class files for tests: an enum as a Java compiler would write Kafka's Errors, and exceptions."""

import struct

__all__ = ["enum_class", "plain_class"]

ERRORS = "org/apache/kafka/common/protocol/Errors"


class Pool:
    """A constant pool that grows as constants are asked for."""

    def __init__(self) -> None:
        self.entries: list[bytes] = []

    def add(self, tag: int, data: bytes) -> int:
        entry = bytes([tag]) + data
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry) + 1

    def text(self, text: str) -> int:
        return self.add(1, struct.pack(">H", len(text)) + text.encode())

    def class_(self, name: str) -> int:
        return self.add(7, struct.pack(">H", self.text(name)))

    def string(self, text: str) -> int:
        return self.add(8, struct.pack(">H", self.text(text)))

    def constructor(self, name: str) -> int:
        kind = self.add(12, struct.pack(">HH", self.text("<init>"), self.text("(Ljava/lang/String;)V")))
        method = self.add(10, struct.pack(">HH", self.class_(name), kind))
        return self.add(15, struct.pack(">BH", 8, method))

    def dynamic(self, bootstrap: int) -> int:
        kind = self.add(12, struct.pack(">HH", self.text("apply"), self.text("()V")))
        return self.add(18, struct.pack(">HH", bootstrap, kind))


def attribute(pool: Pool, name: str, data: bytes) -> bytes:
    return struct.pack(">HI", pool.text(name), len(data)) + data


def class_file(pool: Pool, name: str, parent: str, methods: bytes, attributes: bytes) -> bytes:
    own, above = pool.class_(name), pool.class_(parent)
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 61, len(pool.entries) + 1) + b"".join(pool.entries)
    return head + struct.pack(">HHHHH", 0x31, own, above, 0, 0) + methods + attributes


def plain_class(name: str, parent: str) -> bytes:
    return class_file(Pool(), name, parent, struct.pack(">H", 0), struct.pack(">H", 0))


def push(number: int) -> bytes:
    if -1 <= number <= 5:
        return bytes([3 + number])
    return struct.pack(">Bb", 0x10, number) if -128 <= number < 128 else struct.pack(">Bh", 0x11, number)


def enum_class(constants: list[tuple[str, int, str]]) -> bytes:
    """Errors with (name, code, class of the exception), and an array of them that is no constant."""
    pool = Pool()
    own = pool.class_(ERRORS)
    code, bootstraps = b"", b""
    for ordinal, (name, number, exception) in enumerate(constants):
        made = struct.pack(">BHB", 0xBB, own, 0x59) + struct.pack(">BH", 0x13, pool.string(name))
        made += push(ordinal) + push(number) + struct.pack(">BB", 0x12, pool.string("!"))
        code += made + struct.pack(">BHH", 0xBA, pool.dynamic(ordinal), 0) + b"\xb3\x00\x01"
        arguments = [pool.add(16, b"\0\1"), pool.constructor(exception), pool.add(16, b"\0\1")]
        bootstraps += struct.pack(">HH3H", 1, 3, *arguments)
    code += struct.pack(">BHB", 0xBB, own, 0x59) + b"\x01\x01\x01\x01\xb1"
    body = struct.pack(">HHI", 9, 0, len(code)) + code + struct.pack(">HH", 0, 0)
    method = struct.pack(">HHHH", 8, pool.text("<clinit>"), pool.text("()V"), 1) + attribute(pool, "Code", body)
    table = attribute(pool, "BootstrapMethods", struct.pack(">H", len(constants)) + bootstraps)
    pool.class_("java/lang/Enum")
    return class_file(pool, ERRORS, "java/lang/Enum", struct.pack(">H", 1) + method, struct.pack(">H", 1) + table)
