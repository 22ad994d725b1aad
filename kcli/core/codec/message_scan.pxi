# Reads a message for counting exchanges: whether it has JSON, its error codes, topic names.


# A topic's id and name in one struct.
cdef struct TopicSeen:
    const uint8_t* id             # NULL: none, or not needed
    const uint8_t* name
    Py_ssize_t size               # of the name, -1: null or none


cdef int scan_message(Message message, Cursor* cursor, Out* out) noexcept:
    """Read a message as `json_message` does; see Node.scan_c."""
    cdef Step* step = message.steps
    cdef Step* end = step + message.count
    cdef TopicSeen topic = TopicSeen(NULL, NULL, -1)
    if not message.scanned:
        return message.json_c(cursor, out)      # not `json_message`, which the compiler inlines into its only caller
    while True:
        if step.run > cursor.end - cursor.at:
            return -1
        while step.width:                 # the step after the last one has none
            if step.told and scan_fixed(step, &topic, cursor, out):
                return -1
            cursor.at += step.width
            step += 1
        if step == end:
            break
        if step.role == TOPIC_NAME:
            if scan_name(step, &topic, cursor):
                return -1
        elif (<Node>step.node).scan_c(cursor, out) if step.op == CHILD else scan_sized(
            step.op, step.flags, cursor, out
        ):
            return -1
        step += 1
    if topic.id != NULL and meet_topic(&topic, cursor, out):
        return -1
    if not message.flexible:
        return 0
    if cursor.at < cursor.end and cursor.at[0] == 0:
        cursor.at += 1
        return 0
    return scan_tags(message, cursor, out)


cdef int scan_tags(Message message, Cursor* cursor, Out* out) noexcept:
    """Read the tagged fields as `json_tags` does, which the compiler inlines into its only caller."""
    cdef uint32_t i, count, tag, size
    cdef int64_t before = -1
    cdef Step* step
    if varint(cursor, &count):
        return -1
    for i in range(count):
        if next_tag(cursor, &before, &tag, &size):
            return -1
        step = message.tag_step(tag)
        if step == NULL:
            cursor.at += size
        elif scan_tag(step, size, cursor, out):
            return -1
    return 0


cdef int scan_tag(Step* step, uint32_t size, Cursor* cursor, Out* out) noexcept:
    cdef const uint8_t* end = cursor.end
    cdef const uint8_t* at = cursor.at
    cdef TopicSeen topic = TopicSeen(NULL, NULL, -1)
    cursor.end = at + size
    if step.width > cursor.end - at:
        return -1
    if step.width:
        if scan_fixed(step, &topic, cursor, out):
            return -1
        cursor.at += step.width
    elif (<Node>step.node).scan_c(cursor, out) if step.op == CHILD else scan_sized(step.op, step.flags, cursor, out):
        return -1
    return tag_ends(step, at, end, cursor)


cdef inline int scan_fixed(Step* step, TopicSeen* topic, Cursor* cursor, Out* out) noexcept:
    """Read a fixed field that is an error code or a topic's id, or that may have no JSON."""
    cdef int64_t code
    cdef char* p
    if step.role == TOPIC_ID:
        topic.id = cursor.at if cursor.context != NULL and cursor.context.names != NULL else NULL
        return 0
    if not step.is_error:
        return -is_odd(step.op, cursor.at)
    code = fixed_int(step.op, cursor.at)
    if code == 0:
        return 0
    if out_reserve(out, step.key_size + KEY_ROOM + VALUE_ROOM):
        return no_memory(cursor)
    p = put_int(put_key(step, out.data + out.size), code)
    p[0] = b"}"                           # after the number, as in JSON a character follows
    out.size = p + 1 - out.data
    return 0


cdef inline bint is_odd(int op, const uint8_t* at) noexcept:
    """Return whether a fixed field has no JSON."""
    return at[0] > 1 if op == BOOL else op == FLOAT64 and odd_double(at)


cdef inline int scan_sized(int op, int flags, Cursor* cursor, Out* out) noexcept:
    cdef size_t before = out.size
    cdef const uint8_t* at
    cdef Py_ssize_t length
    if op == RECORDS and cursor.context != NULL and cursor.context.records == RECORDS_HOOK:
        if json_sized(op, flags, cursor, out):
            return -1
        out.size = before
        return 0
    length = length_of(op, flags, cursor)
    if length > 0:
        at = cursor.at
        cursor.at += length
        if op == RECORDS and cursor.context != NULL and cursor.context.records == RECORDS_COUNT:
            count_records(cursor.context, at, length)
        return -(op == STRING and not is_utf8(at, length))
    return -(length == -2)


cdef int scan_name(Step* step, TopicSeen* topic, Cursor* cursor) noexcept:
    topic.size = length_of(step.op, step.flags, cursor)
    topic.name = cursor.at
    if topic.size > 0:
        cursor.at += topic.size
        return -(not is_utf8(topic.name, topic.size))
    return -(topic.size == -2)


cdef int meet_topic(TopicSeen* topic, Cursor* cursor, Out* out) noexcept:
    """Learn the name beside an id, or note that the id has none."""
    cdef NameTable* names = cursor.context.names
    cdef size_t before = out.size
    cdef int failed
    if topic.size > 0:
        failed = (
            out_string(out, topic.name, topic.size)
            or name_learn(names, topic.id, out.data + before, out.size - before)
        )
        out.size = before
    else:
        failed = name_find(names, topic.id) == NULL and name_miss(names, topic.id)
    return no_memory(cursor) if failed else 0
