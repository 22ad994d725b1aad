"""Records as Python values, both ways: tuples (offset, timestamp, key, value, headers) from and to the bytes of a
batch.

key, value: bytes or None; headers: a tuple of (key as str, value as bytes or None).
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy

from kcli.core.codec.layouts cimport *
from kcli.core.records.batches cimport *

from kcli.core.codec.messages cimport Out, out_free, out_reserve

crc_setup(3)


cdef inline object bytes_or_none(const uint8_t* data, int64_t size):
    return None if data is NULL else PyBytes_FromStringAndSize(<const char*> data, size)


cdef tuple headers_of(Record* r):
    cdef const uint8_t* p = r.headers
    cdef int64_t n = 0
    cdef int odd = 0, code = 0
    rows = []
    for _ in range(r.header_count):
        p = read_varlong(p, r.end, 5, &n, &odd, &code)
        key = PyBytes_FromStringAndSize(<const char*> p, n).decode("utf-8", "surrogateescape")
        p = read_varlong(p + n, r.end, 5, &n, &odd, &code)
        if n < 0:
            rows.append((key, None))
        else:
            rows.append((key, PyBytes_FromStringAndSize(<const char*> p, n)))
            p += n
    return tuple(rows)


def read_records(data, int32_t count, int64_t base_offset, int64_t base_timestamp, bint append_time):
    """Read the records of a batch of magic 2 from its decompressed records bytes.

    append_time: `base_timestamp` is the timestamp of all. Returns (tuples, problem): problem is None, or (code, record,
    position, says, here) with a code of `kcli.core.records.batches.REASONS`; the tuples are then the records before it.
    """
    cdef Py_buffer view
    cdef Walk walk
    cdef Record r
    cdef Problem problem
    rows = []
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    open_records(&walk, &r, <const uint8_t*> view.buf, view.len, count)
    try:
        while next_record(&walk, &r, &problem):
            rows.append((
                add64(base_offset, r.offset_delta),
                base_timestamp if append_time else add64(base_timestamp, r.timestamp_delta),
                bytes_or_none(r.key, r.key_size),
                bytes_or_none(r.value, r.value_size),
                headers_of(&r) if r.header_count else (),
            ))
        return rows, figures(&problem)
    finally:
        PyBuffer_Release(&view)


def walk_records(data, int32_t count):
    """Walk the records of a batch of magic 2 without making values; return (problem, offsets, times).

    problem: as in read_records. offsets: (whether each offset delta is one more than the one before, from 0 on; the
    largest). times: the least and the largest timestamp delta. Without records, they are (True, -1) and (0, 0).
    """
    cdef Py_buffer view
    cdef Walk walk
    cdef Record r
    cdef Problem problem
    cdef int32_t largest = -1
    cdef int64_t earliest = 0, latest = 0
    cdef bint steady = True
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    open_records(&walk, &r, <const uint8_t*> view.buf, view.len, count)
    with nogil:
        while next_record(&walk, &r, &problem):
            steady = steady and r.offset_delta == walk.read - 1
            largest = max(largest, r.offset_delta)
            earliest = r.timestamp_delta if walk.read == 1 else min(earliest, r.timestamp_delta)
            latest = r.timestamp_delta if walk.read == 1 else max(latest, r.timestamp_delta)
    PyBuffer_Release(&view)
    return figures(&problem), (bool(steady), largest), (earliest, latest)


def read_messages(data, int magic, int attributes, int64_t offset, int64_t timestamp):
    """Read the messages in the decompressed value of a wrapper of magic 0 or 1, as record tuples with absolute offsets.

    offset, timestamp, attributes: the wrapper's. Returns (tuples, problem) as read_records.
    """
    cdef Py_buffer view
    cdef Batch wrapper, m
    cdef MessageSet messages
    cdef Problem problem
    cdef int code
    rows = []
    wrapper.magic, wrapper.attributes, wrapper.last_offset = magic, attributes, offset
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if open_set(&wrapper, <const uint8_t*> view.buf, view.len, &messages, &problem):
            return rows, figures(&problem)
        while next_inner(&messages, &m) == KB_OK:
            rows.append((
                add64(m.base_offset, messages.base),
                timestamp if attributes & KB_APPEND_TIME and magic == 1 else m.max_timestamp,
                bytes_or_none(m.key, m.key_size),
                bytes_or_none(m.payload, m.value_size),
                (),
            ))
        return rows, None
    finally:
        PyBuffer_Release(&view)


cdef inline uint8_t* put_varlong(uint8_t* p, int64_t value) noexcept nogil:
    cdef uint64_t v = (<uint64_t> value << 1) ^ <uint64_t> (value >> 63)
    while v >= 0x80:
        p[0] = <uint8_t> (v | 0x80)
        p += 1
        v >>= 7
    p[0] = <uint8_t> v
    return p + 1


cdef inline uint8_t* put_bytes(uint8_t* p, bytes data):
    cdef Py_ssize_t n
    if data is None:
        return put_varlong(p, -1)
    n = PyBytes_GET_SIZE(data)
    p = put_varlong(p, n)
    memcpy(p, PyBytes_AS_STRING(data), n)
    return p + n


cdef int64_t headers_room(headers) except -1:
    cdef int64_t size = 0
    for key, value in headers:
        size += 10 + PyBytes_GET_SIZE(<bytes> key) + (0 if value is None else PyBytes_GET_SIZE(<bytes> value))
    return size


def write_records(records, int64_t base_offset, int64_t base_timestamp):
    """Write the records bytes of a batch of magic 2 from tuples (offset, timestamp, key, value, headers), with header
    keys as bytes. Raises OverflowError for an offset too far from the base offset, and for a record above 2 GiB.
    """
    cdef Out out
    cdef uint8_t* p
    cdef uint8_t* start
    cdef bytes key, value
    cdef int64_t room, size, offset, timestamp, n
    out.data, out.size, out.capacity = NULL, 0, 0
    try:
        for offset, timestamp, key, value, headers in records:
            if sub64(offset, base_offset) != <int32_t> sub64(offset, base_offset):
                raise OverflowError(f"offset {offset} is too far from the base offset {base_offset} for one batch")
            room = 64 + headers_room(headers)
            n = len(headers)
            room += 0 if key is None else PyBytes_GET_SIZE(key)
            room += 0 if value is None else PyBytes_GET_SIZE(value)
            if room > 0x7fffffff:
                raise OverflowError("a record of more than 2 GiB")
            if out_reserve(&out, room):
                raise MemoryError
            # The body is written after room for the longest length, and then moved down.
            start = <uint8_t*> out.data + out.size + 5
            p = start
            p[0] = 0
            p = put_varlong(p + 1, sub64(timestamp, base_timestamp))
            p = put_varlong(p, <int32_t> sub64(offset, base_offset))
            p = put_bytes(p, key)
            p = put_bytes(p, value)
            p = put_varlong(p, n)
            for name, content in headers:
                p = put_bytes(p, name)
                p = put_bytes(p, content)
            size = p - start
            p = put_varlong(<uint8_t*> out.data + out.size, size)
            move_down(p, start, size)
            out.size += (p - (<uint8_t*> out.data + out.size)) + size
        return PyBytes_FromStringAndSize(out.data, out.size)
    finally:
        out_free(&out)


cdef extern from "bytes.h" nogil:
    void put16 "kc_set16"(void* p, uint16_t v)


cdef extern from "string.h" nogil:
    void move_down "memmove"(void* to, const void* source, size_t n)


def write_header(int64_t base_offset, int32_t leader_epoch, int magic, int attributes, int32_t last_offset_delta,
                 int64_t base_timestamp, int64_t max_timestamp, int64_t producer_id, int16_t producer_epoch,
                 int32_t base_sequence, int32_t count, payload, crc=None):
    """Write a whole batch of magic 2: its header and `payload`. crc None: compute it."""
    cdef Py_buffer view
    cdef uint8_t* p
    PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
    try:
        batch = PyBytes_FromStringAndSize(NULL, KB_HEADER_2 + view.len)
        p = <uint8_t*> PyBytes_AS_STRING(batch)
        put64(p, base_offset)
        put32(p + KB_AT_BATCH_LENGTH, <int32_t> (KB_HEADER_2 - KB_OVERHEAD + view.len))
        put32(p + KB_AT_PARTITION_LEADER_EPOCH, leader_epoch)
        p[KB_AT_MAGIC] = <uint8_t> magic
        put16(p + KB_AT_ATTRIBUTES, <uint16_t> attributes)
        put32(p + KB_AT_LAST_OFFSET_DELTA, last_offset_delta)
        put64(p + KB_AT_BASE_TIMESTAMP, base_timestamp)
        put64(p + KB_AT_MAX_TIMESTAMP, max_timestamp)
        put64(p + KB_AT_PRODUCER_ID, producer_id)
        put16(p + KB_AT_PRODUCER_EPOCH, <uint16_t> producer_epoch)
        put32(p + KB_AT_BASE_SEQUENCE, base_sequence)
        put32(p + KB_AT_RECORD_COUNT, count)
        memcpy(p + KB_HEADER_2, view.buf, view.len)
        if crc is None:
            crc = crc32c(0, p + KB_AT_ATTRIBUTES, KB_HEADER_2 - KB_AT_ATTRIBUTES + view.len)
        put32(p + KB_AT_CRC, crc)
        return batch
    finally:
        PyBuffer_Release(&view)


def write_message(int64_t offset, int magic, int attributes, int64_t timestamp, bytes key, bytes value, crc=None):
    """Write a message of magic 0 or 1. crc None: compute it. Raises OverflowError above 2 GiB."""
    cdef Py_ssize_t keys = 0 if key is None else len(key), values = 0 if value is None else len(value)
    cdef Py_ssize_t size = (KB_MESSAGE_1 if magic == 1 else KB_MESSAGE_0) + keys + values
    cdef uint8_t* p
    cdef uint8_t* start
    if size > 0x7fffffff:
        raise OverflowError("a message of more than 2 GiB")
    message = PyBytes_FromStringAndSize(NULL, size)
    start = p = <uint8_t*> PyBytes_AS_STRING(message)
    put64(p, offset)
    put32(p + KB_AT_BATCH_LENGTH, <int32_t> (size - KB_OVERHEAD))
    p[KB_AT_MAGIC], p[KB_AT_0_ATTRIBUTES] = <uint8_t> magic, <uint8_t> attributes
    if magic == 1:
        put64(p + KB_AT_1_TIMESTAMP, timestamp)
    p += KB_AT_1_KEY if magic == 1 else KB_AT_0_KEY
    put32(p, -1 if key is None else <int32_t> keys)
    p += 4
    if keys:
        memcpy(p, PyBytes_AS_STRING(key), keys)
    p += keys
    put32(p, -1 if value is None else <int32_t> values)
    if values:
        memcpy(p + 4, PyBytes_AS_STRING(value), values)
    put32(start + KB_AT_0_CRC, crc32(0, start + KB_AT_MAGIC, size - KB_AT_MAGIC) if crc is None else crc)
    return message
