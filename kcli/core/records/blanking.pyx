"""Replaces the contents of records of magic 2 by one letter, as kcli.redact.batches does, for data records."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

cdef enum:
    LETTER = 0x78             # "x"
    BLANK = 0xFF
    INT = 5                   # most bytes of a varint
    LONG = 10


def fill_records(bytearray data not None, int64_t count):
    """Replace the contents of `count` records in place. Bytes that are no record, and all after them, become blank."""
    cdef uint8_t* at = <uint8_t*>data
    cdef uint8_t* end = at + len(data)
    cdef uint8_t* start
    cdef int64_t size, i
    for i in range(count):
        start = at
        if not zigzag(&start, end, INT, &size) or size <= 0 or size > end - start:
            break
        if not fill_record(start + 1, start + size):
            break
        at = start + size
    memset(at, BLANK, end - at)


cdef bint fill_record(uint8_t* at, uint8_t* end) noexcept:
    """Replace the contents of one record; `at`: after its attributes. Return False if it is none."""
    cdef int64_t number, headers, i
    if not zigzag(&at, end, LONG, &number) or not zigzag(&at, end, INT, &number):
        return False
    if not fill_span(&at, end) or not fill_span(&at, end) or not zigzag(&at, end, INT, &headers):
        return False
    for i in range(2 * headers):
        if not fill_span(&at, end):
            return False
    return at == end


cdef inline bint fill_span(uint8_t** at, uint8_t* end) noexcept:
    """Replace the bytes after a length. Return False if they go beyond `end`."""
    cdef int64_t size
    if not zigzag(at, end, INT, &size):
        return False
    if size > end - at[0]:
        return False
    if size > 0:
        memset(at[0], LETTER, size)
        at[0] += size
    return True


cdef inline bint zigzag(uint8_t** at, uint8_t* end, int most, int64_t* value) noexcept:
    """Read a signed varint. Return False if it is cut, or longer than `most` bytes."""
    cdef uint64_t raw = 0
    cdef int i
    cdef uint8_t byte
    for i in range(most):
        if at[0] >= end:
            return False
        byte = at[0][0]
        at[0] += 1
        raw |= <uint64_t>(byte & 0x7F) << 7 * i
        if byte < 0x80:
            if most == INT:
                raw &= 0xFFFFFFFF
            value[0] = <int64_t>(raw >> 1) ^ -<int64_t>(raw & 1)
            return True
    return False
