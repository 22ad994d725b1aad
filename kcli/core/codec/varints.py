"""Varints in Python: 7 bits in each byte, the lowest first (LEB128), as in Kafka, KRaft records and snappy.

Compiled readers: bytes.h and batches.h. The grammar's words, which keep odd forms: grammar/words/varints.py.
"""

Buffer = bytes | bytearray | memoryview


def read_unsigned(data: Buffer, at: int = 0, end: int | None = None, most: int = 5) -> tuple[int, int]:
    """Return (value, end) of the varint at `at`, in at most `most` bytes. Raises ValueError if it is cut, or longer."""
    value, stop = 0, len(data) if end is None else end
    for index in range(min(most, stop - at)):
        byte = data[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError("a varint that does not end")


def read_zigzag(data: Buffer, at: int = 0, end: int | None = None, most: int = 5) -> tuple[int, int]:
    """Return (value, end) of a signed varint: an int32 in at most 5 bytes, an int64 in at most 10."""
    raw, after = read_unsigned(data, at, end, most)
    raw &= 0xFFFFFFFF if most == 5 else 0xFFFFFFFFFFFFFFFF
    return (raw >> 1) ^ -(raw & 1), after


def write_unsigned(value: int) -> bytes:
    """Encode an unsigned varint in its shortest form."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
