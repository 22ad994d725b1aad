# Values of a fixed width: an op for each type, and its code for read, json and write.


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
    STRING           # from here on, NULLABLE and COMPACT add detail
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
    """Return whether a double is a NaN other than Java's own, whose bits its text would lose."""
    cdef double value = be_double(at)
    return value != value and be64(at) != 0x7FF8000000000000ULL


cdef inline PyObject* uuid_value(const uint8_t* at) noexcept:
    cdef PyObject* text = str_ascii(22, 127)
    if text != NULL:
        put_uuid(<char*>str_data(text), at)
    return text


cdef inline PyObject* read_fixed(int op, Cursor* cursor) noexcept:
    """Read a value of fixed width; the caller has checked the bounds."""
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


cdef int json_double(Cursor* cursor, Out* out) noexcept:
    cdef double value = be_double(cursor.at)
    cdef char* text
    if odd_double(cursor.at):
        return stop(cursor, ODD, cursor.at, 0, 0)
    cursor.at += 8
    if value != value:
        return no_memory(cursor) if out_put(out, b'"NaN"', 5) else 0
    if value - value != 0:
        return (
            no_memory(cursor)
            if out_put(out, b'"Infinity"' if value > 0 else b'"-Infinity"', 10 + (value < 0))
            else 0
        )
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
    """Write the JSON of a fixed field other than FLOAT64, at most 24 characters. Return NULL if it is not canonical."""
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


# Writing. A value that does not fit raises ValueError; the Trail has its path.

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
    try:
        return float(value)
    except OverflowError:
        raise ValueError("needs a float64, not a number beyond all of them") from None


cdef int write_uuid(PyObject* value, uint8_t* at) except -1:
    cdef Py_ssize_t size = 0
    cdef const char* text = str_utf8(value, &size) if is_str(value) else NULL
    if text != NULL and size == 22 and uuid_parse(at, <const uint8_t*>text) == 0:
        return 0
    err_clear()
    uuid_bytes(<object>value)          # raises
    return 0
