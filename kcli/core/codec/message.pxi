# Messages and structs: a list of steps, with one bounds check for each run of fixed fields.


cdef enum Role:
    PLAIN = 0
    TOPIC_ID = 1
    TOPIC_NAME = 2
    CONFIG_NAME = 3
    RESOURCE_TYPE = 4

cdef enum:
    KEY_ROOM = 64         # keys are copied as whole blocks of 32 or 64 bytes: padded, never measured
    VALUE_ROOM = 24       # the longest fixed value: a uuid in quotes
    KEPT_STRING = 64      # strings up to this length are kept, and found again without a new object

cdef struct Step:
    int op
    int flags
    int width             # bytes of a fixed field
    int run               # bytes of the fixed fields from here to the next that is not; 0 inside a run
    int tag
    int role
    bint direct           # JSON is put_fixed's and nothing else: a fixed field that tells nothing about others
    int key_size
    char* key_text        # `,"name":`, padded
    PyObject* key
    PyObject* node        # CHILD: the Node
    PyObject* default     # bytes: the encoding of the default
    PyObject* kept        # the last value read, and what tells that it comes again
    int64_t kept_int
    const char* kept_text
    Py_ssize_t kept_size


# A topic's id and name, as they were met in one struct.
cdef struct TopicMet:
    const uint8_t* id             # NULL: none, or nobody asks
    size_t name_at, name_size     # the name's JSON in the text


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


