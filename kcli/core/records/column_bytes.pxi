# The bytes at the places in columns, as buffers of Arrow arrays.


def gather(data, extra, places, sizes):
    """Gather the bytes at `places` (int64, -1: null; from len(data) on they are in `extra`) one after another.

    Returns (int32 offsets, values, validity bitmap, nulls): the buffers of an Arrow binary array. Raises OverflowError
    for 2 GiB of values or more.
    """
    cdef Py_buffer d, e, at, n
    cdef int64_t total = 0, where
    cdef Py_ssize_t i, count, nulls = 0
    cdef const int64_t* place
    cdef const int32_t* size
    cdef int32_t* offset
    cdef uint8_t* value
    cdef uint8_t* valid
    PyObject_GetBuffer(data, &d, PyBUF_SIMPLE)
    PyObject_GetBuffer(extra, &e, PyBUF_SIMPLE)
    PyObject_GetBuffer(places, &at, PyBUF_SIMPLE)
    PyObject_GetBuffer(sizes, &n, PyBUF_SIMPLE)
    try:
        count = n.len // 4
        place, size = <const int64_t*> at.buf, <const int32_t*> n.buf
        for i in range(count):
            total += size[i]
        if total > 0x7fffffff:
            raise OverflowError("2 GiB of values or more in one piece")
        offsets = PyBytes_FromStringAndSize(NULL, (count + 1) * 4)
        values = PyBytes_FromStringAndSize(NULL, total)
        validity = PyBytes_FromStringAndSize(NULL, (count + 7) // 8)
        memset(PyBytes_AS_STRING(validity), 0, (count + 7) // 8)
        offset = <int32_t*> PyBytes_AS_STRING(offsets)
        value, valid = <uint8_t*> PyBytes_AS_STRING(values), <uint8_t*> PyBytes_AS_STRING(validity)
        total = 0
        with nogil:
            for i in range(count):
                offset[i] = <int32_t> total
                where = place[i]
                if where < 0:
                    nulls += 1
                    continue
                valid[i >> 3] |= 1 << (i & 7)
                if where < d.len:
                    memcpy(value + total, <const uint8_t*> d.buf + where, size[i])
                else:
                    memcpy(value + total, <const uint8_t*> e.buf + (where - d.len), size[i])
                total += size[i]
            offset[count] = <int32_t> total
        return offsets, values, validity, nulls
    finally:
        PyBuffer_Release(&d)
        PyBuffer_Release(&e)
        PyBuffer_Release(&at)
        PyBuffer_Release(&n)


def header_places(data, extra, headers_at, header_count):
    """Find the headers; return (int32 list offsets, key places int64, key sizes int32, value places int64, value sizes
    int32), for `gather`.
    """
    cdef Py_buffer d, e, at, n
    cdef Py_ssize_t i, count
    cdef int64_t total = 0, row = 0, where, length = 0, shift
    cdef int odd = 0, code = 0
    cdef const int64_t* place
    cdef const int32_t* number
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef const uint8_t* base
    PyObject_GetBuffer(data, &d, PyBUF_SIMPLE)
    PyObject_GetBuffer(extra, &e, PyBUF_SIMPLE)
    PyObject_GetBuffer(headers_at, &at, PyBUF_SIMPLE)
    PyObject_GetBuffer(header_count, &n, PyBUF_SIMPLE)
    try:
        count = n.len // 4
        place, number = <const int64_t*> at.buf, <const int32_t*> n.buf
        for i in range(count):
            total += number[i]
        made = [
            PyBytes_FromStringAndSize(NULL, size)
            for size in ((count + 1) * 4, total * 8, total * 4, total * 8, total * 4)
        ]
        lists, keys_at, key_sizes, values_at, value_sizes = made
        for i in range(count):
            (<int32_t*> PyBytes_AS_STRING(lists))[i] = <int32_t> row
            where = place[i]
            base = <const uint8_t*> d.buf if where < d.len else <const uint8_t*> e.buf
            shift = 0 if where < d.len else d.len
            p = base + (where - shift)
            end = base + (d.len if where < d.len else e.len)
            for _ in range(number[i]):
                p = read_varlong(p, end, 5, &length, &odd, &code)
                (<int64_t*> PyBytes_AS_STRING(keys_at))[row] = p - base + shift
                (<int32_t*> PyBytes_AS_STRING(key_sizes))[row] = <int32_t> length
                p = read_varlong(p + length, end, 5, &length, &odd, &code)
                (<int64_t*> PyBytes_AS_STRING(values_at))[row] = -1 if length < 0 else p - base + shift
                (<int32_t*> PyBytes_AS_STRING(value_sizes))[row] = 0 if length < 0 else <int32_t> length
                p += length if length > 0 else 0
                row += 1
        (<int32_t*> PyBytes_AS_STRING(lists))[count] = <int32_t> row
        return tuple(made)
    finally:
        PyBuffer_Release(&d)
        PyBuffer_Release(&e)
        PyBuffer_Release(&at)
        PyBuffer_Release(&n)
