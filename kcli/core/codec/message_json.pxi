# A message as JSON text, directly from the bytes.


# A topic's id and name in one struct.
cdef struct TopicMet:
    const uint8_t* id             # NULL: none, or not needed
    size_t name_at, name_size     # the name's JSON in the text


cdef inline int json_message(Message message, Cursor* cursor, Out* out) noexcept:
    cdef Step* step = message.steps
    cdef Step* end = step + message.count
    cdef const uint8_t* at
    cdef char* p
    cdef size_t before
    cdef TopicMet topic = TopicMet(NULL, 0, 0)
    if out_reserve(out, message.room):
        return no_memory(cursor)
    p = out.data + out.size
    p[0] = b"{"
    p += 1
    while True:
        if step.run > cursor.end - cursor.at:
            return message.cut(step - message.steps, cursor)
        at = cursor.at
        if step.error_at and (step.error_at == SEVERAL or be16(at + step.error_at - 2)):
            note_error(cursor)
        while step.direct:                # the step after the last one is not
            p = put_fixed(step.op, at, put_key(step, p))
            if p == NULL:
                return stop(cursor, ODD, at, 0, 0)
            at += step.width
            step += 1
        cursor.at = at
        if step == end:
            break
        p = put_key(step, p)
        out.size = p - out.data
        if step.width and step.role != PLAIN:
            json_fixed_role(step, &topic, cursor, out)
        else:
            before = out.size
            if json_step(step, cursor, out):
                return within(cursor, <object>step.key)
            if step.role != PLAIN:
                note_name(step, &topic, before, cursor, out)
        if out_reserve(out, message.room):
            return no_memory(cursor)
        p = out.data + out.size
        step += 1
    out.size = p - out.data
    if topic.id != NULL and name_topic(&topic, cursor, out):
        return -1
    if message.flexible:
        if cursor.at < cursor.end and cursor.at[0] == 0:
            cursor.at += 1
        elif json_tags(message, cursor, out):
            return -1
    return no_memory(cursor) if out_put(out, b"}", 1) else 0


