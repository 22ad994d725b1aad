# A message as Python values.


cdef inline PyObject* kept_int(Step* step, const uint8_t* at) noexcept:
    cdef int64_t number = fixed_int(step.op, at)
    cdef PyObject* value = step.kept
    if value != NULL and number == step.kept_int:
        incref(value)
        return value
    value = int_new(number)
    if value != NULL:
        incref(value)
        xdecref(step.kept)
        step.kept = value
        step.kept_int = number
    return value


cdef inline PyObject* kept_string(Step* step, Cursor* cursor) noexcept:
    cdef Py_ssize_t length = length_of(STRING, step.flags, cursor)
    cdef const uint8_t* at = cursor.at
    cdef PyObject* value = step.kept
    if length < 0:
        if length == -2:
            return NULL
        incref(None_)
        return None_
    cursor.at += length
    if value != NULL and length == step.kept_size and memcmp(step.kept_text, at, length) == 0:
        incref(value)
        return value
    value = str_decode(<const char*>at, length, NULL)
    if value == NULL:
        err_clear()
        stop(cursor, ODD, at, 0, 0)
        return NULL
    if length <= KEPT_STRING:
        incref(value)
        xdecref(step.kept)
        step.kept = value
        step.kept_text = str_utf8(value, &step.kept_size)
    return value


cdef PyObject* read_message(Message message, Cursor* cursor) noexcept:
    cdef int i
    cdef Step* step
    cdef PyObject* value
    cdef PyObject* made = dict_copy(<PyObject*>message.template)
    if made == NULL:
        raised(cursor)
        return NULL
    for i in range(message.count):
        step = &message.steps[i]
        if step.run > cursor.end - cursor.at:
            message.cut(i, cursor)
            break
        value = read_step(step, cursor)
        if value == NULL:
            within(cursor, <object>step.key)
            break
        if dict_set(made, step.key, value):
            decref(value)
            raised(cursor)
            break
        decref(value)
    else:
        if not message.flexible or read_tags(message, made, cursor) == 0:
            return made
    decref(made)
    return NULL


cdef inline PyObject* read_step(Step* step, Cursor* cursor) noexcept:
    cdef const uint8_t* at = cursor.at
    if step.op <= LAST_FIXED:
        if step.op >= INT8 and step.op <= UINT32:
            cursor.at += step.width
            return kept_int(step, at)
        return read_fixed(step.op, cursor)
    if step.op == CHILD:
        return (<Node>step.node).read_c(cursor)
    if step.op == STRING:
        return kept_string(step, cursor)
    return read_sized(step.op, step.flags, cursor)


cdef int read_tags(Message message, PyObject* made, Cursor* cursor) noexcept:
    cdef uint32_t i, count, tag, size
    cdef int64_t before = -1
    cdef Step* step
    if varint(cursor, &count):
        return within(cursor, "_tags")
    for i in range(count):
        if next_tag(cursor, &before, &tag, &size):
            return -1
        step = message.tag_step(tag)
        if (read_unknown(made, tag, size, cursor) if step == NULL else read_tag(message, made, step, size, cursor)):
            return -1
    return 0


cdef int read_tag(Message message, PyObject* made, Step* step, uint32_t size, Cursor* cursor) noexcept:
    cdef const uint8_t* end = cursor.end
    cdef const uint8_t* at = cursor.at
    cdef PyObject* value
    cdef int failed
    cursor.end = at + size
    if step.width > cursor.end - at:
        short_of(cursor, step.width)
        return within(cursor, <object>step.key)
    value = read_step(step, cursor)
    if value == NULL:
        return within(cursor, <object>step.key)
    failed = dict_set(made, step.key, value)
    decref(value)
    if failed:
        return raised(cursor)
    return tag_ends(step, at, end, cursor)


cdef int read_unknown(PyObject* made, uint32_t tag, uint32_t size, Cursor* cursor) noexcept:
    try:
        value = <dict>made
        value.setdefault("_unknownTaggedFields", []).append({"tag": tag, "data": (<char*>cursor.at)[:size]})
    except BaseException as error:
        keep_error(error)
        return raised(cursor)
    cursor.at += size
    return 0
