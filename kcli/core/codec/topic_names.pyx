"""Inserts topic names into a column of JSON text, without a Python object for a row."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t

from kcli.core.codec.messages cimport NameTable, Out, name_learn, names_free, out_free

from kcli.core.codec.values import uuid_bytes

import struct

__all__ = ["NameInserter"]

cdef extern from "topic_names.h" nogil:
    int insert "kn_insert"(Out* out, NameTable* known, const char* p, const char* end, int64_t now)


cdef class NameInserter:
    """Topic ids with the JSON text of their names, and the time (ns) since which each is known."""

    cdef NameTable table

    def __init__(self, known):
        """Learn the known names. known: topic id -> (JSON text of the name, ns since when)."""
        for topic_id, (name, since) in known.items():
            self.learn(uuid_bytes(topic_id), struct.pack("=q", since) + b',"_topicName":' + name)

    def __dealloc__(self):
        names_free(&self.table)

    cdef int learn(self, bytes topic_id, bytes text) except -1:
        if name_learn(
            &self.table, <const uint8_t*>PyBytes_AS_STRING(topic_id), PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)
        ):
            raise MemoryError
        return 0

    def insert(
        self, const uint8_t[::1] data not None, const int32_t[::1] offsets not None, const int64_t[::1] moments not None
    ):
        """Insert the names that a column's objects lack, each if it was known before its row's moment; return (texts,
        int32 offsets), or None if there are none to insert.

        offsets: one more than there are rows. Raises ValueError if they or the moments do not fit the data.
        """
        cdef Py_ssize_t row, rows = offsets.shape[0] - 1
        cdef Out out = Out(NULL, 0, 0)
        cdef int done, found = 0
        if rows < 0 or moments.shape[0] != rows or not fits(offsets, data.shape[0]):
            raise ValueError("offsets and moments of other rows")
        if rows == 0 or data.shape[0] == 0:
            return None
        ends = PyBytes_FromStringAndSize(NULL, (rows + 1) * sizeof(int32_t))
        cdef int32_t* at = <int32_t*>PyBytes_AS_STRING(ends)
        cdef const char* start = <const char*>&data[0]
        at[0] = 0
        try:
            for row in range(rows):
                done = insert(&out, &self.table, start + offsets[row], start + offsets[row + 1], moments[row])
                if done < 0:
                    raise MemoryError
                if out.size > INT32_MAX:
                    raise OverflowError("more text than a column can have")
                found |= done
                at[row + 1] = <int32_t>out.size
            return (PyBytes_FromStringAndSize(out.data, out.size), ends) if found else None
        finally:
            out_free(&out)


cdef bint fits(const int32_t[::1] offsets, Py_ssize_t size) noexcept:
    """Return whether the offsets are in order and inside the data."""
    cdef Py_ssize_t row
    for row in range(offsets.shape[0] - 1):
        if offsets[row] < 0 or offsets[row] > offsets[row + 1]:
            return False
    return offsets[offsets.shape[0] - 1] <= size
