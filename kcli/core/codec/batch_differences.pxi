# Compares two rows of record batches: plain ones of magic 2, whose records are not compressed.

from kcli.core.codec.layouts cimport (
    KB_AT_ATTRIBUTES, KB_AT_BATCH_LENGTH, KB_AT_MAGIC, KB_AT_RECORD_COUNT, KB_HEADER_2, KB_OVERHEAD,
)


cdef extern from "records.h" nogil:
    const uint8_t* read_zigzag "kb_varlong"(
        const uint8_t* p, const uint8_t* end, int most, int64_t* value, int* odd, int* code
    )


cdef enum:
    CODEC_OR_CONTROL = 7 | 32     # of a batch's attributes
    VARINT_MOST = 5               # bytes
    VARLONG_MOST = 10

cdef str BATCHES = "batches", RECORDS_NAME = "records", LENGTH = "length", ATTRIBUTES = "attributes"
cdef str TIMESTAMP_DELTA = "timestampDelta", OFFSET_DELTA = "offsetDelta", KEY = "key", VALUE = "value"
cdef str HEADER_COUNT = "headers#count", HEADERS = "headers"


def batch_differences(Message header not None, bytes one not None, bytes other not None):
    """Compare all bytes as record batches, with Node.differences's result. header: the node of a batch's header."""
    cdef Pair pair
    cdef list found = [], added = []
    start_pair(&pair, one, 0, other, 0, found, added)
    pair.batch = <PyObject*>header
    return (found, added) if diff_batches(&pair, BOTH, len(one), len(other)) == 0 else None


cdef int diff_records(int flags, Pair* pair, int sides) except -2:
    """Compare a records field: its length and the batches after it."""
    cdef const uint8_t* one = pair.one.at
    cdef const uint8_t* other = pair.other.at
    cdef Py_ssize_t ones = length_of(RECORDS, flags, &pair.one) if sides & ONE else -1
    cdef Py_ssize_t others = length_of(RECORDS, flags, &pair.other) if sides & OTHER else -1
    if ones == -2 or others == -2:
        return -1
    if not are_alike(pair, sides, one, other):
        value = None if ones < 0 else PyBytes_FromStringAndSize(<const char*>pair.one.at, ones)
        other_value = None if others < 0 else PyBytes_FromStringAndSize(<const char*>pair.other.at, others)
        note(pair, sides, one, other, kind_text(RECORDS, flags), value, other_value)
    elif ones < 0 or skip_alike(pair, ones):
        return 0
    return diff_batches(pair, (ONE if ones > 0 else 0) | (OTHER if others > 0 else 0), max(ones, 0), max(others, 0))


cdef int diff_batches(Pair* pair, int sides, Py_ssize_t ones, Py_ssize_t others) except -2:
    """Compare the batches in the next `ones` and `others` bytes of the sides."""
    cdef const uint8_t* one_end = pair.one.end
    cdef const uint8_t* other_end = pair.other.end
    cdef int now, code
    pair.one.end = pair.one.at + ones
    pair.other.end = pair.other.at + others
    enter_list(pair, BATCHES)
    while True:
        now = (ONE if sides & ONE and pair.one.at < pair.one.end else 0)
        now |= (OTHER if sides & OTHER and pair.other.at < pair.other.end else 0)
        if not now:
            break
        code = diff_batch(pair, now)
        if code:
            return code
        pair.trail.index[pair.trail.depth] += 1
    pair.trail.depth -= 2
    pair.one.end, pair.other.end = one_end, other_end
    return 0


cdef int enter_list(Pair* pair, str name) noexcept:
    """Set the trail to the first entry of a list, two levels deeper."""
    pair.trail.name[pair.trail.depth + 1] = <PyObject*>name
    pair.trail.depth += 2
    pair.trail.name[pair.trail.depth] = NULL
    pair.trail.index[pair.trail.depth] = 0
    return 0


cdef const uint8_t* batch_end(Cursor* cursor) noexcept:
    """Return the end of the batch; NULL if it is cut, or of a kind that the reference reads."""
    cdef const uint8_t* at = cursor.at
    cdef Py_ssize_t size
    if cursor.end - at < KB_HEADER_2 or at[KB_AT_MAGIC] != 2 or be16(at + KB_AT_ATTRIBUTES) & CODEC_OR_CONTROL:
        return NULL
    size = KB_OVERHEAD + <Py_ssize_t><int32_t>be32(at + KB_AT_BATCH_LENGTH)
    return at + size if KB_HEADER_2 <= size <= cursor.end - at else NULL


