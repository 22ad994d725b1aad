# The verb select: some fields of a message as rows of int64, without a Python object for any of them.
#
# kcli.grammar.selection compiles paths to a program. Each array on a path has rows of its own (a level); a row has a slot
# for each number, two for each string (where it starts in the bytes, its size or -1 for null), and one for the count of each
# array below it.


cdef enum What:
    RUN                   # fields of fixed width: one bounds check, then those that were asked for
    SIZED                 # a string, bytes or records
    PASS                  # what nobody asked for
    EACH                  # an array's elements
    MAYBE                 # a struct that may be null
    TAGS

WHATS = {"run": RUN, "sized": SIZED, "pass": PASS, "each": EACH, "maybe": MAYBE, "tags": TAGS}


cdef class Selection:
    """A compiled selection of one message version.

    node: the message's node. templates: for each level the bytes of a row as it is before anything is read. program: a list
    of parts, as `kcli.grammar.selection` makes them.
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
        self.compile(&self.program, program)

    def __dealloc__(self):
        cdef int i
        free_program(&self.program)
        for i in range(self.depth if self.levels != NULL else 0):
            out_free(&self.levels[i].rows)
        free(self.levels)

    cdef int compile(self, Program* made, list parts) except -1:
        cdef int i
        made.parts = <Part*>calloc(max(1, len(parts)), sizeof(Part))
        if made.parts == NULL:
            raise MemoryError
        made.count = len(parts)
        for i in range(made.count):
            self.compile_part(&made.parts[i], parts[i])
        return 0

    cdef int compile_part(self, Part* part, dict given) except -1:
        cdef int i
        node, picks, tags = given.get("node"), given.get("picks", ()), given.get("tags", ())
        self.held.append(node)
        part.what, part.node = WHATS[given["what"]], <PyObject*>node
        part.slot, part.width, part.level = given.get("slot", -1), given.get("width", 0), given.get("level", -1)
        if part.what == SIZED:
            part.op, part.flags = (<Scalar?>node).op, (<Scalar>node).flags
        part.picks = <Pick*>calloc(max(1, len(picks)), sizeof(Pick))
        part.tags = <TagPart*>calloc(max(1, len(tags)), sizeof(TagPart))
        if part.picks == NULL or part.tags == NULL:
            raise MemoryError
        fours, eights = [pick for pick in picks if pick[0] == "int32"], [pick for pick in picks if pick[0] == "int64"]
        others = [pick for pick in picks if pick[0] not in ("int32", "int64")]
        part.fours, part.eights = len(fours), len(eights)
        for i, (type_, at, slot) in enumerate(fours + eights + others):
            part.picks[i] = Pick(OPS[type_], at, slot)
            part.count = i + 1
        for i, (tag, slot, parts) in enumerate(tags):
            part.count = i + 1
            part.tags[i].tag, part.tags[i].slot = tag, slot
            self.compile(&part.tags[i].below, parts)
        self.compile(&part.below, given.get("below", []))
        return self.compile_blanks(part, given["filled"]) if part.what == EACH else 0

    cdef int compile_blanks(self, Part* part, object filled) except -1:
        cdef const int64_t* template = <const int64_t*>self.levels[part.level].template
        cdef int slot, slots = self.levels[part.level].width // sizeof(int64_t)
        part.flags, part.least = (<Array?>part.node).flags, (<Array>part.node).element.least
        part.below.blanks = <Blank*>calloc(slots, sizeof(Blank))
        if part.below.blanks == NULL:
            raise MemoryError
        for slot in set(range(slots)) - filled:
            part.below.blanks[part.below.blank] = Blank(template[slot], slot)
            part.below.blank += 1
        return 0

    def read(self, data, Py_ssize_t offset=0):
        """(rows of each level as bytes, end). None: the bytes are not canonical, only the interpreted grammar reads them.
        DecodeError as `Node.read` raises it."""
        cdef Py_buffer view
        cdef Py_ssize_t took
        cdef int i
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_offset(&view, offset)
            took = self.select_at(<const uint8_t*>view.buf, <const uint8_t*>view.buf + offset, <const uint8_t*>view.buf + view.len)
            if took >= 0:
                rows = [PyBytes_FromStringAndSize(self.levels[i].rows.data, self.levels[i].rows.size) for i in range(self.depth)]
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
        """Fill so many rows, each of so many slots, from as many structs or elements one behind the other."""
        cdef int i
        cdef Part* part
        cdef Part* end = program.parts + program.count
        cdef Py_ssize_t size
        while rows > 0:
            for i in range(program.blank):
                row[program.blanks[i].slot] = program.blanks[i].value
            part = program.parts
            while part < end:
                if part.what == RUN:
                    if part.width > cursor.end - cursor.at:
                        return short_of(cursor, part.width)
                    pick_run(part, cursor.at, cursor.base, row)
                    cursor.at += part.width
                elif part.what == SIZED:
                    size = length_of(part.op, part.flags, cursor)
                    if size == -2:
                        return -1
                    if part.slot >= 0:
                        row[part.slot], row[part.slot + 1] = cursor.at - cursor.base, size
                    if size > 0:
                        cursor.at += size
                elif part.what == TAGS:
                    if cursor.at < cursor.end and cursor.at[0] == 0:
                        cursor.at += 1
                        if part.slot >= 0:
                            row[part.slot] = 0
                    elif self.run_tags(part, cursor, row):
                        return -1
                elif part.what == EACH:
                    if part.flags & COMPACT and cursor.at < cursor.end and cursor.at[0] == 1:
                        cursor.at += 1
                        row[part.slot] = 0
                    elif self.run_each(part, cursor, row):
                        return -1
                elif part.what == PASS:
                    if (<Node>part.node).skip_c(cursor):
                        return -1
                elif part.what == MAYBE:
                    if self.run_maybe(part, cursor, row):
                        return -1
                part += 1
            row += slots
            rows -= 1
        return 0

    cdef int run_each(self, Part* part, Cursor* cursor, int64_t* row) noexcept:
        cdef Level* to = &self.levels[part.level]
        cdef int64_t count = (<Array>part.node).count(cursor)
        if count == -2 or count * part.least > cursor.end - cursor.at:
            return -1
        row[part.slot] = count
        if count <= 0:
            return 0
        if out_reserve(&to.rows, count * to.width):
            return no_memory(cursor)
        row = <int64_t*>(to.rows.data + to.rows.size)
        to.rows.size += count * to.width
        return self.run(&part.below, cursor, row, to.width // sizeof(int64_t), count)

    cdef int run_maybe(self, Part* part, Cursor* cursor, int64_t* row) noexcept:
        cdef int present = (<Optional>part.node).present(cursor)
        if present < 0:
            return -1
        row[part.slot] = present
        return self.run(&part.below, cursor, row, 0, 1) if present else 0

    cdef int run_tags(self, Part* part, Cursor* cursor, int64_t* row) noexcept:
        """A section that has some. Every field that the version knows is a tag of the part."""
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
                row[part.width] += 1
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
    for i in range(part.count):
        if part.tags[i].tag == tag:
            return &part.tags[i]
    return NULL


cdef inline void pick_run(Part* part, const uint8_t* at, const uint8_t* base, int64_t* row) noexcept:
    """The numbers of most fields first, each kind in a loop of its own that asks for no kind."""
    cdef Pick* pick = part.picks
    cdef Pick* end = pick + part.fours
    while pick < end:
        row[pick.slot] = <int32_t>be32(at + pick.at)
        pick += 1
    end += part.eights
    while pick < end:
        row[pick.slot] = <int64_t>be64(at + pick.at)
        pick += 1
    end = part.picks + part.count
    while pick < end:
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


cdef void free_program(Program* program) noexcept:
    cdef int i, j
    for i in range(program.count):
        if program.parts[i].tags != NULL:
            for j in range(program.parts[i].count if program.parts[i].what == TAGS else 0):
                free_program(&program.parts[i].tags[j].below)
        free_program(&program.parts[i].below)
        free(program.parts[i].picks)
        free(program.parts[i].tags)
    free(program.parts)
    free(program.blanks)
