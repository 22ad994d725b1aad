# Compares two messages of one layout by a walk over both at once.

cdef enum Side:
    ONE = 1
    OTHER = 2
    BOTH = 3

cdef str TAG_SECTION = "_tags"


cdef struct TagHead:      # the current tag in one side's section
    uint32_t left         # tags after this one
    uint32_t tag, size
    int64_t before
    bint held             # its field has not been compared yet


cdef object differences_of(
    Node node, bytes one, Py_ssize_t offset, bytes other, Py_ssize_t other_offset, Message batch
):
    """Compare two values as Node.differences does."""
    cdef Pair pair
    cdef list found = [], added = []
    cdef int code
    start_pair(&pair, one, offset, other, other_offset, found, added)
    pair.batch = NULL if batch is None else <PyObject*>batch
    try:
        code = node.diff_c(&pair, BOTH)
    finally:
        xdecref(pair.one.path)
        xdecref(pair.other.path)
    return None if code else (found, added, pair.one.at - pair.one.base, pair.other.at - pair.other.base)


cdef void start_pair(
    Pair* pair, bytes one, Py_ssize_t offset, bytes other, Py_ssize_t other_offset, list found, list added
) noexcept:
    start(&pair.one, <const uint8_t*>one + offset, len(one) - offset, NULL)
    start(&pair.other, <const uint8_t*>other + other_offset, len(other) - other_offset, NULL)
    pair.one.base, pair.other.base = <const uint8_t*>one, <const uint8_t*>other
    pair.found, pair.added = <PyObject*>found, <PyObject*>added
    pair.trail.depth = -1


cdef inline bint are_alike(Pair* pair, int sides, const uint8_t* one, const uint8_t* other) noexcept:
    """Return whether both sides have the same bytes from `one` and `other` to their cursors."""
    cdef Py_ssize_t size = pair.one.at - one
    return sides == BOTH and size == pair.other.at - other and memcmp(one, other, size) == 0


cdef int note(
    Pair* pair, int sides, const uint8_t* one, const uint8_t* other, str kind, object value, object other_value
) except -2:
    """Note the bytes from there to the cursors of the sides, at the trail's path."""
    expected = (one - pair.one.base, pair.one.at - pair.one.base, kind, value) if sides & ONE else None
    got = (other - pair.other.base, pair.other.at - pair.other.base, kind, other_value) if sides & OTHER else None
    (<list>(pair.found if sides & ONE else pair.added)).append((trail_text(&pair.trail), expected, got))
    return 0


cdef int diff_value(int op, int flags, Pair* pair, int sides) except -2:
    """Compare a scalar value."""
    cdef const uint8_t* one = pair.one.at
    cdef const uint8_t* other = pair.other.at
    if op == RECORDS and pair.batch != NULL:
        return diff_records(flags, pair, sides)
    if sides & ONE and skip_value(op, flags, &pair.one) or sides & OTHER and skip_value(op, flags, &pair.other):
        return -1
    if are_alike(pair, sides, one, other):
        return 0
    value = value_of(op, flags, one, pair.one.at) if sides & ONE else None
    other_value = value_of(op, flags, other, pair.other.at) if sides & OTHER else None
    return note(pair, sides, one, other, kind_text(op, flags), value, other_value)


cdef str kind_text(int op, int flags):
    return f"{'nullable ' if flags & NULLABLE else ''}{'compact ' if flags & COMPACT else ''}{NAMES[op]}"


cdef object value_of(int op, int flags, const uint8_t* at, const uint8_t* end):
    """Return the reference's value for the bytes of one whole scalar, canonical or not."""
    cdef Cursor cursor
    cdef Py_ssize_t length
    if op > LAST_FIXED:
        start(&cursor, at, end - at, NULL)
        length = length_of(op, flags, &cursor)
        if length < 0:
            return None
        data = PyBytes_FromStringAndSize(<const char*>cursor.at, length)
        return data.decode(errors="replace") if op == STRING else data
    if op == BOOL:
        return at[0] != 0
    if op == FLOAT64:
        return be_double(at)
    if op == UUID:
        text = <object>uuid_value(at)
        decref(<PyObject*>text)
        return text
    return fixed_int(op, at)


