# Nodes: what every one of them can do for Python, and the ones that are no messages.


cdef const char* TRAILING_KEY = b',"_trailing":'


cdef class Names:
    """Topic ids and the names they were seen with, learnt while JSON is made; and those that had none."""

    def __dealloc__(self):
        names_free(&self.table)

    def __len__(self):
        return self.table.used

    def learn(self, bytes uuid, str name):
        cdef Out out = Out(NULL, 0, 0)
        cdef bytes text = name.encode()
        if len(uuid) != 16:
            raise ValueError("a uuid has 16 bytes")
        if out_string(&out, <const uint8_t*><char*>text, len(text)) == 0:
            name_learn(&self.table, <const uint8_t*><char*>uuid, out.data, out.size)
        out_free(&out)

    def get(self, bytes uuid):
        """The name's JSON text, None when it was never seen."""
        cdef Name* name = name_find(&self.table, <const uint8_t*><char*>uuid) if len(uuid) == 16 else NULL
        if name != NULL:
            return name.text[: name.size].decode()
        if len(uuid) == 16 and name_miss(&self.table, <const uint8_t*><char*>uuid):
            raise MemoryError
        return None

    def missing(self):
        """The ids that were looked up before they had a name."""
        cdef NameTable* table = self.table.missing
        if table == NULL:
            return []
        return [(<char*>table.slots[i].id)[:16] for i in range(table.capacity) if table.slots[i].text != NULL]


cdef class Node:
    """A value's verbs. `data` is anything with a buffer; offsets are bytes from its start."""

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        return NULL

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        return -1

    cdef int skip_c(self, Cursor* cursor) noexcept:
        return -1

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        raise NotImplementedError

    cdef int slow(self, Cursor* cursor, Py_ssize_t offset) except -1:
        """Behind a stop: raise it, unless the fallback is to try."""
        if cursor.code != ODD:
            raise_kept()
            fail(cursor, offset)
        xdecref(cursor.path)
        if self.fallback is None:
            raise DecodeError("", cursor.where + offset, f"not canonical at {cursor.where + offset:#x}")
        return 0

    def read(self, data, Py_ssize_t offset=0):
        """(value, end): plain Python values from the bytes at `offset`. DecodeError names path, offset and reason."""
        cdef Py_buffer view
        cdef Cursor cursor
        cdef PyObject* value
        cdef bint paused
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_offset(&view, offset)
            start(&cursor, <const uint8_t*>view.buf + offset, view.len - offset, NULL)
            # Dicts by the ten thousand would set the collector off again and again, with nothing to collect.
            paused = view.len > 65536 and gc_disable() == 1
            value = self.read_c(&cursor)
            if paused:
                gc_enable()
            if value != NULL:
                made = <object>value
                decref(value)
                return made, offset + (cursor.at - cursor.base)
            self.slow(&cursor, offset)
        finally:
            PyBuffer_Release(&view)
        return self.fallback.read(data, offset)

    def json(self, data, Py_ssize_t offset=0, *, str records="none", hook=None, Names names=None, bint whole=False,
             bint secrets=False):
        """(text, end): the JSON text of `read`'s value, as UTF-8 bytes.

        records: what stands in a records field beside its size: "none", "raw" base64, or what `hook(memoryview) -> bytes`
        makes of it, as "batches". whole: bytes behind the message are kept as "_trailing". secrets: show them.
        """
        cdef Py_buffer view
        cdef Out out = Out(NULL, 0, 0)
        cdef JsonContext context
        cdef Py_ssize_t took
        json_context(&context, records, hook, names, secrets)
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_offset(&view, offset)
            took = self.json_at(<const uint8_t*>view.buf + offset, view.len - offset, &out, &context, whole)
            if took >= 0:
                return out.data[: out.size], offset + took
            self.refuse(<const uint8_t*>view.buf + offset, view.len - offset, offset)
        finally:
            out_free(&out)
            PyBuffer_Release(&view)
        return self.fallback.json(data, offset, records=records, hook=hook, names=names, whole=whole, secrets=secrets)

    cdef int refuse(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t offset) except -1:
        """Say why json_at refused: skip stops where it did, but for text that is no UTF-8, which goes to the fallback."""
        cdef Cursor cursor
        start(&cursor, data, size, NULL)
        if self.skip_c(&cursor):
            return self.slow(&cursor, offset)
        stop(&cursor, ODD, cursor.at, 0, 0)
        return self.slow(&cursor, offset)

    def skip(self, data, Py_ssize_t offset=0):
        """Where the value at `offset` ends."""
        cdef Py_buffer view
        cdef Cursor cursor
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_offset(&view, offset)
            start(&cursor, <const uint8_t*>view.buf + offset, view.len - offset, NULL)
            if self.skip_c(&cursor) == 0:
                return offset + (cursor.at - cursor.base)
            self.slow(&cursor, offset)
        finally:
            PyBuffer_Release(&view)
        return self.fallback.skip(data, offset)

    def write(self, value):
        """The value's bytes. EncodeError names the path of what does not fit."""
        cdef Out out
        cdef Trail trail
        trail.depth = -1
        borrow_buffer(&out)
        try:
            self.write_c(<PyObject*>value, &out, &trail)
            return PyBytes_FromStringAndSize(out.data, out.size)
        except ValueError as error:
            raise EncodeError(trail_text(&trail), str(error)) from None
        finally:
            return_buffer(&out)

    cdef Py_ssize_t json_at(self, const uint8_t* data, Py_ssize_t size, Out* out, JsonContext* context, bint whole) except -2:
        cdef Cursor cursor
        cdef size_t before = out.size
        cdef int bare
        start(&cursor, data, size, context)
        if self.json_c(&cursor, out) == 0:
            if not whole or cursor.at == cursor.end:
                return cursor.at - data
            out.size -= 1                                   # the closing brace
            bare = out.data[out.size - 1] == b"{"           # then no comma
            if out_put(out, TRAILING_KEY + bare, 13 - bare) or self.json_rest(&cursor, out) or out_put(out, b"}", 1):
                raise MemoryError
            return size
        out.size = before
        xdecref(cursor.path)
        if cursor.code == RAISED:
            raise_kept()
            if err_occurred() == NULL:
                err_no_memory()
            return -2
        return -1

    cdef int json_rest(self, Cursor* cursor, Out* out) noexcept:
        if self.guarded and hides(cursor):
            return out_redacted(out, cursor.end - cursor.at)
        return out_base64(out, cursor.at, cursor.end - cursor.at)

    cdef Py_ssize_t skip_at(self, const uint8_t* data, Py_ssize_t size) noexcept:
        cdef Cursor cursor
        start(&cursor, data, size, NULL)
        if self.skip_c(&cursor) == 0:
            return cursor.at - data
        xdecref(cursor.path)
        return -1


