# Messages with other bytes in place of some fields.
from libc.stdint cimport uint8_t

from kcli.core.codec.messages cimport Selection


# A column of slices; each is filled with one byte, or with the bytes that a function returns for it.
cdef struct Replacement:
    int level, slot
    int byte              # -1: call the function
    int function          # its number among the functions


cdef class Rewriter:
    cdef Selection selection
    cdef list functions
    cdef Replacement* columns
    cdef int count
    cdef int* unknown     # levels of unknown tagged fields
    cdef int unknown_count

    # Writes replacements for fields of the message at `at` into `out`, a copy of the bytes from `base` on; returns the
    # message's bytes; -1 if it can't be read, or has unknown fields.
    cdef Py_ssize_t apply(self, const uint8_t* base, const uint8_t* at, const uint8_t* end, uint8_t* out) except -2
    cdef int replace(self, Replacement* column, const uint8_t* data, Py_ssize_t size, uint8_t* out) except -1


cdef class FrameRewriter:
    cdef Rewriter header, body
    cdef int refused      # an error code at the body's start for which the layout may differ; 0: none

    # Writes the replacements of a frame into `out`, a copy of it. False: only the slower way can.
    cdef bint apply(self, const uint8_t* frame, size_t n, uint8_t* out) except -1
