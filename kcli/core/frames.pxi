# Where a reader of a frame's body stands, and what it passes over.

cdef struct Reader:
    const uint8_t* at
    const uint8_t* end
    bint flexible


cdef inline int varint(Reader* r, uint64_t* value) noexcept:
    if r.at < r.end and r.at[0] < 0x80:
        value[0] = r.at[0]
        r.at += 1
        return 0
    return long_varint(r, value)


cdef int long_varint(Reader* r, uint64_t* value) noexcept:
    cdef int shift = 0
    cdef uint8_t byte
    value[0] = 0
    while r.at < r.end and shift < 35:
        byte = r.at[0]
        r.at += 1
        value[0] |= <uint64_t>(byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return 0
    return -1


cdef inline int pass_bytes(Reader* r, int64_t count) noexcept:
    if count > r.end - r.at:
        return -1
    if count > 0:
        r.at += count
    return 0


cdef inline int pass_tags(Reader* r, bint none) noexcept:
    """Tagged fields; with `none` there must be none that could matter."""
    if r.at < r.end and r.at[0] == 0:
        r.at += 1
        return 0
    return pass_some_tags(r, none)


cdef int pass_some_tags(Reader* r, bint none) noexcept:
    cdef uint64_t count, tag, size
    cdef uint64_t i
    if varint(r, &count) or (none and count):
        return -1
    for i in range(count):
        if varint(r, &tag) or varint(r, &size) or size > <uint64_t>(r.end - r.at):
            return -1
        r.at += size
    return 0
