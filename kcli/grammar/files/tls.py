"""Grammars of TLS records, handshake messages and their extensions (RFC 5246 for TLS 1.2, RFC 8446 for TLS 1.3).

Parts that kcli does not need stay bytes.
"""

import re
from typing import Any

from construct import (
    Bytes,
    Const,
    Default,
    GreedyBytes,
    GreedyRange,
    Int8ub,
    Int16ub,
    Int24ub,
    Int32ub,
    Optional,
    Prefixed,
    Struct,
    Terminated,
)

Grammar = Any  # a Construct, whose type parameters do not matter here

# Types of records.
CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA = 20, 21, 22, 23
LARGEST_RECORD = 16384 + 2048  # bytes of payload in TLS 1.2 (RFC 5246, 6.2.3); TLS 1.3 has less

RECORD_HEADER: Grammar = Struct("type" / Int8ub, "version" / Int16ub, "length" / Int16ub)
HEADER: int = RECORD_HEADER.sizeof()
HEADER_BEGINS = re.compile(rb"[\x14-\x17]\x03[\x00-\x04]")  # a type and a version
DATA_BEGINS = re.compile(rb"\x17\x03\x03")  # the start of all records that TLS 1.3 encrypts, and of data in TLS 1.2
ALERT_MESSAGE: Grammar = Struct("level" / Int8ub, "description" / Int8ub)

HANDSHAKE_HEADER: Grammar = Struct("type" / Int8ub, "length" / Int24ub)
MESSAGE_HEADER: int = HANDSHAKE_HEADER.sizeof()

CLIENT_HELLO: Grammar = Struct(
    "version" / Int16ub,
    "random" / Bytes(32),
    "session_id" / Prefixed(Int8ub, GreedyBytes),
    "suites" / Prefixed(Int16ub, GreedyBytes),
    "compressions" / Prefixed(Int8ub, GreedyBytes),
    "extensions" / Optional(Prefixed(Int16ub, GreedyBytes)),
)
SERVER_HELLO: Grammar = Struct(
    "version" / Int16ub,
    "random" / Bytes(32),
    "session_id" / Prefixed(Int8ub, GreedyBytes),
    "suite" / Int16ub,
    "compression" / Int8ub,
    "extensions" / Optional(Prefixed(Int16ub, GreedyBytes)),
)
SESSION_TICKET_12: Grammar = Struct("lifetime" / Int32ub, "ticket" / Prefixed(Int16ub, GreedyBytes))
CERTIFICATES_12: Grammar = Prefixed(Int24ub, GreedyRange(Prefixed(Int24ub, GreedyBytes)))
CERTIFICATES_13: Grammar = Struct(
    "context" / Prefixed(Int8ub, GreedyBytes),
    "certificates"
    / Prefixed(
        Int24ub,
        GreedyRange(
            Struct("data" / Prefixed(Int24ub, GreedyBytes), "extensions" / Prefixed(Int16ub, GreedyBytes)),
        ),
    ),
)
SERVER_NAMES: Grammar = Prefixed(Int16ub, GreedyRange(Struct("type" / Int8ub, "name" / Prefixed(Int16ub, GreedyBytes))))

# The input of HKDF-Expand-Label (RFC 8446, 7.1).
LABEL: Grammar = Struct(
    "length" / Int16ub,
    "label" / Prefixed(Int8ub, Struct("tls13" / Const(b"tls13 "), "name" / GreedyBytes)),
    "context" / Default(Prefixed(Int8ub, GreedyBytes), b""),
    Terminated,
)


def record_size(data: bytes | bytearray | memoryview, at: int = 0) -> int:
    """Return the size in bytes of the record at an offset, with its header, which must be complete."""
    return HEADER + int.from_bytes(data[at + 3 : at + HEADER], "big")


def message_size(data: bytes | bytearray) -> int:
    """Return the size in bytes of a handshake message, with its header, which must be complete."""
    return MESSAGE_HEADER + int.from_bytes(data[1:MESSAGE_HEADER], "big")


def extensions(block: bytes) -> dict[int, bytes]:
    """Return {type: data} of a hello's extensions. This is a loop, as GreedyRange would take longer than the whole
    handshake.
    """
    found, at = {}, 0
    while at + 4 <= len(block):
        kind, size = int.from_bytes(block[at : at + 2], "big"), int.from_bytes(block[at + 2 : at + 4], "big")
        found[kind] = block[at + 4 : at + 4 + size]
        at += 4 + size
    return found


def is_record_header(data: bytes | bytearray, at: int = 0) -> bool:
    """Return whether bytes are a record's header: type 20 to 23, version 3.x, and a valid length."""
    if len(data) < at + HEADER or HEADER_BEGINS.match(data, at) is None:
        return False
    return record_size(data, at) <= HEADER + LARGEST_RECORD


def is_hello(data: bytes | bytearray) -> bool:
    """Return whether bytes begin with a ClientHello or ServerHello."""
    return is_record_header(data) and data[0] == HANDSHAKE and data[HEADER : HEADER + 1] in (b"\1", b"\2")


def next_record_header(data: bytes | bytearray, at: int, data_only: bool) -> int:
    """Return the next offset, at or after `at`, at which a record may begin; -1 if there is none. data_only: only
    application data.
    """
    found = (DATA_BEGINS if data_only else HEADER_BEGINS).search(data, at)
    return -1 if found is None else found.start()
