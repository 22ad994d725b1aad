"""Records as columns: one walk over a buffer of batches, without a Python object for a record. The results are Arrow
buffers.

Places are byte offsets in the scanned buffer, continued in `extra`, which holds decompressed bytes.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from kcli.core.codec.messages cimport KC_MEMORY, KC_OK, Out, out_free, out_put
from kcli.core.records.batches cimport *

from kcli.core.records.problems import REASONS
from kcli.errors import InputError

crc_setup(3)

cdef extern from "Python.h":
    int PyBUF_READ

# int64: offset, timestamp, the places of key, value and headers (key and value -1: null); int32: their sizes, the
# number of headers, and the number of the batch in the scan.
WIDE = ("offset", "timestamp", "key_at", "value_at", "headers_at")
NARROW = ("key_size", "value_size", "header_count", "batch")
cdef enum:
    WIDE_COUNT = 5
    NARROW_COUNT = 4
    RAISED = -3


cdef class Column:
    """A column's memory, as a buffer of int64 or int32 in the machine's order."""

    cdef object owner
    cdef void* data
    cdef Py_ssize_t size

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, 1, flags)

    def __len__(self):
        return self.size


cdef class Columns:
    """The columns of the records in data[start:stop].

    decompress(codec id, payload, magic, number of the batch). `problems`: (position of the batch, record, reason) for
    records that can't be read; earlier records of their batch are in the columns. Control batches are left out.
    `stopped`: where the entries end, or after the batch with which `most` bytes were decompressed.
    """

    cdef int64_t* wide[WIDE_COUNT]
    cdef int32_t* narrow[NARROW_COUNT]
    cdef readonly Py_ssize_t count, stopped, batches
    cdef Py_ssize_t capacity
    cdef size_t most
    cdef Out extra_bytes
    cdef readonly list problems
    cdef object decompress, raised

    def __cinit__(self, data, Py_ssize_t start, Py_ssize_t stop, decompress, size_t most=<size_t>-1):
        cdef Py_buffer view
        cdef int code
        self.decompress, self.most = decompress, most
        self.problems = []
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                code = self.scan(<const uint8_t*> view.buf, start, stop, view.len)
        finally:
            PyBuffer_Release(&view)
        if code == KC_MEMORY:
            raise MemoryError
        if code == RAISED:
            raise self.raised

    def __dealloc__(self):
        cdef int i
        for i in range(WIDE_COUNT):
            free(self.wide[i])
        for i in range(NARROW_COUNT):
            free(self.narrow[i])
        out_free(&self.extra_bytes)

    def column(self, name):
        """Return a column by name (WIDE: int64, NARROW: int32), as a view of its bytes."""
        cdef Column made = Column()
        made.owner = self
        if name in WIDE:
            made.data, made.size = self.wide[WIDE.index(name)], self.count * 8
        else:
            made.data, made.size = self.narrow[NARROW.index(name)], self.count * 4
        return memoryview(made)

    @property
    def extra(self):
        """Decompressed payloads; their places continue from the length of the scanned buffer."""
        return PyBytes_FromStringAndSize(self.extra_bytes.data, self.extra_bytes.size)

    cdef int grow(self, Py_ssize_t rows) noexcept nogil:
        cdef int i
        cdef void* p
        cdef Py_ssize_t capacity = max(rows, self.capacity + self.capacity // 2, 1024)
        for i in range(WIDE_COUNT):
            p = realloc(self.wide[i], capacity * 8)
            if p is NULL:
                return KC_MEMORY
            self.wide[i] = <int64_t*> p
        for i in range(NARROW_COUNT):
            p = realloc(self.narrow[i], capacity * 4)
            if p is NULL:
                return KC_MEMORY
            self.narrow[i] = <int32_t*> p
        self.capacity = capacity
        return KC_OK

    cdef int scan(self, const uint8_t* p, Py_ssize_t at, Py_ssize_t stop, Py_ssize_t size) noexcept nogil:
        cdef Batch b
        cdef int code = KC_OK
        while at < stop and self.extra_bytes.size < self.most and read_batch(&b, p + at, p + size) == KB_OK:
            if b.attributes & KB_CODEC and (b.magic < 2 or b.count):
                code = self.packed(&b, at, size)
            elif b.magic < 2:
                code = self.message(&b, b.base_offset, b.max_timestamp, p, at)
            elif not b.attributes & KB_CONTROL:
                code = self.records(&b, b.payload, b.payload_size, p, at, 0)
            if code:
                return code
            at += b.size
            self.batches += 1
        self.stopped = at
        return KC_OK

    cdef int records(self, Batch* b, const uint8_t* data, size_t size, const uint8_t* base, int64_t position,
                     int64_t shift) noexcept nogil:
        cdef Walk walk
        cdef Record r
        cdef Problem problem
        cdef Py_ssize_t n
        open_records(&walk, &r, data, size, b.count)
        while next_record(&walk, &r, &problem):
            if self.count == self.capacity and self.grow(0):
                return KC_MEMORY
            n = self.count
            self.wide[0][n] = add64(b.base_offset, r.offset_delta)
            self.wide[1][n] = record_timestamp(b, r.timestamp_delta)
            self.wide[2][n] = -1 if r.key is NULL else r.key - base + shift
            self.wide[3][n] = -1 if r.value is NULL else r.value - base + shift
            self.wide[4][n] = r.headers - base + shift
            self.narrow[0][n] = 0 if r.key is NULL else <int32_t> r.key_size
            self.narrow[1][n] = 0 if r.value is NULL else <int32_t> r.value_size
            self.narrow[2][n] = r.header_count
            self.narrow[3][n] = <int32_t> self.batches
            self.count += 1
        if problem.code:
            self.note(position, problem.record, problem.code, problem.says, problem.here)
        return KC_OK

    cdef int message(
        self, Batch* m, int64_t offset, int64_t timestamp, const uint8_t* base, int64_t position
    ) noexcept nogil:
        cdef Py_ssize_t n = self.count
        if m.broken:
            self.note(position, 0, m.broken, m.value_size, m.size)
            return KC_OK
        if n == self.capacity and self.grow(0):
            return KC_MEMORY
        self.wide[0][n], self.wide[1][n] = offset, timestamp
        self.wide[2][n] = -1 if m.key is NULL else m.key - base
        self.wide[3][n] = -1 if m.payload is NULL else m.payload - base
        self.wide[4][n] = 0
        self.narrow[0][n] = 0 if m.key is NULL else m.key_size
        self.narrow[1][n] = <int32_t> m.payload_size
        self.narrow[2][n], self.narrow[3][n] = 0, <int32_t> self.batches
        self.count += 1
        return KC_OK

    cdef int packed(self, Batch* b, int64_t position, Py_ssize_t size) noexcept with gil:
        """Decompress a batch or wrapper into `extra`, and scan its records."""
        cdef Py_buffer view
        cdef int64_t shift = size + <int64_t> self.extra_bytes.size
        cdef int code
        if b.magic >= 2 and b.attributes & KB_CONTROL:
            return KC_OK
        if b.magic < 2 and (b.payload is NULL or b.broken or (b.attributes & KB_CODEC) > 3):
            self.note(position, 0, KR_LEGACY_NULL if b.payload is NULL else KR_LEGACY_CODEC, b.attributes & KB_CODEC, 0)
            return KC_OK
        try:
            payload = self.decompress(
                b.attributes & KB_CODEC, PyMemoryView_FromMemory(<char*> b.payload, b.payload_size, PyBUF_READ),
                b.magic,
                self.batches)
            PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        except InputError as error:
            self.problems.append((position, 0, str(error)))
            return KC_OK
        except BaseException as error:
            self.raised = error
            return RAISED
        with nogil:
            code = out_put(&self.extra_bytes, view.buf, view.len)
            if code == KC_OK and b.magic >= 2:
                code = self.records(b, <const uint8_t*> view.buf, view.len, <const uint8_t*> view.buf, position, shift)
            elif code == KC_OK:
                code = self.wrapped(b, <const uint8_t*> view.buf, view.len, position, shift)
        PyBuffer_Release(&view)
        return code

    cdef int wrapped(self, Batch* w, const uint8_t* data, size_t size, int64_t position, int64_t shift) noexcept nogil:
        cdef MessageSet messages
        cdef Problem problem
        cdef Batch m
        cdef int64_t timestamp
        if open_set(w, data, size, &messages, &problem):
            self.note(position, problem.record, problem.code, problem.says, problem.here)
            return KC_OK
        while next_inner(&messages, &m) == KB_OK:
            timestamp = w.max_timestamp if w.attributes & KB_APPEND_TIME and w.magic == 1 else m.max_timestamp
            if self.message(&m, add64(m.base_offset, messages.base), timestamp, data - shift, position):
                return KC_MEMORY
        return KC_OK

    cdef void note(self, int64_t position, int64_t record, int code, int64_t says, int64_t here) noexcept with gil:
        self.problems.append((position, record, REASONS[code][1].format(says=says, here=here)))


def checksums(data, Py_ssize_t start=0):
    """Compute only checksums; return (entries, wrong ones, end of the entries)."""
    cdef Py_buffer view
    cdef Batch b
    cdef Py_ssize_t entries = 0, wrong = 0
    cdef const uint8_t* p
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    p = <const uint8_t*> view.buf
    with nogil:
        while read_batch(&b, p + start, p + view.len) == KB_OK:
            entries += 1
            wrong += batch_checksum(&b) != b.crc
            start += b.size
    PyBuffer_Release(&view)
    return entries, wrong, start


include "column_bytes.pxi"
