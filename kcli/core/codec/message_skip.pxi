# The end of a message.


cdef int skip_message(Message message, Cursor* cursor) noexcept:
    cdef Step* step = message.steps
    cdef Step* end = step + message.count
    while step < end:
        if step.run:
            if step.run > cursor.end - cursor.at:
                return message.cut(step - message.steps, cursor)
            cursor.at += step.run
            step += step.run_fields
            continue
        if (<Node>step.node).skip_c(cursor) if step.op == CHILD else skip_sized(step.op, step.flags, cursor):
            return within(cursor, <object>step.key)
        step += 1
    if not message.flexible:
        return 0
    if cursor.at < cursor.end and cursor.at[0] == 0:
        cursor.at += 1
        return 0
    return skip_tags(message, cursor)


cdef int skip_tags(Message message, Cursor* cursor) noexcept:
    cdef uint32_t i, count, tag, size
    cdef int64_t before = -1
    if varint(cursor, &count):
        return within(cursor, "_tags")
    for i in range(count):
        if next_tag(cursor, &before, &tag, &size) or skip_tag(message, message.tag_step(tag), size, cursor):
            return -1
    return 0


cdef int skip_tag(Message message, Step* step, uint32_t size, Cursor* cursor) noexcept:
    cdef const uint8_t* end = cursor.end
    cdef const uint8_t* at = cursor.at
    if step == NULL:
        cursor.at += size
        return 0
    cursor.end = at + size
    if step.width:
        if step.width > cursor.end - at:
            short_of(cursor, step.width)
            return within(cursor, <object>step.key)
        cursor.at += step.width
    elif (<Node>step.node).skip_c(cursor) if step.op == CHILD else skip_sized(step.op, step.flags, cursor):
        return within(cursor, <object>step.key)
    return tag_ends(step, at, end, cursor)