# One buffer serves writer after writer; who finds it taken, or has made it large, works on another.
cdef Out _spare = Out(NULL, 0, 0)

cdef enum:
    SPARE_MOST = 1 << 20


cdef inline void borrow_buffer(Out* out) noexcept:
    out[0] = _spare
    out.size = 0
    _spare.data = NULL
    _spare.capacity = 0


cdef inline void return_buffer(Out* out) noexcept:
    if _spare.data == NULL and out.capacity <= SPARE_MOST:
        _spare.data = out.data
        _spare.capacity = out.capacity
    else:
        out_free(out)


cdef int raise_kept() except -1:
    global _kept
    error, _kept = _kept, None
    if error is not None:
        raise error
    return 0


cdef int check_offset(Py_buffer* view, Py_ssize_t offset) except -1:
    if offset < 0 or offset > view.len:
        raise ValueError(f"offset {offset} of {view.len} bytes")
    return 0


cdef int json_context(JsonContext* context, str records, object hook, Names names, bint secrets) except -1:
    context.records = {"none": RECORDS_SIZE, "raw": RECORDS_RAW}.get(records, RECORDS_HOOK)
    if context.records == RECORDS_HOOK and hook is None:
        raise ValueError(f"records={records!r} needs a hook")
    context.hook = <PyObject*>hook
    context.names = &names.table if names is not None else NULL
    context.secrets = secrets
    context.metadata = False
    context.resource = 0
    context.name_at = context.name_size = context.redactions = 0
    context.inner_known = False
    return 0


