# Values without parts: an op for each type, and what read, json, write and skip do with it.


cdef enum Op:
    BOOL
    INT8
    INT16
    INT32
    INT64
    UINT16
    UINT32
    FLOAT64
    UUID
    LAST_FIXED = UUID
    STRING           # from here on: NULLABLE and COMPACT say more
    BYTES
    RECORDS
    CHILD            # an Array, Optional or Message node

cdef enum Flag:
    NULLABLE = 1
    COMPACT = 2

OPS = {"bool": BOOL, "int8": INT8, "int16": INT16, "int32": INT32, "int64": INT64, "uint16": UINT16, "uint32": UINT32,
       "float64": FLOAT64, "uuid": UUID, "string": STRING, "bytes": BYTES, "records": RECORDS}
NAMES = {code: name for name, code in OPS.items()}
cdef int* WIDTHS = [1, 1, 2, 4, 8, 2, 4, 8, 16]
cdef int64_t* LOWEST = [0, -128, -32768, -2147483648, INT64_MIN, 0, 0]
cdef int64_t* HIGHEST = [1, 127, 32767, 2147483647, INT64_MAX, 65535, 4294967295]


cdef inline int64_t fixed_int(int op, const uint8_t* at) noexcept:
    if op == INT32:
        return <int32_t>be32(at)
    elif op == INT64:
        return <int64_t>be64(at)
    elif op == INT16:
        return <int16_t>be16(at)
    elif op == INT8:
        return <int8_t>at[0]
    elif op == UINT16:
        return be16(at)
    return be32(at)


cdef inline bint odd_double(const uint8_t* at) noexcept:
    """A NaN other than Java's own: its text would lose bits."""
    cdef double value = be_double(at)
    return value != value and be64(at) != 0x7FF8000000000000ULL


cdef inline PyObject* uuid_value(const uint8_t* at) noexcept:
    cdef PyObject* text = str_ascii(22, 127)
    if text != NULL:
        put_uuid(<char*>str_data(text), at)
    return text


cdef inline PyObject* read_fixed(int op, Cursor* cursor) noexcept:
    """The bounds are checked already."""
    cdef const uint8_t* at = cursor.at
    cdef PyObject* value
    cursor.at += WIDTHS[op]
    if op == BOOL:
        if at[0] > 1:
            stop(cursor, ODD, at, 0, 0)
            return NULL
        value = True_ if at[0] else False_
        incref(value)
    elif op == UUID:
        value = uuid_value(at)
    elif op == FLOAT64:
        if odd_double(at):
            stop(cursor, ODD, at, 0, 0)
            return NULL
        value = float_new(be_double(at))
    else:
        value = int_new(fixed_int(op, at))
    if value == NULL:
        raised(cursor)
    return value


cdef inline Py_ssize_t length_of(int op, int flags, Cursor* cursor) noexcept:
    """Bytes of a string, bytes or records field behind its length, which are there; -1 null, -2 stopped."""
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


cdef int json_double(Cursor* cursor, Out* out) noexcept:
    cdef double value = be_double(cursor.at)
    cdef char* text
    if odd_double(cursor.at):
        return stop(cursor, ODD, cursor.at, 0, 0)
    cursor.at += 8
    if value != value:
        return no_memory(cursor) if out_put(out, b'"NaN"', 5) else 0
    if value - value != 0:
        return no_memory(cursor) if out_put(out, b'"Infinity"' if value > 0 else b'"-Infinity"', 10 + (value < 0)) else 0
    text = double_text(value, b"r", 0, 2, NULL)      # 2: Py_DTSF_ADD_DOT_0
    if text == NULL:
        return raised(cursor)
    cdef size_t size = 0
    while text[size]:
        size += 1
    cdef int failed = out_put(out, text, size)
    mem_free(text)
    return no_memory(cursor) if failed else 0