cdef class Message(Node):
    """Named fields in order, then tagged ones where the version is flexible.

    fields: (name, node, default value); tagged: (name, tag, node). A tagged field is in the value only when it was sent;
    tags without a name stand in "_unknownTaggedFields".
    """

    cdef readonly list fields
    cdef readonly list tagged
    cdef readonly bint flexible
    cdef Step* steps
    cdef Step* tags
    cdef int count
    cdef int tag_count
    cdef size_t room
    cdef dict template

    def __init__(self, list fields not None, list tagged not None, bint flexible, bint guarded=False):
        self.guarded = guarded
        self.fields, self.tagged, self.flexible = fields, sorted(tagged, key=lambda field: field[1]), flexible
        self.count, self.tag_count = len(fields), len(tagged)
        self.steps = <Step*>calloc(self.count + 1, sizeof(Step))
        self.tags = <Step*>calloc(self.tag_count + 1, sizeof(Step))
        if self.steps == NULL or self.tags == NULL:
            raise MemoryError
        self.template = {}
        for i, (name, node, default) in enumerate(fields):
            self.prepare(&self.steps[i], name, node, i > 0)
            encoded = node.write(default)
            Py_INCREF(encoded)
            self.steps[i].default = <PyObject*>encoded
            self.template[name] = None
        for i, (name, tag, node) in enumerate(self.tagged):
            self.prepare(&self.tags[i], name, node, True)
            self.tags[i].tag = tag
        self.assign_roles()
        self.measure()

    def __dealloc__(self):
        for i in range(self.count):
            release(&self.steps[i])
        for i in range(self.tag_count):
            release(&self.tags[i])
        free(self.steps)
        free(self.tags)

    cdef int prepare(self, Step* step, str name, Node node, bint comma) except -1:
        cdef bytes text = ((',"%s":' if comma else '"%s":') % name).encode()
        step.key_size = len(text)
        step.key_text = <char*>calloc(1, (step.key_size // KEY_ROOM + 1) * KEY_ROOM)
        if step.key_text == NULL:
            raise MemoryError
        memcpy(step.key_text, <const char*>text, step.key_size)
        Py_INCREF(name)
        step.key = <PyObject*>name
        if isinstance(node, Scalar) and not isinstance(node, Secret):
            step.op, step.flags = (<Scalar>node).op, (<Scalar>node).flags
            step.width = WIDTHS[step.op] if step.op <= LAST_FIXED else 0
        else:
            step.op = CHILD
            Py_INCREF(node)
            step.node = <PyObject*>node
        return 0

    cdef int measure(self) except -1:
        """The least bytes of a value, the runs of fixed fields, those whose JSON is direct, and the room it takes at most."""
        cdef int i, run = 0
        self.least = 1 if self.flexible else 0
        self.room = 4 * KEY_ROOM
        for i in range(self.count - 1, -1, -1):
            step = &self.steps[i]
            self.least += self.fields[i][1].least
            self.room += step.key_size + VALUE_ROOM
            run = run + step.width if step.width else 0
            step.run = run
            step.direct = step.width and step.op != FLOAT64 and step.role == PLAIN
        self.fixed = self.least - self.flexible if self.count and all([self.steps[i].width for i in range(self.count)]) else 0
        for i in range(self.count - 1, 0, -1):
            if self.steps[i - 1].run:
                self.steps[i].run = 0
        return 0

    cdef int assign_roles(self) except -1:
        """A topic's id and name in one struct teach the name; an id alone is shown with it (see Names). A config's name and
        its resource's type tell whether its value is a secret.
        """
        judged = any(isinstance(node, Secret) and (<Secret>node).judge is not None for _, node, _ in self.fields)
        for i, (name, node, _) in enumerate(self.fields):
            if name == "topicId" and self.steps[i].op == UUID:
                self.steps[i].role = TOPIC_ID
            elif judged and name == "name" and self.steps[i].op == STRING:
                self.steps[i].role = CONFIG_NAME
            elif self.guarded and name == "resourceType" and self.steps[i].op == INT8:
                self.steps[i].role = RESOURCE_TYPE
            elif name in ("name", "topicName", "topic") and self.steps[i].op == STRING:
                self.steps[i].role = TOPIC_NAME
        return 0

    cdef int cut(self, int first, Cursor* cursor) noexcept:
        """The field of a fixed run at which the bytes end; always -1."""
        cdef int i = first
        while cursor.end - cursor.at >= self.steps[i].width:
            cursor.at += self.steps[i].width
            i += 1
        short_of(cursor, self.steps[i].width)
        return within(cursor, <object>self.steps[i].key)

    # read

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        cdef int i
        cdef Step* step
        cdef PyObject* value
        cdef PyObject* made = dict_copy(<PyObject*>self.template)
        if made == NULL:
            raised(cursor)
            return NULL
        for i in range(self.count):
            step = &self.steps[i]
            if step.run > cursor.end - cursor.at:
                self.cut(i, cursor)
                break
            value = self.read_step(step, cursor)
            if value == NULL:
                within(cursor, <object>step.key)
                break
            if dict_set(made, step.key, value):
                decref(value)
                raised(cursor)
                break
            decref(value)
        else:
            if not self.flexible or self.read_tags(made, cursor) == 0:
                return made
        decref(made)
        return NULL

    cdef inline PyObject* read_step(self, Step* step, Cursor* cursor) noexcept:
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

    cdef int read_tags(self, PyObject* made, Cursor* cursor) noexcept:
        cdef uint32_t i, count, tag, size
        cdef int64_t before = -1
        cdef Step* step
        if varint(cursor, &count):
            return within(cursor, "_tags")
        for i in range(count):
            if next_tag(cursor, &before, &tag, &size):
                return -1
            step = self.tag_step(tag)
            if (self.read_unknown(made, tag, size, cursor) if step == NULL else self.read_tag(made, step, size, cursor)):
                return -1
        return 0

    cdef Step* tag_step(self, uint32_t tag) noexcept:
        cdef int i
        for i in range(self.tag_count):
            if <uint32_t>self.tags[i].tag == tag:
                return &self.tags[i]
        return NULL

    cdef int read_tag(self, PyObject* made, Step* step, uint32_t size, Cursor* cursor) noexcept:
        cdef const uint8_t* end = cursor.end
        cdef const uint8_t* at = cursor.at
        cdef PyObject* value
        cdef int failed
        cursor.end = at + size
        if step.width > cursor.end - at:
            short_of(cursor, step.width)
            return within(cursor, <object>step.key)
        value = self.read_step(step, cursor)
        if value == NULL:
            return within(cursor, <object>step.key)
        failed = dict_set(made, step.key, value)
        decref(value)
        if failed:
            return raised(cursor)
        return self.tag_ends(step, at, end, cursor)

    cdef int tag_ends(self, Step* step, const uint8_t* at, const uint8_t* end, Cursor* cursor) noexcept:
        if cursor.at != cursor.end:
            stop(cursor, TAG_SIZE, at, cursor.end - at, cursor.at - at)
            return within(cursor, <object>step.key)
        cursor.end = end
        return 0

    cdef int read_unknown(self, PyObject* made, uint32_t tag, uint32_t size, Cursor* cursor) noexcept:
        try:
            value = <dict>made
            value.setdefault("_unknownTaggedFields", []).append({"tag": tag, "data": (<char*>cursor.at)[:size]})
        except BaseException as error:
            keep_error(error)
            return raised(cursor)
        cursor.at += size
        return 0

    # json

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef int i
        cdef Step* step
        cdef char* p
        cdef size_t before
        cdef TopicMet topic = TopicMet(NULL, 0, 0)
        if out_reserve(out, self.room):
            return no_memory(cursor)
        p = out.data + out.size
        p[0] = b"{"
        p += 1
        for i in range(self.count):
            step = &self.steps[i]
            if step.run > cursor.end - cursor.at:
                return self.cut(i, cursor)
            memcpy(p, step.key_text, 32)
            if step.key_size > 32:
                memcpy(p + 32, step.key_text + 32, step.key_size - 32)
            p += step.key_size
            if step.direct:
                p = put_fixed(step.op, cursor.at, p)
                if p == NULL:
                    return stop(cursor, ODD, cursor.at, 0, 0)
                cursor.at += step.width
                continue
            out.size = p - out.data
            if step.width and step.role != PLAIN:
                self.json_fixed_role(step, &topic, cursor, out)
            else:
                before = out.size
                if self.json_step(step, cursor, out):
                    return within(cursor, <object>step.key)
                if step.role != PLAIN:
                    self.note_name(step, &topic, before, cursor, out)
            if out_reserve(out, self.room):
                return no_memory(cursor)
            p = out.data + out.size
        out.size = p - out.data
        if topic.id != NULL and self.name_topic(&topic, cursor, out):
            return -1
        if self.flexible:
            if cursor.at < cursor.end and cursor.at[0] == 0:
                cursor.at += 1
            elif self.json_tags(cursor, out):
                return -1
        return no_memory(cursor) if out_put(out, b"}", 1) else 0

    cdef void json_fixed_role(self, Step* step, TopicMet* topic, Cursor* cursor, Out* out) noexcept:
        """A field of a fixed width that says something about others: its JSON, for which there is room, and what it says."""
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

    cdef void note_name(self, Step* step, TopicMet* topic, size_t before, Cursor* cursor, Out* out) noexcept:
        """What a name says about other fields; its JSON stands in `out` from `before` on."""
        cdef JsonContext* context = cursor.context
        if context == NULL:
            return
        if step.role == CONFIG_NAME:
            context.name_at, context.name_size = before, out.size - before
        else:
            topic.name_at, topic.name_size = before, out.size - before
            if topic.name_size > 2:
                context.metadata = is_metadata_topic(out.data + before, topic.name_size)

    cdef inline int json_step(self, Step* step, Cursor* cursor, Out* out) noexcept:
        if step.op == CHILD:
            return (<Node>step.node).json_c(cursor, out)
        if step.op == FLOAT64:
            return json_double(cursor, out)
        return json_sized(step.op, step.flags, cursor, out)

    cdef int name_topic(self, TopicMet* topic, Cursor* cursor, Out* out) noexcept:
        """Learn the name that stands beside an id, or show the one known for it."""
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

    cdef int json_tags(self, Cursor* cursor, Out* out) noexcept:
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
            step = self.tag_step(tag)
            failed = json_unknown(tag, size, cursor, &unknown, self.guarded) if step == NULL else self.json_tag(step, size, cursor, out)
            if failed:
                break
        if not failed and unknown.size:
            if out.data[out.size - 1] != b"{" and out_put(out, b",", 1):
                failed = no_memory(cursor)
            elif out_put(out, b'"_unknownTaggedFields":', 23) or out_put(out, unknown.data, unknown.size) or out_put(out, b"]", 1):
                failed = no_memory(cursor)
        out_free(&unknown)
        return failed

    cdef int json_tag(self, Step* step, uint32_t size, Cursor* cursor, Out* out) noexcept:
        cdef const uint8_t* end = cursor.end
        cdef const uint8_t* at = cursor.at
        cdef char* p
        cdef int comma = out.data[out.size - 1] == b"{"      # none behind the opening brace
        cursor.end = at + size
        if step.width > cursor.end - at:
            short_of(cursor, step.width)
            return within(cursor, <object>step.key)
        if out_put(out, step.key_text + comma, step.key_size - comma) or out_reserve(out, VALUE_ROOM):
            return no_memory(cursor)
        if step.op <= LAST_FIXED and step.op != FLOAT64:
            p = put_fixed(step.op, at, out.data + out.size)
            if p == NULL:
                return stop(cursor, ODD, at, 0, 0)
            out.size = p - out.data
            cursor.at += step.width
        elif self.json_step(step, cursor, out):
            return within(cursor, <object>step.key)
        return self.tag_ends(step, at, end, cursor)

    # skip

    cdef int skip_c(self, Cursor* cursor) noexcept:
        cdef int i = 0
        cdef Step* step
        while i < self.count:
            step = &self.steps[i]
            if step.run:
                if step.run > cursor.end - cursor.at:
                    return self.cut(i, cursor)
                cursor.at += step.run
                i += 1
                while i < self.count and self.steps[i].width:
                    i += 1
                continue
            if (<Node>step.node).skip_c(cursor) if step.op == CHILD else skip_sized(step.op, step.flags, cursor):
                return within(cursor, <object>step.key)
            i += 1
        if not self.flexible:
            return 0
        if cursor.at < cursor.end and cursor.at[0] == 0:
            cursor.at += 1
            return 0
        return self.skip_tags(cursor)

    cdef int skip_tags(self, Cursor* cursor) noexcept:
        cdef uint32_t i, count, tag, size
        cdef int64_t before = -1
        if varint(cursor, &count):
            return within(cursor, "_tags")
        for i in range(count):
            if next_tag(cursor, &before, &tag, &size) or self.skip_tag(self.tag_step(tag), size, cursor):
                return -1
        return 0

    cdef int skip_tag(self, Step* step, uint32_t size, Cursor* cursor) noexcept:
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
        return self.tag_ends(step, at, end, cursor)

    # write

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        cdef int i, level
        cdef Py_ssize_t place = 0
        cdef Py_ssize_t used = 0
        cdef bint in_order = True      # as `read` makes them: then the next key is the next field's, and none is looked up
        cdef PyObject* key = NULL
        cdef PyObject* item = NULL
        cdef Step* step
        if not is_dict(value):
            raise ValueError(f"needs an object with fields, not {<object>value!r}")
        trail.depth += 1
        level = trail.depth
        for i in range(self.count):
            step = &self.steps[i]
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
                self.write_step(step, item, out, trail)
        if self.flexible:
            if used == dict_size(value):
                if out_put(out, b"\0", 1):
                    raise MemoryError
            else:
                used += self.write_tags(<dict>value, out, trail)
        if used != dict_size(value):
            self.check_names(<dict>value, trail)
        trail.depth -= 1
        return 0

    cdef inline int write_step(self, Step* step, PyObject* item, Out* out, Trail* trail) except -1:
        if step.op == CHILD:
            return (<Node>step.node).write_c(item, out, trail)
        if step.op > LAST_FIXED:
            return write_sized(step.op, step.flags, item, out)
        if out_reserve(out, 16):
            raise MemoryError
        write_fixed(step.op, item, <uint8_t*>out.data + out.size)
        out.size += step.width
        return 0

    cdef int write_tags(self, dict value, Out* out, Trail* trail) except -1:
        """Known tags and unknown ones, merged in the order of their numbers; returns how many keys they were."""
        cdef int i
        cdef list sent = []
        for i in range(self.tag_count):
            if <object>self.tags[i].key in value:
                sent.append((self.tags[i].tag, i, None))
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
                trail.name[trail.depth] = self.tags[<int>index].key
                self.write_tag(&self.tags[<int>index], value, out, trail)
        return keys

    cdef int write_tag(self, Step* step, dict value, Out* out, Trail* trail) except -1:
        """The value is written first; its size then goes in front of it."""
        cdef size_t before = out.size
        cdef size_t size
        cdef uint8_t[5] prefix
        cdef size_t width
        self.write_step(step, dict_get(<PyObject*>value, step.key), out, trail)
        size = out.size - before
        width = set_uvarint(prefix, <uint32_t>size) - prefix
        if out_reserve(out, width):
            raise MemoryError
        memmove(out.data + before + width, out.data + before, size)
        memcpy(out.data + before, prefix, width)
        out.size += width
        return 0

    cdef int check_names(self, dict value, Trail* trail) except -1:
        known = {name for name, _, _ in self.fields} | {name for name, _, _ in self.tagged}
        for name in value:
            if name not in known and not (isinstance(name, str) and name.startswith("_")):
                trail.depth -= 1
                raise ValueError(f"has no field {name!r} in this version (it has: {', '.join(sorted(known)) or 'none'})")
        return 0


cdef int next_tag(Cursor* cursor, int64_t* before, uint32_t* tag, uint32_t* size) noexcept:
    """A tag and its size, which is there; tags out of order or twice are for the fallback."""
    cdef const uint8_t* at = cursor.at
    if varint(cursor, tag) or varint(cursor, size):
        return within(cursor, "_tags")
    if tag[0] <= before[0]:
        return stop(cursor, ODD, at, 0, 0)
    before[0] = tag[0]
    if cursor.end - cursor.at < size[0]:
        short_of(cursor, size[0])
        return within(cursor, "_tags")
    return 0


cdef void release(Step* step) noexcept:
    free(step.key_text)
    xdecref(step.key)
    xdecref(step.node)
    xdecref(step.default)
    xdecref(step.kept)


cdef inline bint is_metadata_topic(const char* text, size_t size) noexcept:
    """Kafka's own log, whose records may hold secrets, by its name in quotes."""
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
