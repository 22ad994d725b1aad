# The columns of a Fetch that a session needs, read by a layout that comes from the message tables.

cdef enum:
    # What a field is; the rest of a layout's entry: bytes of a fixed one, and the column it goes to (-1: none).
    FIXED = 0
    UUID_ = 1
    TEXT = 2              # a string: the topic's name, or of no interest
    BYTES = 3             # records
    NESTED = 4            # topics, or a topic's partitions
    EMPTY = 5             # an array that must have nothing in it (or be null)
    TAGS = 6

cdef enum:
    # Columns of a partition
    INDEX = 0
    OFFSET = 1            # ... asked for: offset, log start offset, max bytes, leader epoch, last fetched epoch
    ERROR = 1             # ... told of: error, high watermark, last stable offset, log start offset, preferred replica
    HIGH = 2
    STABLE = 3
    START = 4
    PREFERRED = 5
    RECORDS = 6
    # Columns of a message
    SESSION = 0
    EPOCH = 1
    MAX_BYTES = 2
    ISOLATION = 3
    REPLICA = 4
    THROTTLE = 2
    COLUMNS = 8


cdef enum:
    # Kinds of text
    NAME = 0
    ID = 1
    SERVER = 2


cdef struct Op:
    int kind, width, column


# fixed: how many in front are of fixed width; front: their bytes.
cdef struct Ops:
    Op* ops
    int count, fixed, front


# One side: message, topic, partition.
cdef struct Layout:
    Ops levels[3]


cdef int make_ops(Ops* made, list fields) except -1:
    made.count = len(fields)
    made.ops = <Op*>calloc(max(1, made.count), sizeof(Op))
    if made.ops == NULL:
        raise MemoryError
    for i, (kind, width, column) in enumerate(fields):
        made.ops[i] = Op(kind, width, column)
        if kind == FIXED and made.fixed == i:
            made.fixed += 1
            made.front += width
    return 0


cdef inline int length(Reader* r, int width, int64_t* count) noexcept:
    """A length: an unsigned varint of one more in flexible versions, else `width` bytes; -1 for null."""
    cdef uint64_t value
    if r.flexible:
        if varint(r, &value):
            return -1
        count[0] = <int64_t>value - 1
        return 0
    if r.end - r.at < width:
        return -1
    count[0] = fixed(r.at, width)
    r.at += width
    return 0


cdef int read_replica(Reader* r, int64_t* replica) noexcept:
    """The tags of a request: a follower's state (tag 1, its id in front) or none; other than 0 for any other."""
    cdef uint64_t count, tag, size, i
    if varint(r, &count):
        return -1
    for i in range(count):
        if varint(r, &tag) or varint(r, &size) or size > <uint64_t>(r.end - r.at) or tag != 1 or size < 4:
            return -1
        replica[0] = fixed(r.at, 4)
        r.at += size
    return 0
