# Strings, bytes and records: values with their length in front, and their code for read, json, skip and write.


cdef inline Py_ssize_t length_of(int op, int flags, Cursor* cursor) noexcept:
    """Read the length of a string, bytes or records field, and check that its bytes are there; -1: null, -2:
    stopped.
    """
    cdef uint32_t compact
    cdef int64_t length
    cdef const uint8_t* at = cursor.at
    if flags & COMPACT:
        if varint(cursor, &compact):
            return -2
        length = <int64_t>compact - 1
    elif op == STRING:
        if cursor.end - at < 2:
            return short_of(cursor, 2) - 1
        length = <int16_t>be16(at)
        cursor.at += 2
    else:
        if cursor.end - at < 4:
            return short_of(cursor, 4) - 1
        length = <int32_t>be32(at)
        cursor.at += 4
    if length < 0:
        if length < -1:
            return stop(cursor, ODD, at, 0, 0) - 1
        if not flags & NULLABLE:
            return stop(cursor, NOT_NULLABLE, at, 0, 0) - 1
        return -1
    if cursor.end - cursor.at < length:
        return short_of(cursor, length) - 1
    return length


cdef inline PyObject* read_sized(int op, int flags, Cursor* cursor) noexcept:
    cdef Py_ssize_t length = length_of(op, flags, cursor)
    cdef const uint8_t* at = cursor.at
    cdef PyObject* value
    if length < 0:
        if length == -2:
            return NULL
        incref(None_)
        return None_
    cursor.at += length
    if op == STRING:
        value = str_decode(<const char*>at, length, NULL)
        if value == NULL:
            err_clear()
            stop(cursor, ODD, at, 0, 0)
        return value
    value = bytes_new(<const char*>at, length)
    if value == NULL:
        raised(cursor)
    return value


cdef int json_records(const uint8_t* at, Py_ssize_t size, Cursor* cursor, Out* out) noexcept:
    cdef JsonContext* context = cursor.context
    if out_reserve(out, 64):
        return no_memory(cursor)
    cdef char* p = out.data + out.size
    memcpy(p, b'{"sizeInBytes":', 15)
    p = put_int(p + 15, size)
    out.size = p - out.data
    if context.metadata and not context.secrets:
        context.redactions += 1               # even if only the size is shown
    if context.records == RECORDS_RAW:
        if out_put(out, b',"base64":', 10):
            return no_memory(cursor)
        if out_redacted(out, size) if context.metadata and not context.secrets else out_base64(out, at, size):
            return no_memory(cursor)
    elif context.records == RECORDS_COUNT:
        count_records(context, at, size)
    elif context.records == RECORDS_HOOK:
        context.erred = True                  # in the values of records
        if hooked(at, size, context, out):
            return raised(cursor)
    return no_memory(cursor) if out_put(out, b"}", 1) else 0


cdef extern from "record_count.h" nogil:
    int64_t record_count "kb_record_count"(const uint8_t* data, int64_t size)


cdef inline void count_records(JsonContext* context, const uint8_t* at, Py_ssize_t size) noexcept:
    context.records_seen += record_count(at, size)
    context.records_size += size


cdef int hooked(const uint8_t* at, Py_ssize_t size, JsonContext* context, Out* out) noexcept:
    try:
        text = <bytes?>(<object>context.hook)(view_of(<char*>at, size, 0x100))       # PyBUF_READ
        if out_put(out, b',"batches":', 11) or out_put(out, <const char*>text, len(text)):
            raise MemoryError
        return 0
    except BaseException as error:
        keep_error(error)
        return -1


cdef inline int json_sized(int op, int flags, Cursor* cursor, Out* out) noexcept:
    cdef Py_ssize_t length = length_of(op, flags, cursor)
    cdef const uint8_t* at = cursor.at
    cdef int code
    if length < 0:
        if length == -2:
            return -1
        return no_memory(cursor) if out_put(out, b"null", 4) else 0
    cursor.at += length
    if op == STRING:
        code = out_string(out, at, length)
        if code == KC_UTF8:
            return stop(cursor, ODD, at, 0, 0)
    elif op == BYTES:
        code = out_base64(out, at, length)
    else:
        return json_records(at, length, cursor, out)
    return no_memory(cursor) if code else 0


cdef inline int skip_sized(int op, int flags, Cursor* cursor) noexcept:
    cdef Py_ssize_t length = length_of(op, flags, cursor)
    if length > 0:
        cursor.at += length
    return -(length == -2)


cdef inline int skip_value(int op, int flags, Cursor* cursor) noexcept:
    """Skip a value without parts, of a fixed width or not."""
    if op > LAST_FIXED:
        return skip_sized(op, flags, cursor)
    if cursor.end - cursor.at < WIDTHS[op]:
        return short_of(cursor, WIDTHS[op])
    cursor.at += WIDTHS[op]
    return 0


cdef int put_length(int op, int flags, int64_t length, Out* out) except -1:
    """Write the length of a string, bytes or records field (-1: null), and reserve room for it and the value. Raises
    ValueError if it is too long.
    """
    cdef uint8_t* at
    if length > (32767 if op == STRING and not flags & COMPACT else 2147483646):
        raise ValueError(f"{length} bytes, which is more than its length field can say")
    if out_reserve(out, length + 8):
        raise MemoryError
    at = <uint8_t*>out.data + out.size
    if flags & COMPACT:
        out.size = <char*>set_uvarint(at, <uint32_t>(length + 1)) - out.data
    elif op == STRING:
        set16(at, <uint16_t>length)
        out.size += 2
    else:
        set32(at, <uint32_t>length)
        out.size += 4
    return 0


cdef int write_sized(int op, int flags, PyObject* value, Out* out) except -1:
    cdef const char* text
    cdef Py_ssize_t size = 0
    if value == None_:
        if not flags & NULLABLE:
            raise ValueError("null, where this version allows none")
        return put_length(op, flags, -1, out)
    if op != STRING:
        return write_bytes(op, flags, <object>value, out)
    if not is_str(value):
        text_of(<object>value)             # raises
    text = str_utf8(value, &size)
    if text == NULL:
        err_clear()
        raise ValueError("a string with surrogates has no UTF-8 form")
    put_length(op, flags, size, out)
    memcpy(out.data + out.size, text, size)
    out.size += size
    return 0


cdef int write_bytes(int op, int flags, object value, Out* out) except -1:
    cdef Py_buffer view
    data = value if isinstance(value, bytes) else bytes_of(value) if op == BYTES else records_of(value)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        put_length(op, flags, view.len, out)
        memcpy(out.data + out.size, view.buf, view.len)
        out.size += view.len
    finally:
        PyBuffer_Release(&view)
    return 0
