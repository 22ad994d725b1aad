# Memory of columns that readers may keep; it returns to the columns when no reader needs it any more.

cdef enum:
    SPARES = 16

cdef Out[SPARES] spares      # memory that was returned
cdef int spare_count = 0


cdef class Lent:
    """The memory of a column."""

    cdef Out out

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.out.data, self.out.size, True, flags)

    def __dealloc__(self):
        global spare_count
        if spare_count == SPARES:
            out_free(&self.out)
            return
        self.out.size = 0
        spares[spare_count] = self.out
        spare_count += 1


cdef object lend(Out* out):
    """Return all bytes of a buffer without a copy, and leave it without memory."""
    if not out.size:
        return b""
    made = Lent()
    made.out = out[0]
    memset(out, 0, sizeof(Out))
    return memoryview(made)


cdef void refill(Out* out, size_t size) noexcept:
    """Begin a buffer without memory in the smallest returned memory that has room for `size` bytes."""
    global spare_count
    cdef int i, best = -1
    if out.data != NULL:
        return
    for i in range(spare_count):
        if spares[i].capacity >= size and (best < 0 or spares[i].capacity < spares[best].capacity):
            best = i
    if best >= 0:
        spare_count -= 1
        out[0] = spares[best]
        spares[best] = spares[spare_count]


cdef object view(Out* out):
    """Return all bytes of a buffer without a copy, and begin it anew."""
    cdef size_t size = out.size
    made = lend(out)
    refill(out, size)
    return made