cdef inline bint hides(Cursor* cursor) noexcept:
    """Whether secrets are hidden: unless the context says otherwise."""
    return cursor.context == NULL or not cursor.context.secrets


cdef int json_redacted(Py_ssize_t size, Cursor* cursor, Out* out) noexcept:
    """In a secret's place."""
    if cursor.context != NULL:
        cursor.context.redactions += 1
    return no_memory(cursor) if out_redacted(out, size) else 0


cdef object trail_text(Trail* trail):
    text = ""
    for level in range(trail.depth + 1):
        if trail.name[level] == NULL:
            text += f"[{trail.index[level]}]"
        else:
            text += f".{<object>trail.name[level]}" if text else <object>trail.name[level]
    return text


cdef class Scalar(Node):
    """One value of a type in NAMES."""

    cdef readonly int op
    cdef readonly int flags

    def __init__(self, str kind, bint nullable=False, bint compact=False):
        self.op = OPS[kind]
        self.flags = (NULLABLE if nullable else 0) | (COMPACT if compact else 0)
        self.least = WIDTHS[self.op] if self.op <= LAST_FIXED else 1 if compact else 2 if self.op == STRING else 4
        self.fixed = self.least if self.op <= LAST_FIXED else 0

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        if self.op > LAST_FIXED:
            return read_sized(self.op, self.flags, cursor)
        if cursor.end - cursor.at < WIDTHS[self.op]:
            short_of(cursor, WIDTHS[self.op])
            return NULL
        return read_fixed(self.op, cursor)

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef char* p
        if self.op > LAST_FIXED:
            return json_sized(self.op, self.flags, cursor, out)
        if cursor.end - cursor.at < WIDTHS[self.op]:
            return short_of(cursor, WIDTHS[self.op])
        if self.op == FLOAT64:
            return json_double(cursor, out)
        if out_reserve(out, 32):
            return no_memory(cursor)
        p = put_fixed(self.op, cursor.at, out.data + out.size)
        if p == NULL:
            return stop(cursor, ODD, cursor.at, 0, 0)
        cursor.at += WIDTHS[self.op]
        out.size = p - out.data
        return 0

    cdef int skip_c(self, Cursor* cursor) noexcept:
        if self.op > LAST_FIXED:
            return skip_sized(self.op, self.flags, cursor)
        if cursor.end - cursor.at < WIDTHS[self.op]:
            return short_of(cursor, WIDTHS[self.op])
        cursor.at += WIDTHS[self.op]
        return 0

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        if self.op > LAST_FIXED:
            return write_sized(self.op, self.flags, value, out)
        if out_reserve(out, 16):
            raise MemoryError
        write_fixed(self.op, value, <uint8_t*>out.data + out.size)
        out.size += WIDTHS[self.op]
        return 0


cdef enum:
    VERDICTS = 512        # a power of 2
    JUDGED_NAME = 60      # bytes of a name whose verdict is kept
    TRIES = 4             # places where a verdict may stand

# A config's name, and whether its value is a secret. size 0: none.
cdef struct Verdict:
    uint8_t size, resource, secret
    char name[JUDGED_NAME]