cdef int diff_batch(Pair* pair, int sides) except -2:
    cdef const uint8_t* one_end = pair.one.end
    cdef const uint8_t* other_end = pair.other.end
    cdef int32_t i, ones = 0, others = 0
    cdef int code
    if sides & ONE:
        pair.one.end = batch_end(&pair.one)
        if pair.one.end == NULL:
            return -1
        ones = <int32_t>be32(pair.one.at + KB_AT_RECORD_COUNT)
    if sides & OTHER:
        pair.other.end = batch_end(&pair.other)
        if pair.other.end == NULL:
            return -1
        others = <int32_t>be32(pair.other.at + KB_AT_RECORD_COUNT)
    code = diff_message(<Message>pair.batch, pair, sides)
    if code:
        return code
    enter_list(pair, RECORDS_NAME)
    for i in range(max(ones, others)):
        pair.trail.index[pair.trail.depth] = i
        code = diff_record(pair, (ONE if i < ones else 0) | (OTHER if i < others else 0))
        if code:
            return code
    pair.trail.depth -= 2
    if sides & ONE and pair.one.at != pair.one.end or sides & OTHER and pair.other.at != pair.other.end:
        return -1
    pair.one.end, pair.other.end = one_end, other_end
    return 0


cdef int diff_record(Pair* pair, int sides) except -2:
    cdef int64_t size = 0, other_size = 0, number = 0, other_number = 0
    cdef const uint8_t* one
    cdef const uint8_t* other
    pair.trail.depth += 1
    if diff_varint(pair, sides, LENGTH, VARINT_MOST, &size, &other_size):
        return -1
    one, other = pair.one.at + size, pair.other.at + other_size
    pair.trail.name[pair.trail.depth] = <PyObject*>ATTRIBUTES
    if (
        diff_value(INT8, 0, pair, sides)
        or diff_varint(pair, sides, TIMESTAMP_DELTA, VARLONG_MOST, &number, &other_number)
        or diff_varint(pair, sides, OFFSET_DELTA, VARINT_MOST, &number, &other_number)
        or diff_bytes(pair, sides, KEY, True)
        or diff_bytes(pair, sides, VALUE, True)
        or diff_headers(pair, sides)
    ):
        return -1
    pair.trail.depth -= 1
    return -1 if sides & ONE and pair.one.at != one or sides & OTHER and pair.other.at != other else 0


cdef int diff_headers(Pair* pair, int sides) except -2:
    cdef int64_t i, ones = 0, others = 0
    cdef int now
    if diff_varint(pair, sides, HEADER_COUNT, VARINT_MOST, &ones, &others):
        return -1
    if sides & ONE and not 0 <= ones <= pair.one.end - pair.one.at:
        return -1
    if sides & OTHER and not 0 <= others <= pair.other.end - pair.other.at:
        return -1
    pair.trail.depth -= 1
    enter_list(pair, HEADERS)
    pair.trail.depth += 1
    for i in range(max(ones, others)):
        pair.trail.index[pair.trail.depth - 1] = i
        now = (ONE if i < ones else 0) | (OTHER if i < others else 0)
        if diff_bytes(pair, now, KEY, False) or diff_bytes(pair, now, VALUE, True):
            return -1
    pair.trail.depth -= 2
    return 0


cdef int diff_varint(Pair* pair, int sides, str name, int most, int64_t* value, int64_t* other_value) except -2:
    """Compare a zigzag varint, and set the value of each side that has one."""
    cdef const uint8_t* one = pair.one.at
    cdef const uint8_t* other = pair.other.at
    if sides & ONE and zigzag(&pair.one, most, value) or sides & OTHER and zigzag(&pair.other, most, other_value):
        return -1
    if are_alike(pair, sides, one, other):
        return 0
    pair.trail.name[pair.trail.depth] = <PyObject*>name
    kind = "varint" if most == VARINT_MOST else "varlong"
    return note(pair, sides, one, other, kind, value[0], other_value[0])


cdef int diff_bytes(Pair* pair, int sides, str name, bint nullable) except -2:
    """Compare bytes with their length as a zigzag varint; a length below 0 is null."""
    cdef const uint8_t* one = pair.one.at
    cdef const uint8_t* other = pair.other.at
    cdef int64_t size = -1, other_size = -1
    if sides & ONE and zigzag_bytes(&pair.one, nullable, &size):
        return -1
    if sides & OTHER and zigzag_bytes(&pair.other, nullable, &other_size):
        return -1
    if are_alike(pair, sides, one, other):
        return 0
    pair.trail.name[pair.trail.depth] = <PyObject*>name
    value = None if size < 0 else PyBytes_FromStringAndSize(<const char*>pair.one.at - size, size)
    other_value = (
        None
        if other_size < 0
        else PyBytes_FromStringAndSize(<const char*>pair.other.at - other_size, other_size)
    )
    return note(pair, sides, one, other, "bytes", value, other_value)


cdef inline int zigzag(Cursor* cursor, int most, int64_t* value) noexcept:
    cdef int odd = 0, code = 0
    cdef const uint8_t* at = read_zigzag(cursor.at, cursor.end, most, value, &odd, &code)
    if at == NULL:
        return -1
    cursor.at = at
    return 0


cdef inline int zigzag_bytes(Cursor* cursor, bint nullable, int64_t* size) noexcept:
    """Skip bytes with their length as a zigzag varint, and set that length."""
    if zigzag(cursor, VARINT_MOST, size) or size[0] > cursor.end - cursor.at or (size[0] < 0 and not nullable):
        return -1
    if size[0] > 0:
        cursor.at += size[0]
    return 0
