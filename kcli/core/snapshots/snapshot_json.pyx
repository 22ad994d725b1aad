"""JSON lines of the metadata records in a batch's body, directly from the bytes.

Kafka's form of a record is a head, which its type and version determine, and its message's JSON, which the message's
node writes. A record that a node refuses goes to a function in Python.
"""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from kcli.core.codec.messages cimport JsonContext, Node, Out, RECORDS_SIZE, out_free, out_put, out_reserve, put_int

cdef extern from "snapshot.h" nogil:
    ctypedef struct kc_record:
        int32_t offset_delta
        const uint8_t* key
        const uint8_t* value
        int64_t value_size
        int32_t headers

    const uint8_t* kc_next_record(const uint8_t* at, const uint8_t* end, kc_record* record)
    const uint8_t* kc_frame(const uint8_t* at, const uint8_t* end, int64_t* frame, int64_t* type, int64_t* version)
    void kc_release(const void* start, size_t size)

__all__ = ["JsonLines"]

DEF TYPES = 64
DEF VERSIONS = 16
DEF PIECE = 8388608
DEF HEAD = 10      # {"offset":


cdef class JsonLines:
    """Lines for bodies, one after the other, in one buffer that is reused.

    node: called once for each (apiKey, version); returns (the text between the offset and the message's JSON, as bytes,
    and the message's node), or None. chunk: bytes at which `lines` yields its text. secrets: show them.

    lines(body, base_offset, count, batch) is an iterator of memoryviews of whole lines, each valid until the next one;
    rows (as Walk's) for records that the caller has to handle are in between. batch: text after each offset, such as
    `,"leaderEpoch":3`.
    """

    cdef object node
    cdef bytes batch
    cdef list kept
    cdef PyObject* node_at[TYPES][VERSIONS]
    cdef PyObject* head_at[TYPES][VERSIONS]
    cdef bint[TYPES][VERSIONS] asked
    cdef Out out
    cdef size_t chunk
    cdef Py_buffer view
    cdef bint held, over, flushed, mapped
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef const uint8_t* mark
    cdef int64_t base_offset, left
    cdef JsonContext context

    def __cinit__(self, node, size_t chunk=1 << 20, bint secrets=False):
        self.node = node
        self.kept = []
        self.chunk = chunk
        self.held = False
        self.context.records = RECORDS_SIZE
        self.context.hook = NULL
        self.context.names = NULL
        self.context.secrets = secrets

    cdef int ask(self, int64_t key, int64_t version) except -1:
        cdef tuple found = self.node(key, version)
        self.asked[key][version] = True
        if found is not None:
            self.kept.append(found)
            self.head_at[key][version] = <PyObject*>found[0]
            self.node_at[key][version] = <PyObject*>(<Node?>found[1])
        return 0

    def __dealloc__(self):
        out_free(&self.out)
        if self.held:
            PyBuffer_Release(&self.view)

    def lines(self, body, int64_t base_offset, int64_t count, bint mapped=False, bytes batch not None=b""):
        """Begin a body; return self, to be iterated to the end."""
        if self.held:
            PyBuffer_Release(&self.view)
            self.held = False
        PyObject_GetBuffer(body, &self.view, PyBUF_SIMPLE)
        self.held = True
        self.at = self.mark = <const uint8_t*>self.view.buf
        self.end = self.at + self.view.len
        self.base_offset = base_offset
        self.left = count
        self.over = False
        self.flushed = False
        self.mapped = mapped
        self.batch = batch
        return self

    def __iter__(self):
        return self

    cdef object flush(self):
        self.flushed = True
        return PyMemoryView_FromMemory(self.out.data, self.out.size, PyBUF_READ)

    def __next__(self):
        cdef kc_record record
        cdef const uint8_t* after
        cdef const uint8_t* start
        cdef int64_t offset, frame, key, version
        if self.flushed:
            self.out.size = 0
            self.flushed = False
        while self.left > 0 and not self.over:
            if self.out.size >= self.chunk:
                return self.flush()
            after = kc_next_record(self.at, self.end, &record)
            if after == NULL:
                return self.leave(None, None, None, self.at, self.end, "record", NULL)
            offset = self.base_offset + record.offset_delta
            if record.value == NULL or record.value_size == 0:
                return self.leave(
                    offset, None, None, after, after, "null-value" if record.value == NULL else "empty-value", after
                )
            start = kc_frame(record.value, record.value + record.value_size, &frame, &key, &version)
            if start == NULL:
                return self.leave(offset, None, None, record.value, after, "frame", after)
            if frame != 1 or key > 32767 or version > 32767:
                problem = "frame-version" if frame != 1 else "frame-range"
                return self.leave(offset, key, version, start, record.value + record.value_size, problem, after)
            if record.key != NULL or record.headers:
                problem = "key" if record.key != NULL else "headers"
                return self.leave(offset, key, version, start, record.value + record.value_size, problem, after)
            if not self.line(offset, key, version, start, record.value + record.value_size):
                return self.leave(offset, key, version, start, record.value + record.value_size, "", after)
            self.at = after
            self.left -= 1
            if self.mapped and self.at - self.mark > 2 * PIECE:
                kc_release(self.mark, PIECE)
                self.mark += PIECE
        if self.out.size:
            return self.flush()
        if not self.over and self.at != self.end:
            return self.leave(self.base_offset, None, None, self.at, self.end, "surplus", NULL)
        if self.held:
            self.held = False
            PyBuffer_Release(&self.view)
        self.over = True
        self.at = self.end = NULL
        raise StopIteration

    cdef object leave(
        self, offset, key, version, const uint8_t* start, const uint8_t* end, str problem, const uint8_t* after
    ):
        """Return a row for the caller, after the waiting lines."""
        cdef const uint8_t* base = <const uint8_t*>self.view.buf
        if self.out.size:
            return self.flush()
        if after == NULL:
            self.over = True
            offset = self.base_offset if offset is None else offset
        else:
            self.at = after
            self.left -= 1
        return offset, key, version, start - base, end - base, problem

    cdef bint line(
        self, int64_t offset, int64_t key, int64_t version, const uint8_t* start, const uint8_t* end
    ) except -1:
        cdef size_t before = self.out.size
        cdef char* to
        cdef PyObject* head
        cdef Py_ssize_t taken, extra = PyBytes_GET_SIZE(self.batch)
        if key >= TYPES or version >= VERSIONS:
            return False
        if not self.asked[key][version]:
            self.ask(key, version)
        if self.node_at[key][version] == NULL:
            return False
        head = self.head_at[key][version]
        if out_reserve(&self.out, HEAD + 24 + extra + PyBytes_GET_SIZE(<object>head)) != 0:
            raise MemoryError
        to = self.out.data + before
        memcpy(to, b'{"offset":', HEAD)
        to = put_int(to + HEAD, offset)
        memcpy(to, PyBytes_AS_STRING(self.batch), extra)
        to += extra
        memcpy(to, PyBytes_AS_STRING(<object>head), PyBytes_GET_SIZE(<object>head))
        self.out.size = to + PyBytes_GET_SIZE(<object>head) - self.out.data
        taken = (<Node>self.node_at[key][version]).json_at(start, end - start, &self.out, &self.context, False)
        if taken != end - start:
            self.out.size = before
            return False
        if out_put(&self.out, b"}\n", 2) != 0:
            raise MemoryError
        return True