cdef int diff_array(Array array, Pair* pair, int sides) except -2:
    cdef int64_t i, ones = 0, others = 0
    cdef int level, code
    cdef const uint8_t* one = pair.one.at
    cdef const uint8_t* other = pair.other.at
    if sides & ONE:
        ones = array.count(&pair.one)
    if sides & OTHER:
        others = array.count(&pair.other)
    if ones == -2 or others == -2:
        return -1
    if not are_alike(pair, sides, one, other):
        kind = "compact array" if array.flags & COMPACT else "array"
        note(pair, sides, one, other, f"{kind} count", count_text(ones, kind), count_text(others, kind))
    pair.trail.depth += 1
    level = pair.trail.depth
    pair.trail.name[level] = NULL
    for i in range(max(ones, others)):
        pair.trail.index[level] = i
        code = array.element.diff_c(pair, (ONE if i < ones else 0) | (OTHER if i < others else 0))
        if code:
            return code
    pair.trail.depth -= 1
    return 0


cdef str count_text(int64_t count, str kind):
    return f"{'null' if count < 0 else entries_text(count)} ({kind})"


cdef int diff_optional(Optional optional, Pair* pair, int sides) except -2:
    cdef const uint8_t* one = pair.one.at
    cdef const uint8_t* other = pair.other.at
    cdef int is_one = optional.present(&pair.one) if sides & ONE else 0
    cdef int is_other = optional.present(&pair.other) if sides & OTHER else 0
    if is_one < 0 or is_other < 0:
        return -1
    if not are_alike(pair, sides, one, other):
        note(pair, sides, one, other, "nullable struct", "present" if is_one else None, "present" if is_other else None)
    sides = (ONE if is_one else 0) | (OTHER if is_other else 0)
    return optional.inner.diff_c(pair, sides) if sides else 0


cdef int diff_message(Message message, Pair* pair, int sides) except -2:
    cdef int i = 0, level, code
    cdef Step* step
    pair.trail.depth += 1
    level = pair.trail.depth
    while i < message.count:
        step = &message.steps[i]
        if sides == BOTH and step.run and skip_alike(pair, step.run):
            i += step.run_fields
            continue
        pair.trail.name[level] = step.key
        code = diff_step(step, pair, sides)
        if code:
            return code
        i += 1
    code = diff_tags(message, pair, sides) if message.flexible else 0
    pair.trail.depth -= 1
    return code


cdef inline bint skip_alike(Pair* pair, Py_ssize_t size) noexcept:
    """Skip bytes that are the same; return False if they differ, or are missing."""
    if pair.one.end - pair.one.at < size or pair.other.end - pair.other.at < size:
        return False
    if memcmp(pair.one.at, pair.other.at, size) != 0:
        return False
    pair.one.at += size
    pair.other.at += size
    return True


cdef inline int diff_step(Step* step, Pair* pair, int sides) except -2:
    if step.op == CHILD:
        return (<Node>step.node).diff_c(pair, sides)
    return diff_value(step.op, step.flags, pair, sides)


