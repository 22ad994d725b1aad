# A node for one value without parts.


cdef class Scalar(Node):
    """One value of a type in NAMES."""

    cdef readonly int op
    cdef readonly int flags

    def __init__(self, str kind, bint nullable=False, bint compact=False):
        self.op = OPS[kind]
        self.flags = (NULLABLE if nullable else 0) | (COMPACT if compact else 0)
        self.least = WIDTHS[self.op] if self.op <= LAST_FIXED else 1 if compact else 2 if self.op == STRING else 4
        self.fixed = self.least if self.op <= LAST_FIXED else 0
        self.silent = self.fixed and self.op != BOOL and self.op != FLOAT64

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        if self.op > LAST_FIXED:
            return read_sized(self.op, self.flags, cursor)
        if cursor.end - cursor.at < WIDTHS[self.op]:
            short_of(cursor, WIDTHS[self.op])
            return NULL
        return read_fixed(self.op, cursor)

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef char* p
        if self.op > LAST_FIXED:
            return json_sized(self.op, self.flags, cursor, out)
        if cursor.end - cursor.at < WIDTHS[self.op]:
            return short_of(cursor, WIDTHS[self.op])
        if self.op == FLOAT64:
            return json_double(cursor, out)
        if out_reserve(out, 32):
            return no_memory(cursor)
        p = put_fixed(self.op, cursor.at, out.data + out.size)
        if p == NULL:
            return stop(cursor, ODD, cursor.at, 0, 0)
        cursor.at += WIDTHS[self.op]
        out.size = p - out.data
        return 0

    cdef int scan_c(self, Cursor* cursor, Out* out) noexcept:
        if self.op > LAST_FIXED:
            return scan_sized(self.op, self.flags, cursor, out)
        if cursor.end - cursor.at < WIDTHS[self.op] or is_odd(self.op, cursor.at):
            return -1
        cursor.at += WIDTHS[self.op]
        return 0

    cdef int skip_c(self, Cursor* cursor) noexcept:
        return skip_value(self.op, self.flags, cursor)

    cdef int diff_c(self, Pair* pair, int sides) except -2:
        return diff_value(self.op, self.flags, pair, sides)

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        if self.op > LAST_FIXED:
            return write_sized(self.op, self.flags, value, out)
        if out_reserve(out, 16):
            raise MemoryError
        write_fixed(self.op, value, <uint8_t*>out.data + out.size)
        out.size += WIDTHS[self.op]
        return 0
