# The operations of nodes for Python.

cdef const char* TRAILING_KEY = b',"_trailing":'


cdef class Node:
    """The operations on a value. `data` is any object with a buffer; offsets are bytes from its start."""

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        return NULL

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        return -1

    cdef int skip_c(self, Cursor* cursor) noexcept:
        return -1

    cdef int scan_c(self, Cursor* cursor, Out* out) noexcept:
        """Read the value as `json_c` does, with the same hook, and learn the same names. Only error codes other than 0
        have to be written as text, for `next_error`.
        """
        return self.json_c(cursor, out)

    cdef int diff_c(self, Pair* pair, int sides) except -2:
        return -1

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        raise NotImplementedError

    cdef int slow(self, Cursor* cursor, Py_ssize_t offset) except -1:
        """Raise the error of a stop, unless the fallback has to try (ODD)."""
        if cursor.code != ODD:
            raise_kept()
            fail(cursor, offset)
        xdecref(cursor.path)
        if self.fallback is None:
            raise DecodeError("", cursor.where + offset, f"not canonical at {cursor.where + offset:#x}")
        return 0

    def read(self, data, Py_ssize_t offset=0):
        """Return (value, end) of the bytes at `offset`, as plain Python values. Raises DecodeError with path, offset
        and reason.
        """
        cdef Py_buffer view
        cdef Cursor cursor
        cdef PyObject* value
        cdef bint paused
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_offset(&view, offset)
            start(&cursor, <const uint8_t*>view.buf + offset, view.len - offset, NULL)
            # Tens of thousands of dicts would start the garbage collector again and again, with nothing to collect.
            paused = view.len > 65536 and gc_disable() == 1
            value = self.read_c(&cursor)
            if paused:
                gc_enable()
            if value != NULL:
                made = <object>value
                decref(value)
                return made, offset + (cursor.at - cursor.base)
            self.slow(&cursor, offset)
        finally:
            PyBuffer_Release(&view)
        return self.fallback.read(data, offset)

    def json(self, data, Py_ssize_t offset=0, *, str records="none", hook=None, Names names=None, bint whole=False,
             bint secrets=False):
        """Return `read`'s value as JSON text: (UTF-8 bytes, end).

        records: the content of a records field beside its size: "none", "raw" base64, or the result of
        `hook(memoryview) -> bytes`, as "batches". whole: bytes after the message are kept as "_trailing". secrets: show
        them.
        """
        cdef Py_buffer view
        cdef Out out = Out(NULL, 0, 0)
        cdef JsonContext context
        cdef Py_ssize_t took
        json_context(&context, records, hook, names, secrets)
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_offset(&view, offset)
            took = self.json_at(<const uint8_t*>view.buf + offset, view.len - offset, &out, &context, whole)
            if took >= 0:
                return out.data[: out.size], offset + took
            self.refuse(<const uint8_t*>view.buf + offset, view.len - offset, offset)
        finally:
            out_free(&out)
            PyBuffer_Release(&view)
        return self.fallback.json(data, offset, records=records, hook=hook, names=names, whole=whole, secrets=secrets)

    cdef int refuse(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t offset) except -1:
        """Raise the reason why json_at refused. skip stops at the same place, except for text that is not UTF-8, which
        goes to the fallback.
        """
        cdef Cursor cursor
        start(&cursor, data, size, NULL)
        if self.skip_c(&cursor):
            return self.slow(&cursor, offset)
        stop(&cursor, ODD, cursor.at, 0, 0)
        return self.slow(&cursor, offset)

    def skip(self, data, Py_ssize_t offset=0):
        """Return the end of the value at `offset`. Raises DecodeError as `read`."""
        cdef Py_buffer view
        cdef Cursor cursor
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_offset(&view, offset)
            start(&cursor, <const uint8_t*>view.buf + offset, view.len - offset, NULL)
            if self.skip_c(&cursor) == 0:
                return offset + (cursor.at - cursor.base)
            self.slow(&cursor, offset)
        finally:
            PyBuffer_Release(&view)
        return self.fallback.skip(data, offset)

    def differences(
        self, bytes one not None, Py_ssize_t offset, bytes other not None, Py_ssize_t other_offset, Message batch=None
    ):
        """Return the fields whose bytes differ between the values at both offsets: (found, added, end, other's end).

        found: (path, expected, got), each (start, end, type, value) as in the reference's spans, or None; heads of tags
        are before the fields. added: the fields that only the other has. None: the reference has to compare, as it has
        the error. batch: the node of a batch's header; with it records fields are compared batch by batch, else as
        bytes.
        """
        if not 0 <= offset <= len(one) or not 0 <= other_offset <= len(other):
            raise ValueError(f"offsets {offset} of {len(one)} bytes, {other_offset} of {len(other)}")
        return differences_of(self, one, offset, other, other_offset, batch)

    def write(self, value):
        """Write a value as bytes. Raises EncodeError with the path of the part that does not fit."""
        cdef Out out
        cdef Trail trail
        trail.depth = -1
        borrow_buffer(&out)
        try:
            self.write_c(<PyObject*>value, &out, &trail)
            return PyBytes_FromStringAndSize(out.data, out.size)
        except ValueError as error:
            raise EncodeError(trail_text(&trail), str(error)) from None
        finally:
            return_buffer(&out)

    cdef Py_ssize_t json_at(
        self, const uint8_t* data, Py_ssize_t size, Out* out, JsonContext* context, bint whole
    ) except -2:
        cdef Cursor cursor
        cdef size_t before = out.size
        cdef int bare
        start(&cursor, data, size, context)
        if self.json_c(&cursor, out) == 0:
            if not whole or cursor.at == cursor.end:
                return cursor.at - data
            if not self.refuses_rest(&cursor):
                out.size -= 1                                   # the closing brace
                bare = out.data[out.size - 1] == b"{"           # then no comma
                if (
                    out_put(out, TRAILING_KEY + bare, 13 - bare)
                    or out_base64(out, cursor.at, cursor.end - cursor.at)
                    or out_put(out, b"}", 1)
                ):
                    raise MemoryError
                return size
        out.size = before
        return self.refused(&cursor)

    cdef Py_ssize_t scan_at(self, const uint8_t* data, Py_ssize_t size, Out* out, JsonContext* context) except -2:
        cdef Cursor cursor
        cdef size_t before = out.size
        start(&cursor, data, size, context)
        if self.scan_c(&cursor, out) == 0 and not self.refuses_rest(&cursor):
            return cursor.at - data
        out.size = before
        return self.refused(&cursor)

    cdef bint refuses_rest(self, Cursor* cursor) noexcept:
        """Return whether bytes behind the message show that a misread secret may be in any field of it."""
        return self.guarded and cursor.at < cursor.end and hides(cursor)

    cdef Py_ssize_t refused(self, Cursor* cursor) except -2:
        """Return -1, or raise the exception that was kept."""
        xdecref(cursor.path)
        if cursor.code == RAISED:
            raise_kept()
            if err_occurred() == NULL:
                err_no_memory()
            return -2
        return -1

    cdef Py_ssize_t skip_at(self, const uint8_t* data, Py_ssize_t size) noexcept:
        cdef Cursor cursor
        start(&cursor, data, size, NULL)
        if self.skip_c(&cursor) == 0:
            return cursor.at - data
        xdecref(cursor.path)
        return -1