cdef class Secret(Scalar):
    """A string or bytes field that JSON hides.

    judge: judge(name, resource type) says whether a config's value is a secret: its name is the field of that name in
    the same struct, the type the last `resourceType` before it. None: it always is one. Its answers are kept.
    """

    cdef readonly object judge
    cdef Verdict* verdicts

    def __init__(self, str kind, bint nullable=False, bint compact=False, judge=None):
        Scalar.__init__(self, kind, nullable, compact)
        self.judge = judge
        if judge is not None:
            self.verdicts = <Verdict*>calloc(VERDICTS + TRIES, sizeof(Verdict))
            if self.verdicts == NULL:
                raise MemoryError

    def __dealloc__(self):
        free(self.verdicts)

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef size_t before = out.size
        cdef const uint8_t* at = cursor.at
        cdef Py_ssize_t length
        cdef int hidden = hides(cursor)
        if hidden and self.verdicts != NULL:
            hidden = self.judged(cursor, out)
            if hidden < 0:
                return raised(cursor)
        if json_rare(self.op, self.flags, cursor, out):       # also what is hidden has to be sound
            return -1
        if not hidden:
            return 0
        out.size = before
        cursor.at = at
        length = length_of(self.op, self.flags, cursor)
        if length < 0:
            return no_memory(cursor) if out_put(out, b"null", 4) else 0
        cursor.at += length
        return json_redacted(length, cursor, out)

    cdef int judged(self, Cursor* cursor, Out* out) noexcept:
        """Whether the config of the name that was written last is a secret; -1 with an exception kept."""
        cdef JsonContext* context = cursor.context
        cdef const char* name
        cdef size_t size
        cdef Verdict* verdict
        if context == NULL or context.name_size <= 2 or out.data[context.name_at] != b'"':
            return 1
        name, size = out.data + context.name_at + 1, context.name_size - 2
        if size > JUDGED_NAME:
            return self.ask(name, size, context.resource)
        verdict = find_verdict(self.verdicts, name, size, context.resource)
        if verdict.size == 0 or not is_of(verdict, name, size, context.resource):
            verdict.size = 0
            verdict.secret = self.ask(name, size, context.resource)
            if <int8_t>verdict.secret < 0:
                return -1
            memcpy(verdict.name, name, size)
            verdict.size, verdict.resource = size, <uint8_t>context.resource
        return verdict.secret

    cdef int ask(self, const char* name, size_t size, int resource) noexcept:
        try:
            return bool(self.judge(name[:size].decode(), resource))
        except BaseException as error:
            keep_error(error)
            return -1


cdef inline bint is_of(Verdict* verdict, const char* name, size_t size, int resource) noexcept:
    return verdict.size == size and verdict.resource == <uint8_t>resource and memcmp(verdict.name, name, size) == 0


cdef inline Verdict* find_verdict(Verdict* verdicts, const char* name, size_t size, int resource) noexcept:
    """The verdict on a name, or where it is to be kept: in the first place that is free, or in another's."""
    cdef uint64_t first = 0, last = 0
    cdef Verdict* at
    cdef int i
    memcpy(&first, name, min(size, <size_t>8))
    memcpy(&last, name + size - min(size, <size_t>8), min(size, <size_t>8))
    first = ((first ^ size) * <uint64_t>0x9E3779B97F4A7C15 ^ last) * <uint64_t>0xC2B2AE3D27D4EB4F
    at = verdicts + (first >> 32) % VERDICTS
    for i in range(TRIES):
        if at[i].size == 0 or is_of(&at[i], name, size, resource):
            return &at[i]
    return at


