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


cdef object view(Out* out):
    """Return all bytes of a buffer without a copy, and begin it anew, in the smallest returned memory that has room for
    as many.
    """
    global spare_count
    cdef int i, best = -1
    if not out.size:
        return b""
    made = Lent()
    made.out = out[0]
    memset(out, 0, sizeof(Out))
    for i in range(spare_count):
        if spares[i].capacity >= made.out.size and (best < 0 or spares[i].capacity < spares[best].capacity):
            best = i
    if best >= 0:
        spare_count -= 1
        out[0] = spares[best]
        spares[best] = spares[spare_count]
    return memoryview(made)
