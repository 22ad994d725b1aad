"""Messages with other bytes in place of some fields, of the same length. A Selection determines the fields."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from kcli.core.codec.messages cimport Selection

BLANK = 0xFF                  # replaces bytes after the message


cdef class Rewriter:
    """One message version's fields, and their replacements."""

    def __init__(self, Selection selection not None, list columns not None, list unknown not None):
        """Set up the slices to replace.

        columns: (level, slot, a byte or a function of bytes) of each. unknown: levels of tagged fields that the version
        does not know.
        """
        cdef int i
        self.selection, self.functions = selection, []
        self.columns = <Replacement*>calloc(len(columns) + 1, sizeof(Replacement))
        self.unknown = <int*>calloc(len(unknown) + 1, sizeof(int))
        if self.columns == NULL or self.unknown == NULL:
            raise MemoryError
        for i, (level, slot, way) in enumerate(columns):
            self.columns[i] = Replacement(level, slot, way if isinstance(way, int) else -1, len(self.functions))
            self.functions.append(way)
        self.count, self.unknown_count = len(columns), len(unknown)
        for i, level in enumerate(unknown):
            self.unknown[i] = level

    def __dealloc__(self):
        free(self.columns)
        free(self.unknown)

    cdef Py_ssize_t apply(self, const uint8_t* base, const uint8_t* at, const uint8_t* end, uint8_t* out) except -2:
        cdef Py_ssize_t took = self.selection.select_at(base, at, end)
        cdef int i
        cdef size_t j, slots, count
        cdef const int64_t* row
        cdef Replacement* column
        if took < 0:
            return -1
        for i in range(self.unknown_count):
            if self.selection.levels[self.unknown[i]].rows.size:
                return -1
        for i in range(self.count):
            column = &self.columns[i]
            slots = self.selection.levels[column.level].width // sizeof(int64_t)
            count = self.selection.levels[column.level].rows.size // self.selection.levels[column.level].width
            row = <const int64_t*>self.selection.levels[column.level].rows.data + column.slot
            for j in range(count):
                if row[1] > 0:
                    self.replace(column, base + row[0], row[1], out + row[0])
                row += slots
        return took

    cdef int replace(self, Replacement* column, const uint8_t* data, Py_ssize_t size, uint8_t* out) except -1:
        cdef bytes made
        if column.byte >= 0:
            memset(out, column.byte, size)
            return 0
        made = self.functions[column.function](PyBytes_FromStringAndSize(<const char*>data, size))
        if PyBytes_GET_SIZE(made) != size:
            raise ValueError(f"{PyBytes_GET_SIZE(made)} bytes in place of {size}")
        memcpy(out, PyBytes_AS_STRING(made), size)
        return 0


cdef class FrameRewriter:
    """The frames of one API's requests, or responses, in one version."""

    def __init__(self, Rewriter header not None, Rewriter body not None, int refused=0):
        self.header, self.body, self.refused = header, body, refused

    cdef bint apply(self, const uint8_t* frame, size_t n, uint8_t* out) except -1:
        cdef Py_ssize_t start = self.header.apply(frame, frame, frame + n, out)
        cdef Py_ssize_t size
        if start < 0:
            return False
        if self.refused and n >= <size_t>start + 2 and (frame[start] << 8 | frame[start + 1]) == self.refused:
            return False
        size = self.body.apply(frame, frame + start, frame + n, out)
        if size < 0:
            return False
        memset(out + start + size, BLANK, n - start - size)
        return True

    def rewritten(self, bytes frame not None):
        """Return the frame with its slices replaced; None if only the slower way can read it."""
        cdef size_t n = PyBytes_GET_SIZE(frame)
        cdef bytes made = PyBytes_FromStringAndSize(PyBytes_AS_STRING(frame), n)
        cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(frame)
        return made if n and self.apply(data, n, <uint8_t*>PyBytes_AS_STRING(made)) else None
