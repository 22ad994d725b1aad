# The operation select: some fields of a message as rows of int64, without a Python object for any of them.
# kcli.grammar.selection.select compiles paths to a program. Each array on a path has rows of its own (a level). A row
# has a slot for each number, two for each string (its offset in the bytes, and its size or -1 for null), and one for
# the count of each array in it.


cdef class Selection:
    """A compiled selection of one message version.

    node: the message's node. templates: for each level, the bytes of a new row. program: a list of parts from
    `kcli.grammar.selection.select`.
    """

    def __init__(self, Node node not None, list templates not None, list program not None):
        cdef int i
        self.node, self.held = node, [templates]
        self.depth = len(templates)
        self.levels = <Level*>calloc(self.depth, sizeof(Level))
        if self.levels == NULL:
            raise MemoryError
        for i in range(self.depth):
            self.levels[i].template = <const char*><bytes>templates[i]
            self.levels[i].width = len(<bytes>templates[i])
        build_program(&self.program, program, self.held, self.levels)

    def __dealloc__(self):
        cdef int i
        free_program(&self.program)
        for i in range(self.depth if self.levels != NULL else 0):
            out_free(&self.levels[i].rows)
        free(self.levels)

    def read(self, data, Py_ssize_t offset=0):
        """Return (rows of each level as bytes, end); None if the bytes are not canonical, and only the interpreted
        grammar can read them. Raises DecodeError as `Node.read`.
        """
        cdef Py_buffer view
        cdef Py_ssize_t took
        cdef int i
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_offset(&view, offset)
            took = self.select_at(
                <const uint8_t*>view.buf, <const uint8_t*>view.buf + offset, <const uint8_t*>view.buf + view.len
            )
            if took >= 0:
                rows = [
                    PyBytes_FromStringAndSize(self.levels[i].rows.data, self.levels[i].rows.size)
                    for i in range(self.depth)
                ]
                for i in range(self.depth):
                    if self.levels[i].rows.capacity > SPARE_MOST:
                        out_free(&self.levels[i].rows)
                        memset(&self.levels[i].rows, 0, sizeof(Out))
                return rows, offset + took
            self.node.refuse(<const uint8_t*>view.buf + offset, view.len - offset, offset)
        finally:
            PyBuffer_Release(&view)
        return None

    cdef Py_ssize_t select_at(self, const uint8_t* base, const uint8_t* at, const uint8_t* end) except -2:
        cdef Cursor cursor
        cdef int i
        cdef int64_t* row
        start(&cursor, base, end - base, NULL)
        cursor.at = at
        for i in range(self.depth):
            self.levels[i].rows.size = 0
        row = self.add_row(0)
        if row != NULL and self.run(&self.program, &cursor, row, 0, 1) == 0:
            return cursor.at - at
        xdecref(cursor.path)
        if row == NULL or cursor.code == RAISED:
            raise MemoryError
        return -1

    cdef inline int64_t* add_row(self, int level) noexcept:
        cdef Level* to = &self.levels[level]
        cdef char* row
        if out_reserve(&to.rows, to.width):
            return NULL
        row = to.rows.data + to.rows.size
        memcpy(row, to.template, to.width)
        to.rows.size += to.width
        return <int64_t*>row

    cdef int run(self, Program* program, Cursor* cursor, int64_t* row, size_t slots, int64_t rows) noexcept:
        """Fill `rows` rows, each of `slots` slots, from as many adjacent structs or elements."""
        cdef const uint8_t* at = cursor.at      # the cursor itself moves only if other code reads on
        cdef Part* part
        cdef Part* last = program.parts + program.count
        cdef int64_t length
        cdef int i
        while rows > 0:
            for i in range(program.blank):
                row[program.blanks[i].slot] = program.blanks[i].value
            part = program.parts
            while part < last:
                if part.width:
                    if part.width > cursor.end - at:
                        return -1
                    pick_run(part, at, cursor.base, row)
                    at += part.width
                if part.what == SIZED or part.what == EACH:
                    if at < cursor.end and <uint8_t>(at[0] - part.first) < part.brief:
                        length = <int64_t>at[0] - 1
                        at += 1
                    else:
                        cursor.at = at
                        length = long_length(part, cursor)
                        at = cursor.at
                    if length * part.least > cursor.end - at or length < -1:
                        return -1
                    if part.what == EACH:
                        row[part.slot] = length
                        if length > 0:
                            cursor.at = at
                            if self.run_each(part, cursor, length):
                                return -1
                            at = cursor.at
                    else:
                        if part.slot >= 0:
                            row[part.slot], row[part.slot + 1] = at - cursor.base, length
                        if length > 0:
                            at += length
                elif part.what == TAGS and at < cursor.end and at[0] == 0:
                    at += 1
                    if part.slot >= 0:
                        row[part.slot] = 0
                elif part.what != RUN:
                    cursor.at = at
                    if self.run_rare(part, cursor, row):
                        return -1
                    at = cursor.at
                part += 1
            row += slots
            rows -= 1
        cursor.at = at
        return 0

    cdef inline int run_each(self, Part* part, Cursor* cursor, int64_t count) noexcept:
        cdef Level* to = &self.levels[part.level]
        cdef size_t before = to.rows.size
        if out_reserve(&to.rows, count * to.width):
            return no_memory(cursor)
        to.rows.size += count * to.width
        return self.run(&part.below, cursor, <int64_t*>(to.rows.data + before), to.width // sizeof(int64_t), count)

    cdef int run_rare(self, Part* part, Cursor* cursor, int64_t* row) noexcept:
        if part.what == PASS:
            return (<Node>part.node).skip_c(cursor)
        return self.run_tags(part, cursor, row) if part.what == TAGS else self.run_maybe(part, cursor, row)

    cdef int run_maybe(self, Part* part, Cursor* cursor, int64_t* row) noexcept:
        cdef int present = (<Optional>part.node).present(cursor)
        if present < 0:
            return -1
        row[part.slot] = present
        return self.run(&part.below, cursor, row, 0, 1) if present else 0

    cdef int run_tags(self, Part* part, Cursor* cursor, int64_t* row) noexcept:
        """Process a section of tagged fields that is not empty. Every field that the version knows is a tag of the
        part.
        """
        cdef uint32_t i, count, tag, size
        cdef int64_t before = -1
        cdef int64_t* unknown
        cdef TagPart* found
        if varint(cursor, &count):
            return -1
        if part.slot >= 0:
            row[part.slot] = count
        for i in range(count):
            if next_tag(cursor, &before, &tag, &size):
                return -1
            found = tag_part(part, tag)
            if found != NULL:
                if self.run_tag(found, size, cursor, row):
                    return -1
                continue
            if part.level >= 0:
                row[part.unknown] += 1
                unknown = self.add_row(part.level)
                if unknown == NULL:
                    return no_memory(cursor)
                unknown[0], unknown[1], unknown[2] = tag, cursor.at - cursor.base, size
            cursor.at += size
        return 0

    cdef int run_tag(self, TagPart* found, uint32_t size, Cursor* cursor, int64_t* row) noexcept:
        cdef const uint8_t* end = cursor.end
        cursor.end = cursor.at + size
        if found.slot >= 0:
            row[found.slot] = 1
        if self.run(&found.below, cursor, row, 0, 1) or cursor.at != cursor.end:
            return -1
        cursor.end = end
        return 0


cdef inline TagPart* tag_part(Part* part, uint32_t tag) noexcept:
    cdef int i
    for i in range(part.tag_count):
        if part.tags[i].tag == tag:
            return &part.tags[i]
    return NULL


cdef int64_t long_length(Part* part, Cursor* cursor) noexcept:
    """Return the length of an array in entries, of a sized field in bytes; -1: null, -2: stopped."""
    return (<Array>part.node).count(cursor) if part.what == EACH else length_of(part.op, part.flags, cursor)


cdef inline void pick_run(Part* part, const uint8_t* at, const uint8_t* base, int64_t* row) noexcept:
    """Pick the numbers of a run of fixed fields, the most frequent widths first, each in a loop of its own."""
    cdef Pick* pick = part.picks
    while pick < part.fours:
        row[pick.slot] = <int32_t>be32(at + pick.at)
        pick += 1
    while pick < part.eights:
        row[pick.slot] = <int64_t>be64(at + pick.at)
        pick += 1
    while pick < part.others:
        pick_fixed(pick.op, at + pick.at, base, row + pick.slot)
        pick += 1


cdef inline void pick_fixed(int op, const uint8_t* at, const uint8_t* base, int64_t* slot) noexcept:
    if op == FLOAT64:
        slot[0] = <int64_t>be64(at)
    elif op == INT16:
        slot[0] = <int16_t>be16(at)
    elif op == INT8:
        slot[0] = <int8_t>at[0]
    elif op == BOOL:
        slot[0] = at[0] != 0
    elif op == UINT16:
        slot[0] = be16(at)
    elif op == UINT32:
        slot[0] = be32(at)
    elif op == UUID:
        slot[0] = at - base
        slot[1] = 16
