# The places of one direction's bytes in a draft: the methods of kcli.redact.draft_packets.Extents.

cdef enum:
    KEPT = 64                    # packets that are filled in, but may be repeated
    LOOKED_AT = 256              # packets that may have the bytes of a repeated one


cdef int extents_add(Draft draft, Extents* extents, int64_t first, int64_t size, int64_t place) except -1:
    cdef size_t low, at
    cdef Extent* grown
    if not size:
        return 0
    if first < extents.end:
        low, at = near(extents, first, size)
        while low < at and at - low > LOOKED_AT:
            low += 1
        while low < at:
            copy_bytes(draft, &extents.items[low], first, size, place)
            low += 1
    if extents.count == extents.capacity:
        grown = <Extent*>realloc(extents.items, (2 * extents.capacity + 8) * sizeof(Extent))
        if grown == NULL:
            raise MemoryError
        extents.items, extents.capacity = grown, 2 * extents.capacity + 8
    at = extents.count
    while at and is_behind(&extents.items[at - 1], first, size, place):
        extents.items[at] = extents.items[at - 1]
        at -= 1
    extents.items[at] = Extent(first, place, size)
    extents.count += 1
    extents.longest, extents.end = max(extents.longest, size), max(extents.end, first + size)
    if extents.count > 2 * extents.pruned + 2 * KEPT:
        prune(extents)
    return 0


cdef inline bint is_behind(const Extent* each, int64_t first, int64_t size, int64_t place) noexcept:
    if each.first != first:
        return each.first > first
    return each.size > size or (each.size == size and each.place > place)


cdef (size_t, size_t) near(const Extents* extents, int64_t first, int64_t size) noexcept:
    """Return the range of entries (first, end) that may hold some of these bytes."""
    return below(extents, first - extents.longest), below(extents, first + size)


cdef size_t below(const Extents* extents, int64_t first) noexcept:
    """Return the number of entries that begin before a byte."""
    cdef size_t low = 0, high = extents.count, middle
    while low < high:
        middle = (low + high) // 2
        if extents.items[middle].first < first:
            low = middle + 1
        else:
            high = middle
    return low


cdef void prune(Extents* extents) noexcept:
    """Forget old entries that are filled in."""
    cdef size_t i, done = 0, left = 0
    cdef Extent* each
    for i in range(extents.count):
        done += extents.items[i].first + extents.items[i].size <= extents.settled
    done = done - KEPT if done > KEPT else 0
    extents.longest = 0
    for i in range(extents.count):
        each = &extents.items[i]
        if done and each.first + each.size <= extents.settled:
            done -= 1
            continue
        extents.longest = max(extents.longest, each.size)
        extents.items[left] = each[0]
        left += 1
    extents.count = extents.pruned = left


cdef int extents_fill(Draft draft, Extents* extents, int64_t first, const uint8_t* data, int64_t size) except -1:
    """Write redacted bytes, from `first` on, to every entry that has some of them."""
    cdef size_t at, end
    cdef int64_t low, high
    cdef Extent* each
    at, end = near(extents, first, size)
    while at < end:
        each = &extents.items[at]
        low, high = max(each.first, first), min(each.first + each.size, first + size)
        if low < high:
            draft.fill_at(each.place + low - each.first, data + (low - first), high - low)
        at += 1
    return 0


cdef int copy_bytes(Draft draft, Extent* source, int64_t first, int64_t size, int64_t place) except -1:
    """Copy those of the `size` bytes from `first` on that another entry has. place: that of `first` in the draft."""
    cdef int64_t low = max(source.first, first), high = min(source.first + source.size, first + size)
    cdef bytes data
    if low < high:
        data = draft.read(source.place + low - source.first, high - low)
        draft.fill_at(place + low - first, <const uint8_t*>PyBytes_AS_STRING(data), high - low)
    return 0


cdef void extents_free(Extents* extents) noexcept:
    free(extents.items)
    memset(extents, 0, sizeof(Extents))
