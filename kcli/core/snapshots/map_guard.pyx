"""Guards memory maps of files against truncation while they are read, which would end the process (SIGBUS)."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer

cdef extern from "map_guard.h":
    int kc_begin_guard(const void* start, size_t size)
    int kc_was_cut(int guard)
    void kc_end_guard(int guard)

__all__ = ["MapGuard"]


cdef class MapGuard:
    """Guards a memory map until `close`: pages beyond the end of a truncated file read as zeros.

    mapped: a read-only map, which stays open until then. The first 64 maps at one time are guarded.
    """

    cdef int number

    def __cinit__(self, mapped not None):
        cdef Py_buffer view
        self.number = -1
        PyObject_GetBuffer(mapped, &view, PyBUF_SIMPLE)
        self.number = kc_begin_guard(view.buf, view.len)
        PyBuffer_Release(&view)

    def __dealloc__(self):
        self.close()

    @property
    def was_cut(self):
        """True if zeros were read in place of the file's bytes."""
        return kc_was_cut(self.number) != 0

    cpdef void close(self) noexcept:
        """End the guard. Call it before the map is closed."""
        kc_end_guard(self.number)
        self.number = -1