# One buffer serves one writer after another; a writer that finds it in use, or has made it large, uses another.
cdef Out _spare = Out(NULL, 0, 0)

cdef enum:
    SPARE_MOST = 1 << 20


cdef inline void borrow_buffer(Out* out) noexcept:
    out[0] = _spare
    out.size = 0
    _spare.data = NULL
    _spare.capacity = 0


cdef inline void return_buffer(Out* out) noexcept:
    if _spare.data == NULL and out.capacity <= SPARE_MOST:
        _spare.data = out.data
        _spare.capacity = out.capacity
    else:
        out_free(out)


cdef int raise_kept() except -1:
    global _kept
    error, _kept = _kept, None
    if error is not None:
        raise error
    return 0


cdef int check_offset(Py_buffer* view, Py_ssize_t offset) except -1:
    if offset < 0 or offset > view.len:
        raise ValueError(f"offset {offset} of {view.len} bytes")
    return 0


cdef int json_context(JsonContext* context, str records, object hook, Names names, bint secrets) except -1:
    context.records = {"none": RECORDS_SIZE, "raw": RECORDS_RAW}.get(records, RECORDS_HOOK)
    if context.records == RECORDS_HOOK and hook is None:
        raise ValueError(f"records={records!r} needs a hook")
    context.hook = <PyObject*>hook
    context.names = &names.table if names is not None else NULL
    context.secrets = secrets
    context.metadata = False
    context.resource = 0
    context.name_at = context.name_size = context.redactions = 0
    context.inner_known = context.erred = False
    return 0


cdef object trail_text(Trail* trail):
    text = ""
    for level in range(trail.depth + 1):
        if trail.name[level] == NULL:
            text += f"[{trail.index[level]}]"
        else:
            text += f".{<object>trail.name[level]}" if text else <object>trail.name[level]
    return text