cdef int diff_tags(Message message, Pair* pair, int sides) except -2:
    """Compare a section of tagged fields: the heads by their order, the fields by their tags."""
    cdef TagHead ones = TagHead(0, 0, 0, -1, False), others = TagHead(0, 0, 0, -1, False)
    cdef const uint8_t* one = pair.one.at
    cdef const uint8_t* other = pair.other.at
    cdef int now, code
    if sides & ONE and varint(&pair.one, &ones.left) or sides & OTHER and varint(&pair.other, &others.left):
        return -1
    if sides == BOTH and ones.left == others.left == 0:
        return 0
    pair.trail.name[pair.trail.depth] = <PyObject*>TAG_SECTION
    if not are_alike(pair, sides, one, other):
        note(pair, sides, one, other, "tag count", ones.left, others.left)
    if diff_heads(pair, ones, others):
        return -1
    while True:
        if take_head(&pair.one, &ones) or take_head(&pair.other, &others):
            return -1
        now = ONE if ones.held and (not others.held or ones.tag <= others.tag) else 0
        now |= OTHER if others.held and (not ones.held or others.tag <= ones.tag) else 0
        if not now:
            return 0
        code = diff_tag(message, pair, now, &ones, &others)
        if code:
            return code


cdef int diff_heads(Pair* pair, TagHead ones, TagHead others) except -2:
    """Compare the tags and sizes of two sections by their order; the cursors stay in place."""
    cdef const uint8_t* first = pair.one.at
    cdef const uint8_t* other_first = pair.other.at
    cdef const uint8_t* one
    cdef const uint8_t* other
    cdef int now
    while ones.left or others.left:
        now = (ONE if ones.left else 0) | (OTHER if others.left else 0)
        one, other = pair.one.at, pair.other.at
        if take_head(&pair.one, &ones) or take_head(&pair.other, &others):
            return -1
        if not are_alike(pair, now, one, other):
            note(pair, now, one, other, "tag and size", head_text(&ones), head_text(&others))
        if ones.held:
            pair.one.at += ones.size
        if others.held:
            pair.other.at += others.size
        ones.held = others.held = False
    pair.one.at, pair.other.at = first, other_first
    return 0


cdef inline int take_head(Cursor* cursor, TagHead* head) noexcept:
    """Read the next tag and its size, if there is one and none is held."""
    if head.held or not head.left:
        return 0
    head.left -= 1
    head.held = True
    return next_tag(cursor, &head.before, &head.tag, &head.size)


cdef str head_text(TagHead* head):
    return f"tag {head.tag}, {head.size} bytes"


cdef int diff_tag(Message message, Pair* pair, int sides, TagHead* ones, TagHead* others) except -2:
    """Compare the tagged field that these sides hold."""
    cdef const uint8_t* one = pair.one.at
    cdef const uint8_t* other = pair.other.at
    cdef const uint8_t* one_end = pair.one.end
    cdef const uint8_t* other_end = pair.other.end
    cdef uint32_t tag = ones.tag if sides & ONE else others.tag
    cdef Step* step = message.tag_step(tag)
    cdef int code
    if sides & ONE:
        pair.one.end = one + ones.size
        ones.held = False
    if sides & OTHER:
        pair.other.end = other + others.size
        others.held = False
    if step == NULL:
        diff_unknown(tag, pair, sides)
    else:
        pair.trail.name[pair.trail.depth] = step.key
        code = diff_step(step, pair, sides)
        if code:
            return code
    if sides & ONE and pair.one.at != pair.one.end or sides & OTHER and pair.other.at != pair.other.end:
        return -1
    pair.one.end, pair.other.end = one_end, other_end
    return 0


cdef int diff_unknown(uint32_t tag, Pair* pair, int sides) except -2:
    """Compare an unknown tagged field, whose bytes are the rest of the sides."""
    cdef const uint8_t* one = pair.one.at
    cdef const uint8_t* other = pair.other.at
    cdef bytes data = b"", other_data = b""
    if sides & ONE:
        pair.one.at = pair.one.end
        data = one[: pair.one.end - one]
    if sides & OTHER:
        pair.other.at = pair.other.end
        other_data = other[: pair.other.end - other]
    if are_alike(pair, sides, one, other):
        return 0
    name = f"tag {tag}"
    pair.trail.name[pair.trail.depth] = <PyObject*>name
    return note(pair, sides, one, other, "unknown tagged field", data, other_data)
