"""Kernels over buffers of record batches: JSON text directly from the bytes, frames, checksums, the next sound batch.

They run without the interpreter's lock except while a payload is decompressed or a hook is called, so that several
parts of a segment are processed at once. batches.h documents the accepted entries.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from kcli.core.codec.messages cimport KC_MEMORY, KC_OK, Out, out_free, out_put
from kcli.core.codec.layouts cimport *

from kcli.core.records.problems import REASONS
from kcli.errors import InputError
from kcli.jsontext import dumps

crc_setup(3)
text_setup()

cdef extern from "Python.h":
    int PyBUF_READ

# Bytes of the header of magic 2; the offsets of size and magic (in every magic), of the bytes that the size counts, and
# of those that the checksum of magic 2 covers. The least value of a size field, by magic.
HEADER_SIZE = KB_HEADER_2
SIZE_AT, LENGTH_END, MAGIC_AT = KB_AT_BATCH_LENGTH, KB_OVERHEAD, KB_AT_MAGIC
CRC_AT, CRC_START = KB_AT_CRC, KB_AT_ATTRIBUTES
LEAST_LENGTH = (KB_LEAST, KB_LEAST_1, KB_LEAST_2)

# The first value returned by `BatchText.write`: the reason to stop.
DONE, END, PARTIAL, LENGTH, SHORT, MAGIC, SUSPECT, FULL = (
    KB_OK, KB_END, KB_PARTIAL, KB_LENGTH, KB_SHORT, KB_MAGIC, 9, 10
)
LEGACY_NULL, LEGACY_CODEC = KR_LEGACY_NULL, KR_LEGACY_CODEC
cdef int STOP_SUSPECT = 9, STOP_FULL = 10
cdef int RAISED = -3

include "batch_text.pxi"
include "message_text.pxi"

def whole(data, Py_ssize_t start, Py_ssize_t size, Py_ssize_t limit=-1):
    """Walk the entries of data[start:size] by their size fields; return (reason to stop, position, start of the last
    whole entry). limit: no entry begins at or after it.

    Only sizes and magic are read, so that a part of a file can be cut between two batches at no cost.
    """
    cdef Py_buffer view
    cdef Batch b
    cdef int code = KB_OK
    cdef Py_ssize_t last = start
    cdef const uint8_t* p
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    p = <const uint8_t*> view.buf
    while code == KB_OK and (limit < 0 or start < limit):
        code = read_batch(&b, p + start, p + size)
        if code == KB_OK:
            last = start
            start += b.size
    PyBuffer_Release(&view)
    return code, start, last


def find(data, Py_ssize_t start, Py_ssize_t stop):
    """Return the position of the next entry in data[start:stop] whose checksum is right; -1 for none. The work is
    bounded.
    """
    cdef Py_buffer view
    cdef ptrdiff_t at
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    with nogil:
        at = find_batch(<const uint8_t*> view.buf + start, <const uint8_t*> view.buf + stop)
    PyBuffer_Release(&view)
    return at if at < 0 else at + start


def sound(data, Py_ssize_t start, Py_ssize_t stop):
    """Return (whether the entry at start is plausible, whether its checksum is also right)."""
    cdef Py_buffer view
    cdef Batch b
    cdef bint plausible, good = False
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    plausible = (read_batch(&b, <const uint8_t*> view.buf + start, <const uint8_t*> view.buf + stop) == KB_OK
                 and batch_plausible(&b))
    if plausible:
        good = batch_checksum(&b) == b.crc
    PyBuffer_Release(&view)
    return plausible, good


def frames(data, Py_ssize_t start=0, bint check=True):
    """Read the headers of the whole entries at data[start:]; return (a tuple for each, the code that ended the walk,
    its position).

    A tuple is (position, size, magic, attributes, base offset, last offset, leader epoch, crc, crc valid or None, base
    timestamp, max timestamp, producer id, producer epoch, base sequence, count, payload start, payload size or -1, key
    start, key size). In magic 0 and 1, missing fields are -1, and base and last offset and both timestamps are the
    message's own.
    """
    cdef Py_buffer view
    cdef Batch b
    cdef int code
    cdef const uint8_t* p
    rows = []
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    p = <const uint8_t*> view.buf
    try:
        while True:
            code = read_batch(&b, p + start, p + view.len)
            if code != KB_OK:
                return rows, code, start
            rows.append((
                start, b.size, b.magic, b.attributes, b.base_offset, b.last_offset, b.leader_epoch, b.crc,
                (batch_checksum(&b) == b.crc) if check else None, b.base_timestamp, b.max_timestamp, b.producer_id,
                b.producer_epoch, b.base_sequence, b.count, -1 if b.payload is NULL else b.payload - p,
                -1 if b.payload is NULL else <Py_ssize_t> b.payload_size, -1 if b.key is NULL else b.key - p,
                b.key_size,
            ))
            start += b.size
    finally:
        PyBuffer_Release(&view)
