# A message's bytes from Python values.


cdef int write_message(Message message, PyObject* value, Out* out, Trail* trail) except -1:
    cdef int i, level
    cdef Py_ssize_t place = 0
    cdef Py_ssize_t used = 0
    cdef bint in_order = True      # as from `read`: then the next key is the next field's, and needs no lookup
    cdef PyObject* key = NULL
    cdef PyObject* item = NULL
    cdef Step* step
    if not is_dict(value):
        raise ValueError(f"needs an object with fields, not {<object>value!r}")
    trail.depth += 1
    level = trail.depth
    for i in range(message.count):
        step = &message.steps[i]
        trail.name[level] = step.key
        if step.run and out_reserve(out, step.run):
            raise MemoryError
        in_order = in_order and dict_next(value, &place, &key, &item) and key == step.key
        if not in_order:
            item = dict_get(value, step.key)
        if item == NULL:
            if out_put(out, <char*><bytes>step.default, len(<bytes>step.default)):
                raise MemoryError
            continue
        used += 1
        if step.width:
            write_fixed(step.op, item, <uint8_t*>out.data + out.size)
            out.size += step.width
        else:
            write_step(step, item, out, trail)
    if message.flexible:
        if used == dict_size(value):
            if out_put(out, b"\0", 1):
                raise MemoryError
        else:
            used += write_tags(message, <dict>value, out, trail)
    if used != dict_size(value):
        check_names(message, <dict>value, trail)
    trail.depth -= 1
    return 0


cdef inline int write_step(Step* step, PyObject* item, Out* out, Trail* trail) except -1:
    if step.op == CHILD:
        return (<Node>step.node).write_c(item, out, trail)
    if step.op > LAST_FIXED:
        return write_sized(step.op, step.flags, item, out)
    if out_reserve(out, 16):
        raise MemoryError
    write_fixed(step.op, item, <uint8_t*>out.data + out.size)
    out.size += step.width
    return 0


cdef int write_tags(Message message, dict value, Out* out, Trail* trail) except -1:
    """Write known and unknown tagged fields, merged in the order of their tags; return the number of their keys."""
    cdef int i
    cdef list sent = []
    for i in range(message.tag_count):
        if <object>message.tags[i].key in value:
            sent.append((message.tags[i].tag, i, None))
    keys = len(sent)
    trail.name[trail.depth] = <PyObject*>"_unknownTaggedFields"
    if "_unknownTaggedFields" in value:
        keys += 1
        sent += [(tag, -1, data) for tag, data in unknown_tags(value["_unknownTaggedFields"])]
        sent.sort()
        if len({tag for tag, _, _ in sent}) != len(sent):
            raise ValueError("a tag is there twice")
    put_varint(len(sent), out)
    for tag, index, data in sent:
        put_varint(tag, out)
        if index < 0:
            put_varint(len(data), out)
            if out_put(out, <char*><bytes>data, len(data)):
                raise MemoryError
        else:
            trail.name[trail.depth] = message.tags[<int>index].key
            write_tag(&message.tags[<int>index], value, out, trail)
    return keys


cdef int write_tag(Step* step, dict value, Out* out, Trail* trail) except -1:
    """Write a tagged field's value, then insert its size in front of it."""
    cdef size_t before = out.size
    cdef size_t size
    cdef uint8_t[5] prefix
    cdef size_t width
    write_step(step, dict_get(<PyObject*>value, step.key), out, trail)
    size = out.size - before
    width = set_uvarint(prefix, <uint32_t>size) - prefix
    if out_reserve(out, width):
        raise MemoryError
    memmove(out.data + before + width, out.data + before, size)
    memcpy(out.data + before, prefix, width)
    out.size += width
    return 0


cdef int check_names(Message message, dict value, Trail* trail) except -1:
    known = {name for name, _, _ in message.fields} | {name for name, _, _ in message.tagged}
    for name in value:
        if name not in known and not (isinstance(name, str) and name.startswith("_")):
            trail.depth -= 1
            raise UnknownFieldError(trail_text(trail), name, known)
    return 0


cdef int put_varint(object value, Out* out) except -1:
    if out_reserve(out, 5):
        raise MemoryError
    out.size = <char*>set_uvarint(<uint8_t*>out.data + out.size, <uint32_t>value) - out.data
    return 0


cdef object unknown_tags(object fields):
    if not isinstance(fields, list):
        raise ValueError(f"needs a list of tags, not {fields!r}")
    tags = []
    for field in fields:
        if not isinstance(field, dict) or not isinstance(field.get("tag"), int) or not 0 <= field["tag"] < 2**32:
            raise ValueError(f"needs {{\"tag\": number, \"data\": base64}}, not {field!r}")
        tags.append((field["tag"], bytes(bytes_of(field.get("data")))))
    return tags
