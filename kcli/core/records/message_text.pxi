# The JSON text of messages of magic 0 and 1.


cdef int message_row(BatchText writer, Batch* b, int64_t position, bint full, bint valid) noexcept nogil:
    """Write a message of magic 0 or 1, with the messages that it wraps."""
    cdef Problem problem
    if b.attributes & KB_CODEC:
        return wrapper_row(writer, b, position, full, valid)
    if b.broken:
        problem.code, problem.record, problem.at, problem.says, problem.here = b.broken, 0, 0, b.size, b.size
        problem.says = b.key_size if b.key is NULL and b.broken == KR_KEY else b.value_size
        writer.note_problem(&problem, position, position, False)
    cdef int code = put_header(&writer.out, b, position if writer.positions else -1, valid, True)
    if code or not full:
        return code
    code = out_put(&writer.out, <const char*> b',"records":[', 12)
    writer.in_control = False
    if code == KC_OK and not b.broken:
        writer.records += 1
        writer.cover(b.start, b.size)
        code = put_message(
            &writer.out, b, b.base_offset, b.max_timestamp, writer.on_record, <void*> writer, writer.guarded
        )
    if code == KC_OK:
        code = out_put(&writer.out, <const char*> b"]", 1)
    return code or put_entry(writer, b)


cdef int wrapper_row(BatchText writer, Batch* b, int64_t position, bint full, bint valid) noexcept with gil:
    cdef Problem problem
    cdef MessageSet messages
    cdef Py_buffer view
    cdef int code
    payload = open_wrapper(writer, b, position)
    if writer.raised is not None:
        return RAISED
    if payload is None:
        code = put_header(&writer.out, b, position if writer.positions else -1, valid, False)
        if code == KC_OK and full:
            code = out_put(&writer.out, <const char*> b',"records":[]', 13)
        return code if code or not full else put_entry(writer, b)
    PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
    code = open_set(b, <const uint8_t*> view.buf, view.len, &messages, &problem)
    if code:
        writer.note_problem(&problem, position, position, True)
    with nogil:
        writer.cover(<const uint8_t*> view.buf, view.len)
        code = put_header(&writer.out, b, position if writer.positions else -1, valid, code == KR_OK)
        if code == KC_OK and full:
            code = put_inner(writer, b, messages)
    PyBuffer_Release(&view)
    return code if code or not full else put_entry(writer, b)


cdef int put_inner(BatchText writer, Batch* b, MessageSet messages) noexcept nogil:
    cdef int code = out_put(&writer.out, <const char*> b',"records":[', 12)
    writer.in_control = False
    if code == KC_OK and not writer.failed:
        writer.records += b.count
        code = put_messages(&writer.out, b, messages, writer.on_record, <void*> writer, writer.guarded)
    return code or out_put(&writer.out, <const char*> b"]", 1)


cdef int put_entry(BatchText writer, Batch* b) noexcept nogil:
    """Write the bytes of a message that an encoder would not make again: its compressed value, or all of an unusual
    message.
    """
    cdef bint wrapper = (b.attributes & KB_CODEC) != 0
    if not writer.payloads:
        return KC_OK
    if b.broken or b.key_size < -1 or b.value_size < -1 or (wrapper and (b.key is not NULL or b.payload is NULL)):
        return put_payload(&writer.out, b',"_entry":', b.start, b.size, writer.hides(b.start, b.size))
    cdef int64_t used = KB_MESSAGE_1 if b.magic == 1 else KB_MESSAGE_0
    used += (b.key_size if b.key_size > 0 else 0) + (b.value_size if b.value_size > 0 else 0)
    if used != b.size:
        return put_payload(&writer.out, b',"_entry":', b.start, b.size, writer.hides(b.start, b.size))
    if not wrapper:
        return KC_OK
    return put_payload(&writer.out, b',"_payload":', b.payload, b.payload_size, writer.hides(b.payload, b.payload_size))


cdef object open_wrapper(BatchText writer, Batch* b, int64_t position):
    cdef Problem problem
    problem.code, problem.record, problem.at = KR_OK, 0, 0
    problem.says, problem.here = b.attributes & KB_CODEC, b.size
    if b.broken:
        problem.code = b.broken
        problem.says = b.value_size
    elif b.attributes & KB_CODEC > 3:
        problem.code = KR_LEGACY_CODEC
    elif b.payload is NULL:
        problem.code = KR_LEGACY_NULL
    if problem.code:
        writer.note_problem(&problem, position, position, False)
        return None
    return writer.expand(b, position)
