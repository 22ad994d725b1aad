"""Down-conversion of whole batches: a kernel for uncompressed ones, the codecs of the caller for the others."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport INT64_MIN, int64_t, uint8_t

from kcli.core.codec.messages cimport KC_MEMORY, KC_OK, Out, out_free, out_put, out_reserve
from kcli.core.records.batches cimport *

from kcli.errors import InputError

crc_setup(3)

cdef extern from "Python.h":
    int PyBUF_READ

cdef extern from "downconvert.h" nogil:
    enum: KD_SLACK

    ctypedef struct Target "kd_target":
        int magic, attributes
        int64_t first_offset
        int relative, counting
        int64_t count, base, last, max_timestamp, bytes, with_headers

    int convert_records "kd_records"(
        Out* out, const Batch* b, const uint8_t* data, size_t size, Target* t, Problem* problem
    )
    int convert_one "kd_one"(Out* out, const Batch* m, int64_t offset, int64_t timestamp, Target* t, Problem* problem)
    int convert_set "kd_set"(Out* out, Batch* w, const uint8_t* data, size_t size, Target* t, Problem* problem)
    void begin "kd_begin"(Target* t)
    void put_wrapper "kd_wrapper"(
        Out* out, const Target* t, int64_t timestamp, int codec, const uint8_t* value, size_t size
    )

# The reasons why `Converter.convert` stops.
DONE, DAMAGED, UNSUPPORTED, BROKEN = 0, 1, 2, 3
cdef int STOP_DAMAGED = 1, STOP_UNSUPPORTED = 2, STOP_BROKEN = 3, RAISED = -3
cdef int ZSTD = 4


cdef class Converter:
    """Converts batches to messages of magic 0 or 1 in a buffer.

    first_offset: records below it in uncompressed batches are left out. decompress(codec id, payload, magic),
    compress(codec id, data, magic) -> bytes-like. counting: nothing is written, and `planned` is the number of bytes
    there would be, for compressed batches by their ratio.
    """

    cdef Out out, inner
    cdef Target target
    cdef object decompress, compress, raised
    cdef readonly object problem        # of a BROKEN stop: (code, record, at, says, here), or an InputError
    cdef readonly int64_t records       # converted
    cdef readonly int64_t headers_lost  # those of them that had headers
    cdef readonly int64_t planned
    cdef readonly bint estimated        # `planned` includes compressed batches

    def __cinit__(self, int magic, int64_t first_offset, decompress, compress, bint counting=False):
        self.target.magic, self.target.first_offset, self.target.counting = magic, first_offset, counting
        self.decompress, self.compress = decompress, compress

    def __dealloc__(self):
        out_free(&self.out)
        out_free(&self.inner)

    def size(self):
        return self.out.size

    def text(self):
        """Return the batches converted since the last `clear`, as a memoryview that is valid until the next call."""
        return PyMemoryView_FromMemory(self.out.data, self.out.size, PyBUF_READ) if self.out.size else memoryview(b"")

    def take(self):
        data = PyBytes_FromStringAndSize(self.out.data, self.out.size)
        self.out.size = 0
        return data

    def clear(self):
        self.out.size = 0

    def convert(self, data, Py_ssize_t start, Py_ssize_t stop):
        """Convert the whole entries of data[start:stop]. Return (DONE, stop), or why and at which entry it stopped:
        DAMAGED: it is none; UNSUPPORTED: older messages lack its codec; BROKEN: see `problem`.
        """
        cdef Py_buffer view
        cdef int code
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                code = self.entries(<const uint8_t*> view.buf, &start, stop)
        finally:
            PyBuffer_Release(&view)
        if code == KC_MEMORY:
            raise MemoryError
        if code == RAISED:
            raise self.raised
        return code, start

    cdef int entries(self, const uint8_t* p, Py_ssize_t* at, Py_ssize_t stop) noexcept nogil:
        cdef Batch b
        cdef int code
        while at[0] < stop:
            if read_batch(&b, p + at[0], p + stop) != KB_OK:
                return STOP_DAMAGED
            code = self.entry(&b)
            if code:
                return code
            at[0] += b.size
        return KC_OK

    cdef int entry(self, Batch* b) noexcept nogil:
        cdef int codec = b.attributes & KB_CODEC
        if b.magic >= 2 and b.attributes & KB_CONTROL:
            return KC_OK
        if codec == ZSTD:
            return STOP_UNSUPPORTED
        if b.magic <= self.target.magic:
            self.planned += b.size
            return KC_OK if self.target.counting else out_put(&self.out, b.start, b.size)
        if b.magic >= 2 and b.count == 0:
            return KC_OK
        self.target.attributes = b.attributes & KB_APPEND_TIME if self.target.magic else 0
        if codec:
            return self.compressed(b, codec)
        return self.plain(b)

    cdef int plain(self, Batch* b) noexcept nogil:
        cdef Problem problem
        cdef int code
        problem.code = KR_OK
        self.target.relative = 0
        if b.magic >= 2:
            code = convert_records(&self.out, b, b.payload, b.payload_size, &self.target, &problem)
        elif b.broken:
            problem.code, problem.record, problem.at = b.broken, 0, 0
            problem.says, problem.here = b.value_size, b.size
            code = KC_OK
        else:
            begin(&self.target)
            code = convert_one(&self.out, b, b.base_offset, b.max_timestamp, &self.target, &problem)
        if code == KC_OK and problem.code:
            return self.fail(&problem)
        self.count(self.target.bytes)
        return code

    cdef void count(self, int64_t planned) noexcept nogil:
        self.records += self.target.count
        self.headers_lost += self.target.with_headers
        self.planned += planned

    cdef int compressed(self, Batch* b, int codec) noexcept with gil:
        cdef Py_buffer view
        cdef Problem problem
        cdef int code
        cdef int64_t first_offset = self.target.first_offset
        problem.code, problem.record, problem.at, problem.says, problem.here = KR_OK, 0, 0, codec, 0
        if b.magic < 2 and (b.payload is NULL or b.broken):
            problem.code = b.broken or KR_LEGACY_NULL
            return self.fail(&problem)
        try:
            payload = self.decompress(
                codec, PyMemoryView_FromMemory(<char*> b.payload, b.payload_size, PyBUF_READ), b.magic
            )
            PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        except InputError as error:
            self.problem = error
            return STOP_BROKEN
        except BaseException as error:
            self.raised = error
            return RAISED
        self.inner.size = 0
        self.target.relative = self.target.magic == 1
        self.target.first_offset = INT64_MIN
        with nogil:
            if b.magic >= 2:
                code = convert_records(&self.inner, b, <const uint8_t*> view.buf, view.len, &self.target, &problem)
            else:
                code = convert_set(&self.inner, b, <const uint8_t*> view.buf, view.len, &self.target, &problem)
        PyBuffer_Release(&view)
        self.target.first_offset = first_offset
        if code:
            return code
        if problem.code:
            return self.fail(&problem)
        if self.target.counting:
            self.estimated = True
            if self.target.count:
                self.count(34 + self.target.bytes * <int64_t> b.payload_size // max(view.len, 1))
            return KC_OK
        return self.wrap(b, codec)

    cdef int wrap(self, Batch* b, int codec) noexcept:
        cdef Py_buffer view
        cdef int64_t timestamp = b.max_timestamp if self.target.attributes else self.target.max_timestamp
        if not self.target.count:
            return KC_OK
        try:
            folded = self.compress(
                codec, PyMemoryView_FromMemory(self.inner.data, self.inner.size, PyBUF_READ), self.target.magic
            )
            PyObject_GetBuffer(folded, &view, PyBUF_SIMPLE)
        except BaseException as error:
            self.raised = error
            return RAISED
        if out_reserve(&self.out, view.len + 34 + KD_SLACK):
            PyBuffer_Release(&view)
            return KC_MEMORY
        put_wrapper(&self.out, &self.target, timestamp, codec, <const uint8_t*> view.buf, view.len)
        PyBuffer_Release(&view)
        self.count(0)
        return KC_OK

    cdef int fail(self, Problem* problem) noexcept with gil:
        self.problem = figures(problem)
        return STOP_BROKEN


def chunk_end(data, Py_ssize_t start, Py_ssize_t size, Py_ssize_t chunk):
    """Find the end of whole entries in data[start:size] with at most `chunk` bytes together, but at least one entry;
    return (reason to stop, end).

    The reason is DONE if the chunk is full, else one of `kcli.core.records.batches.whole`.
    """
    cdef Py_buffer view
    cdef Batch b
    cdef int code
    cdef Py_ssize_t at = start
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while True:
            code = read_batch(&b, <const uint8_t*> view.buf + at, <const uint8_t*> view.buf + size)
            if code != KB_OK:
                return code, at
            if at > start and at + b.size - start > chunk:
                return KB_OK, at
            at += b.size
    finally:
        PyBuffer_Release(&view)


def find_offset(data, Py_ssize_t start, Py_ssize_t size, int64_t offset):
    """Find the first entry of data[start:size] whose last offset is `offset` or more; return (whether there is one, its
    position or the end of the walk).
    """
    cdef Py_buffer view
    cdef Batch b
    cdef Py_ssize_t at = start
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while read_batch(&b, <const uint8_t*> view.buf + at, <const uint8_t*> view.buf + size) == KB_OK:
            if b.last_offset >= offset:
                return True, at
            at += b.size
        return False, at
    finally:
        PyBuffer_Release(&view)