cdef class Array(Node):
    """Elements behind their count."""

    cdef readonly Node element
    cdef readonly int flags

    def __init__(self, Node element not None, bint nullable=False, bint compact=False):
        self.element = element
        self.flags = (NULLABLE if nullable else 0) | (COMPACT if compact else 0)
        self.least = 1 if compact else 4

    cdef int64_t count(self, Cursor* cursor) noexcept:
        """Elements to come; -1 null, -2 stopped."""
        cdef uint32_t compact
        cdef int64_t count
        cdef const uint8_t* at = cursor.at
        if self.flags & COMPACT:
            if varint(cursor, &compact):
                return -2
            count = <int64_t>compact - 1
        else:
            if cursor.end - at < 4:
                return short_of(cursor, 4) - 1
            count = <int32_t>be32(at)
            cursor.at += 4
        if count < 0:
            if count < -1:
                return stop(cursor, ODD, at, 0, 0) - 1
            return -1 if self.flags & NULLABLE else stop(cursor, NOT_NULLABLE, at, 0, 0) - 1
        if self.element.least == 0 and count > cursor.end - cursor.at:
            return stop(cursor, COUNT, at, count, cursor.end - cursor.at) - 1
        return count

    cdef int at_element(self, Cursor* cursor, int64_t index, int64_t count) noexcept:
        if cursor.code == SHORT and cursor.says < 0:
            cursor.says, cursor.here = count, index
        return within(cursor, index)

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        cdef int64_t i, count = self.count(cursor)
        cdef PyObject* made
        cdef PyObject* value
        if count < 0:
            if count == -2:
                return NULL
            incref(None_)
            return None_
        if count * self.element.least > cursor.end - cursor.at:
            self.find_end(cursor, count)
            return NULL
        made = list_new(count)
        if made == NULL:
            raised(cursor)
            return NULL
        for i in range(count):
            value = self.element.read_c(cursor)
            if value == NULL:
                decref(made)
                self.at_element(cursor, i, count)
                return NULL
            list_set(made, i, value)
        return made

    cdef int find_end(self, Cursor* cursor, int64_t count) noexcept:
        """More elements than fit: skip to the one that is cut, so that the error names it; always -1."""
        cdef int64_t i
        for i in range(count):
            if self.element.skip_c(cursor):
                return self.at_element(cursor, i, count)
        return stop(cursor, COUNT, cursor.at, count, 0)

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef int64_t i, count = self.count(cursor)
        if count < 0:
            if count == -2:
                return -1
            return no_memory(cursor) if out_put(out, b"null", 4) else 0
        if out_put(out, b"[", 1):
            return no_memory(cursor)
        for i in range(count):
            if i:
                if out_put(out, b",", 1):
                    return no_memory(cursor)
            if self.element.json_c(cursor, out):
                return self.at_element(cursor, i, count)
        return no_memory(cursor) if out_put(out, b"]", 1) else 0

    cdef int skip_c(self, Cursor* cursor) noexcept:
        cdef int64_t count = self.count(cursor)
        cdef int64_t i = self.skip_fixed(count, cursor)
        while i < count:
            if self.element.skip_c(cursor):
                return self.at_element(cursor, i, count)
            i += 1
        return -(count == -2)

    cdef int64_t skip_fixed(self, int64_t count, Cursor* cursor) noexcept:
        """Skip elements of one size, up to the first that has tags or is cut: how many."""
        cdef int64_t i = 0
        cdef Py_ssize_t width = self.element.fixed
        cdef Py_ssize_t step = self.element.least
        if width == 0:
            return 0
        if width == step:
            i = max(0, min(count, (cursor.end - cursor.at) // width))
            cursor.at += i * width
            return i
        while i < count and cursor.end - cursor.at >= step and cursor.at[width] == 0:
            cursor.at += step
            i += 1
        return i

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        cdef Py_ssize_t i, size
        cdef int level
        if value == None_:
            return self.write_count(-1, out)
        if not is_list(value):
            raise ValueError(f"needs a list, not {<object>value!r}")
        size = list_size(value)
        self.write_count(size, out)
        trail.depth += 1
        level = trail.depth
        trail.name[level] = NULL
        for i in range(size):
            trail.index[level] = i
            self.element.write_c(list_item(value, i), out, trail)
        trail.depth -= 1
        return 0

    cdef int write_count(self, int64_t count, Out* out) except -1:
        if count < 0 and not self.flags & NULLABLE:
            raise ValueError("null, where this version allows none")
        return put_length(BYTES, self.flags, count, out)


cdef class Optional(Node):
    """A struct that may be null: a byte in front, -1 for null, else 1."""

    cdef readonly Node inner

    def __init__(self, Node inner not None):
        self.inner = inner
        self.least = 1

    cdef int present(self, Cursor* cursor) noexcept:
        if cursor.at == cursor.end:
            return short_of(cursor, 1)
        cdef uint8_t marker = cursor.at[0]
        cursor.at += 1
        if marker == 1:
            return 1
        return 0 if marker == 0xFF else stop(cursor, ODD, cursor.at - 1, 0, 0)

    cdef PyObject* read_c(self, Cursor* cursor) noexcept:
        cdef int present = self.present(cursor)
        if present < 0:
            return NULL
        if present:
            return self.inner.read_c(cursor)
        incref(None_)
        return None_

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef int present = self.present(cursor)
        if present < 0:
            return -1
        if present:
            return self.inner.json_c(cursor, out)
        return no_memory(cursor) if out_put(out, b"null", 4) else 0

    cdef int skip_c(self, Cursor* cursor) noexcept:
        cdef int present = self.present(cursor)
        return self.inner.skip_c(cursor) if present > 0 else present

    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1:
        if out_put(out, b"\xff" if value == None_ else b"\x01", 1):
            raise MemoryError
        return 0 if value == None_ else self.inner.write_c(value, out, trail)
