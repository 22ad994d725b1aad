# Nodes that contain others: arrays, and structs that may be null.


@cython.final
cdef class Array(Node):
    """Elements with their count in front."""

    cdef readonly Node element
    cdef readonly int flags

    def __init__(self, Node element not None, bint nullable=False, bint compact=False):
        self.element = element
        self.flags = (NULLABLE if nullable else 0) | (COMPACT if compact else 0)
        self.least = 1 if compact else 4

    cdef int64_t count(self, Cursor* cursor) noexcept:
        """Return the number of elements; -1: null, -2: stopped."""
        cdef uint32_t compact
        cdef int64_t count
        cdef const uint8_t* at = cursor.at
        if self.flags & COMPACT:
            if varint(cursor, &compact):
                return -2
            count = <int64_t>compact - 1
        else:
            if cursor.end - at < 4:
                return short_of(cursor, 4) - 1
            count = <int32_t>be32(at)
            cursor.at += 4
        if count < 0:
            if count < -1:
                return stop(cursor, ODD, at, 0, 0) - 1
            return -1 if self.flags & NULLABLE else stop(cursor, NOT_NULLABLE, at, 0, 0) - 1
        if self.element.least == 0 and count > cursor.end - cursor.at:
            return stop(cursor, COUNT, at, count, cursor.end - cursor.at) - 1
        return count

    cdef int at_element(self, Cursor* cursor, int64_t index, int64_t count) noexcept:
        if cursor.code == SHORT and cursor.says < 0:
            cursor.says, cursor.here = count, index
        return within(cursor, index)

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        cdef int64_t i, count = self.count(cursor)
        cdef PyObject* made
        cdef PyObject* value
        if count < 0:
            if count == -2:
                return NULL
            incref(None_)
            return None_
        if count * self.element.least > cursor.end - cursor.at:
            self.find_end(cursor, count)
            return NULL
        made = list_new(count)
        if made == NULL:
            raised(cursor)
            return NULL
        for i in range(count):
            value = self.element.read_c(cursor)
            if value == NULL:
                decref(made)
                self.at_element(cursor, i, count)
                return NULL
            list_set(made, i, value)
        return made

    cdef int find_end(self, Cursor* cursor, int64_t count) noexcept:
        """Skip to the element that is cut, if the count is more than fits, so that the error names it; always return
        -1.
        """
        cdef int64_t i
        for i in range(count):
            if self.element.skip_c(cursor):
                return self.at_element(cursor, i, count)
        return stop(cursor, COUNT, cursor.at, count, 0)

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef int64_t i, count = self.count(cursor)
        if count < 0:
            if count == -2:
                return -1
            return no_memory(cursor) if out_put(out, b"null", 4) else 0
        if out_put(out, b"[", 1):
            return no_memory(cursor)
        for i in range(count):
            if i:
                if out_put(out, b",", 1):
                    return no_memory(cursor)
            if self.element.json_c(cursor, out):
                return self.at_element(cursor, i, count)
        return no_memory(cursor) if out_put(out, b"]", 1) else 0

    cdef int scan_c(self, Cursor* cursor, Out* out) noexcept:
        cdef int64_t count = self.count(cursor)
        cdef int64_t i = self.skip_fixed(count, cursor) if self.element.silent else 0
        while i < count:
            if self.element.scan_c(cursor, out):
                return -1
            i += 1
        return -(count == -2)

    cdef int skip_c(self, Cursor* cursor) noexcept:
        cdef int64_t count = self.count(cursor)
        cdef int64_t i = self.skip_fixed(count, cursor)
        while i < count:
            if self.element.skip_c(cursor):
                return self.at_element(cursor, i, count)
            i += 1
        return -(count == -2)

    cdef int diff_c(self, Pair* pair, int sides) except -2:
        return diff_array(self, pair, sides)

    cdef int64_t skip_fixed(self, int64_t count, Cursor* cursor) noexcept:
        """Skip elements of one size, up to the first that has tags or is cut; return their number."""
        cdef int64_t i = 0
        cdef Py_ssize_t width = self.element.fixed
        cdef Py_ssize_t step = self.element.least
        if width == 0:
            return 0
        if width == step:
            i = max(0, min(count, (cursor.end - cursor.at) // width))
            cursor.at += i * width
            return i
        while i < count and cursor.end - cursor.at >= step and cursor.at[width] == 0:
            cursor.at += step
            i += 1
        return i

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        cdef Py_ssize_t i, size
        cdef int level
        if value == None_:
            return self.write_count(-1, out)
        if not is_list(value):
            raise ValueError(f"needs a list, not {<object>value!r}")
        size = list_size(value)
        self.write_count(size, out)
        trail.depth += 1
        level = trail.depth
        trail.name[level] = NULL
        for i in range(size):
            trail.index[level] = i
            self.element.write_c(list_item(value, i), out, trail)
        trail.depth -= 1
        return 0

    cdef int write_count(self, int64_t count, Out* out) except -1:
        if count < 0 and not self.flags & NULLABLE:
            raise ValueError("null, where this version allows none")
        return put_length(BYTES, self.flags, count, out)


cdef class Optional(Node):
    """A struct that may be null, with a byte in front: 1 if it is there; for null -1, or 0 in a tagged field."""

    cdef readonly Node inner
    cdef uint8_t null

    def __init__(self, Node inner not None, bint tagged=False):
        self.inner = inner
        self.null = 0 if tagged else 0xFF
        self.least = 1

    cdef int present(self, Cursor* cursor) noexcept:
        if cursor.at == cursor.end:
            return short_of(cursor, 1)
        cdef uint8_t marker = cursor.at[0]
        cursor.at += 1
        if marker == 1:
            return 1
        return 0 if marker == self.null else stop(cursor, ODD, cursor.at - 1, 0, 0)

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        cdef int present = self.present(cursor)
        if present < 0:
            return NULL
        if present:
            return self.inner.read_c(cursor)
        incref(None_)
        return None_

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef int present = self.present(cursor)
        if present < 0:
            return -1
        if present:
            return self.inner.json_c(cursor, out)
        return no_memory(cursor) if out_put(out, b"null", 4) else 0

    cdef int scan_c(self, Cursor* cursor, Out* out) noexcept:
        cdef int present = self.present(cursor)
        return self.inner.scan_c(cursor, out) if present > 0 else present

    cdef int skip_c(self, Cursor* cursor) noexcept:
        cdef int present = self.present(cursor)
        return self.inner.skip_c(cursor) if present > 0 else present

    cdef int diff_c(self, Pair* pair, int sides) except -2:
        return diff_optional(self, pair, sides)

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        cdef uint8_t marker = self.null if value == None_ else 1
        if out_put(out, &marker, 1):
            raise MemoryError
        return 0 if value == None_ else self.inner.write_c(value, out, trail)
