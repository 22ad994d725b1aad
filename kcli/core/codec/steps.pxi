# One field of a message, as the operations use it.


cdef enum Role:
    PLAIN = 0
    TOPIC_ID = 1
    TOPIC_NAME = 2
    CONFIG_NAME = 3
    RESOURCE_TYPE = 4

cdef enum:
    KEY_ROOM = 64         # room for a key: it is padded, as its first 32 bytes are copied as one block
    VALUE_ROOM = 24       # the longest fixed value: a uuid in quotes
    SEVERAL = -1          # see Step.error_at
    KEPT_STRING = 64      # strings up to this length are kept, and reused without a new object

cdef struct Step:
    int op
    int flags
    int width             # bytes of a fixed field
    int run               # bytes of the fixed fields from here to the next field that is not; 0 inside a run
    int run_fields        # the number of those fields, from a fixed one on
    int tag
    int role
    bint told             # a fixed field that may be invalid, or tells an error or a topic
    bint is_error         # an error code
    int error_at          # where the error code in the run from here on ends; 0: none, SEVERAL: anywhere
    bint direct           # the JSON is put_fixed's: a fixed field without a meaning for others
    int key_size
    char* key_text        # `,"name":`, padded
    PyObject* key
    PyObject* node        # CHILD: the Node
    PyObject* default     # bytes: the encoding of the default
    PyObject* kept        # the last value read, and the bytes by which it is recognized
    int64_t kept_int
    const char* kept_text
    Py_ssize_t kept_size


cdef void release(Step* step) noexcept:
    free(step.key_text)
    xdecref(step.key)
    xdecref(step.node)
    xdecref(step.default)
    xdecref(step.kept)


cdef inline int next_tag(Cursor* cursor, int64_t* before, uint32_t* tag, uint32_t* size) noexcept:
    """Read a tag and its size, and check that its bytes are there; repeated tags and tags out of order are for the
    fallback.
    """
    cdef const uint8_t* at = cursor.at
    if cursor.end - at >= 2 and (at[0] | at[1]) < 0x80 and at[0] > before[0] and at[1] <= cursor.end - at - 2:
        tag[0], size[0] = at[0], at[1]
        before[0] = at[0]
        cursor.at = at + 2
        return 0
    return rare_tag(cursor, before, tag, size)


cdef int rare_tag(Cursor* cursor, int64_t* before, uint32_t* tag, uint32_t* size) noexcept:
    """Read as `next_tag` does a head that takes more than two bytes, or is invalid."""
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


cdef int tag_ends(Step* step, const uint8_t* at, const uint8_t* end, Cursor* cursor) noexcept:
    if cursor.at != cursor.end:
        stop(cursor, TAG_SIZE, at, cursor.end - at, cursor.at - at)
        return within(cursor, <object>step.key)
    cursor.end = end
    return 0