cdef inline char* put_fixed(int op, const uint8_t* at, char* p) noexcept:
    """JSON of a fixed field but FLOAT64; at most 24 characters. NULL: not canonical."""
    if op == BOOL:
        if at[0] > 1:
            return NULL
        memcpy(p, b"true" if at[0] else b"false", 5)
        return p + 5 - at[0]
    if op == UUID:
        p[0] = b'"'
        p = put_uuid(p + 1, at)
        p[0] = b'"'
        return p + 1
    return put_int(p, fixed_int(op, at))


cdef int out_redacted(Out* out, Py_ssize_t size) noexcept:
    """What stands for a secret: only its size in bytes."""
    cdef char* p
    if out_reserve(out, 40):
        return KC_MEMORY
    p = out.data + out.size
    memcpy(p, b'{"redacted":', 12)
    p = put_int(p + 12, size)
    p[0] = b"}"
    out.size = p + 1 - out.data
    return 0


cdef int json_records(const uint8_t* at, Py_ssize_t size, Cursor* cursor, Out* out) noexcept:
    cdef JsonContext* context = cursor.context
    if out_reserve(out, 64):
        return no_memory(cursor)
    cdef char* p = out.data + out.size
    memcpy(p, b'{"sizeInBytes":', 15)
    p = put_int(p + 15, size)
    out.size = p - out.data
    if context.metadata and not context.secrets:
        context.redactions += 1               # also where only the size is shown
    if context.records == RECORDS_RAW:
        if out_put(out, b',"base64":', 10):
            return no_memory(cursor)
        if out_redacted(out, size) if context.metadata and not context.secrets else out_base64(out, at, size):
            return no_memory(cursor)
    elif context.records == RECORDS_HOOK and hooked(at, size, context, out):
        return raised(cursor)
    return no_memory(cursor) if out_put(out, b"}", 1) else 0


cdef int hooked(const uint8_t* at, Py_ssize_t size, JsonContext* context, Out* out) noexcept:
    try:
        text = <bytes?>(<object>context.hook)(view_of(<char*>at, size, 0x100))       # PyBUF_READ
        if out_put(out, b',"batches":', 11) or out_put(out, <const char*>text, len(text)):
            raise MemoryError
        return 0
    except BaseException as error:
        keep_error(error)
        return -1


cdef object _kept = None


cdef void keep_error(object error) noexcept:
    """A hook's exception, to be raised again at the top: the levels between do not look."""
    global _kept
    _kept = error


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


# Writing. A value that does not fit raises ValueError; `trail` knows where.
cdef int write_fixed(int op, PyObject* value, uint8_t* at) except -1:
    cdef int overflow = 0
    cdef int64_t number
    if op == BOOL:
        if not is_bool(value):
            raise ValueError(f"needs true or false, not {<object>value!r}")
        at[0] = value == True_
        return 0
    if op == UUID:
        return write_uuid(value, at)
    if op == FLOAT64:
        set_double(at, double_of(<object>value))
        return 0
    if not is_int(value) or is_bool(value):
        raise ValueError(f"needs an {NAMES[op]}, not {<object>value!r}")
    number = int_value(value, &overflow)
    if overflow or number < LOWEST[op] or number > HIGHEST[op]:
        raise ValueError(f"needs an {NAMES[op]} ({LOWEST[op]} to {HIGHEST[op]}), not {<object>value}")
    if op == INT8:
        at[0] = <uint8_t>number
    elif op == INT16 or op == UINT16:
        set16(at, <uint16_t>number)
    elif op == INT64:
        set64(at, <uint64_t>number)
    else:
        set32(at, <uint32_t>number)
    return 0


cdef double double_of(object value) except? -1:
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"needs a float64, not {value!r}")
    return float(value)


cdef int write_uuid(PyObject* value, uint8_t* at) except -1:
    cdef Py_ssize_t size = 0
    cdef const char* text = str_utf8(value, &size) if is_str(value) else NULL
    if text != NULL and size == 22 and uuid_parse(at, <const uint8_t*>text) == 0:
        return 0
    err_clear()
    uuid_bytes(<object>value)          # raises
    return 0


cdef int put_length(int op, int flags, int64_t length, Out* out) except -1:
    """The length in front of a string, bytes or records field, -1 for null; the room for it and the value is reserved."""
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