cdef inline char* put_key(Step* step, char* p) noexcept:
    memcpy(p, step.key_text, KEY_ROOM // 2)
    if step.key_size > KEY_ROOM // 2:
        memcpy(p + KEY_ROOM // 2, step.key_text + KEY_ROOM // 2, step.key_size - KEY_ROOM // 2)
    return p + step.key_size


cdef void note_error(Cursor* cursor) noexcept:
    if cursor.context != NULL:
        cursor.context.erred = True


cdef void json_fixed_role(Step* step, TopicMet* topic, Cursor* cursor, Out* out) noexcept:
    """Write the JSON of a fixed field whose room is reserved, and note its meaning for other fields by its role."""
    cdef JsonContext* context = cursor.context
    cdef const uint8_t* at = cursor.at
    out.size = put_fixed(step.op, at, out.data + out.size) - out.data
    cursor.at += step.width
    if context == NULL:
        return
    if step.role == TOPIC_ID:
        topic.id = at if context.names != NULL else NULL
        context.metadata = be64(at) == 0 and be64(at + 8) == 1
    elif step.role == RESOURCE_TYPE:
        context.resource = <int8_t>at[0]


cdef void note_name(Step* step, TopicMet* topic, size_t before, Cursor* cursor, Out* out) noexcept:
    """Note the name of a config or topic, whose JSON begins in `out` at `before`, for the fields that depend on it."""
    cdef JsonContext* context = cursor.context
    if context == NULL:
        return
    if step.role == CONFIG_NAME:
        context.name_at, context.name_size = before, out.size - before
    else:
        topic.name_at, topic.name_size = before, out.size - before
        if topic.name_size > 2:
            context.metadata = is_metadata_topic(out.data + before, topic.name_size)


cdef inline int json_step(Step* step, Cursor* cursor, Out* out) noexcept:
    if step.op == CHILD:
        return (<Node>step.node).json_c(cursor, out)
    if step.op == FLOAT64:
        return json_double(cursor, out)
    return json_sized(step.op, step.flags, cursor, out)


cdef int name_topic(TopicMet* topic, Cursor* cursor, Out* out) noexcept:
    """Learn the name beside an id, or write the known name of an id."""
    cdef NameTable* names = cursor.context.names
    cdef Name* name
    if topic.name_size > 2 and out.data[topic.name_at] == b'"':
        return no_memory(cursor) if name_learn(names, topic.id, out.data + topic.name_at, topic.name_size) else 0
    name = name_find(names, topic.id)
    if name == NULL:
        return no_memory(cursor) if name_miss(names, topic.id) else 0
    if out_put(out, b',"_topicName":', 14) or out_put(out, name.text, name.size):
        return no_memory(cursor)
    return 0


cdef int json_tags(Message message, Cursor* cursor, Out* out) noexcept:
    cdef uint32_t i, count, tag, size
    cdef int64_t before = -1
    cdef Step* step
    cdef Out unknown = Out(NULL, 0, 0)
    cdef int failed = 0
    if varint(cursor, &count):
        return within(cursor, "_tags")
    for i in range(count):
        failed = next_tag(cursor, &before, &tag, &size)
        if failed:
            break
        step = message.tag_step(tag)
        failed = (
            json_unknown(tag, size, cursor, &unknown, message.guarded)
            if step == NULL
            else json_tag(message, step, size, cursor, out)
        )
        if failed:
            break
    if not failed and unknown.size:
        if out.data[out.size - 1] != b"{" and out_put(out, b",", 1):
            failed = no_memory(cursor)
        elif (
            out_put(out, b'"_unknownTaggedFields":', 23)
            or out_put(out, unknown.data, unknown.size)
            or out_put(out, b"]", 1)
        ):
            failed = no_memory(cursor)
    if unknown.data != NULL:
        out_free(&unknown)
    return failed


cdef int json_tag(Message message, Step* step, uint32_t size, Cursor* cursor, Out* out) noexcept:
    cdef const uint8_t* end = cursor.end
    cdef const uint8_t* at = cursor.at
    cdef char* p
    cdef int comma = out.data[out.size - 1] == b"{"      # none after the opening brace
    cursor.end = at + size
    if step.is_error:
        note_error(cursor)
    if step.width > cursor.end - at:
        short_of(cursor, step.width)
        return within(cursor, <object>step.key)
    if out_reserve(out, step.key_size + KEY_ROOM + VALUE_ROOM):
        return no_memory(cursor)
    p = put_key(step, out.data + out.size - comma)
    if comma:
        out.data[out.size - 1] = b"{"
    out.size = p - out.data
    if step.op <= LAST_FIXED and step.op != FLOAT64:
        p = put_fixed(step.op, at, p)
        if p == NULL:
            return stop(cursor, ODD, at, 0, 0)
        out.size = p - out.data
        cursor.at += step.width
    elif json_step(step, cursor, out):
        return within(cursor, <object>step.key)
    return tag_ends(step, at, end, cursor)


cdef inline bint is_metadata_topic(const char* text, size_t size) noexcept:
    """Return whether the quoted name is that of the metadata log, whose records may hold secrets."""
    return size == 20 and memcmp(text, b'"__cluster_metadata"', 20) == 0


cdef int json_unknown(uint32_t tag, uint32_t size, Cursor* cursor, Out* unknown, bint guarded) noexcept:
    cdef char* p
    cdef int failed
    if out_reserve(unknown, 48):
        return no_memory(cursor)
    p = unknown.data + unknown.size
    p[0] = b"," if unknown.size else b"["
    memcpy(p + 1, b'{"tag":', 7)
    p = put_int(p + 8, tag)
    memcpy(p, b',"data":', 8)
    unknown.size = p + 8 - unknown.data
    if guarded and hides(cursor):
        failed = json_redacted(size, cursor, unknown)
    else:
        failed = out_base64(unknown, cursor.at, size)
    if failed or out_put(unknown, b"}", 1):
        return no_memory(cursor)
    cursor.at += size
    return 0
