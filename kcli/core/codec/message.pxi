# Messages and structs: a list of steps, with one bounds check for each run of fixed fields.


cdef class Message(Node):
    """Named fields in order, followed by tagged ones in flexible versions.

    fields: (name, node, default value); tagged: (name, tag, node). A tagged field is in the value only if it was sent;
    unknown tags are in "_unknownTaggedFields".
    """

    cdef readonly list fields
    cdef readonly list tagged
    cdef readonly bint flexible
    cdef bint scanned             # nothing is hidden here
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
        """Compute the least bytes of a value, the runs of fixed fields, the fields with direct JSON, and the most room
        for these.
        """
        cdef int i, run = 0, error_at = 0
        self.least = 1 if self.flexible else 0
        self.room = 4 * KEY_ROOM
        for i in range(self.count - 1, -1, -1):
            step = &self.steps[i]
            self.least += self.fields[i][1].least
            self.room += step.key_size + VALUE_ROOM
            run = run + step.width if step.width else 0
            step.run = run
            if step.is_error:
                error_at = SEVERAL if error_at or step.width != 2 else 2
            else:
                error_at = error_at + step.width if step.width and error_at > 0 else error_at if step.width else 0
            step.error_at = error_at
            step.run_fields = 1 + (self.steps[i + 1].run_fields if step.width and self.steps[i + 1].width else 0)
            step.direct = step.width and step.op != FLOAT64 and step.role == PLAIN
            step.told = step.is_error or step.role == TOPIC_ID or step.op == BOOL or step.op == FLOAT64
        self.fixed = (
            self.least - self.flexible
            if self.count and all([self.steps[i].width for i in range(self.count)])
            else 0
        )
        for i in range(self.count - 1, 0, -1):
            if self.steps[i - 1].run:
                self.steps[i].run = 0
        self.silent = self.fixed and self.scanned and not any([self.steps[i].told for i in range(self.count)])
        return 0

    cdef int assign_roles(self) except -1:
        """Assign the fields' roles. A topic's id and name in one struct teach the name; an id alone is shown with it
        (see Names). A config's name and its resource's type decide whether its value is a secret.
        """
        judged = any(isinstance(node, Secret) and (<Secret>node).judge is not None for _, node, _ in self.fields)
        self.scanned = not judged and not self.guarded
        for i, (name, node, _) in enumerate(self.fields):
            if name == "topicId" and self.steps[i].op == UUID:
                self.steps[i].role = TOPIC_ID
            elif judged and name == "name" and self.steps[i].op == STRING:
                self.steps[i].role = CONFIG_NAME
            elif self.guarded and name == "resourceType" and self.steps[i].op == INT8:
                self.steps[i].role = RESOURCE_TYPE
            elif name in ("name", "topicName", "topic") and self.steps[i].op == STRING:
                self.steps[i].role = TOPIC_NAME
            elif name.endswith("rrorCode") and self.steps[i].width:
                self.steps[i].is_error = True
        for i, (name, _, _) in enumerate(self.tagged):
            self.tags[i].is_error = name.endswith("rrorCode")
        return 0

    cdef int cut(self, int first, Cursor* cursor) noexcept:
        """Find the field of a fixed run at which the bytes end, and stop there; always return -1."""
        cdef int i = first
        while cursor.end - cursor.at >= self.steps[i].width:
            cursor.at += self.steps[i].width
            i += 1
        short_of(cursor, self.steps[i].width)
        return within(cursor, <object>self.steps[i].key)

    cdef Step* tag_step(self, uint32_t tag) noexcept:
        cdef int i
        if tag < <uint32_t>self.tag_count and <uint32_t>self.tags[tag].tag == tag:       # most have no gaps
            return &self.tags[tag]
        for i in range(self.tag_count):
            if <uint32_t>self.tags[i].tag == tag:
                return &self.tags[i]
        return NULL

    # Operations

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        return read_message(self, cursor)

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        return json_message(self, cursor, out)

    cdef int scan_c(self, Cursor* cursor, Out* out) noexcept:
        return scan_message(self, cursor, out)

    cdef int skip_c(self, Cursor* cursor) noexcept:
        return skip_message(self, cursor)

    cdef int diff_c(self, Pair* pair, int sides) except -2:
        return diff_message(self, pair, sides)

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        return write_message(self, value, out, trail)
