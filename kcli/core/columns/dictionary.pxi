# Builds Arrow dictionary columns: the number of a text -> a dense index among the texts of the current rows.

cdef struct DictionaryBuilder:
    int32_t* places       # by number, from 1 on; -1: not used yet
    size_t room
    Out used              # the numbers, by place


cdef int32_t place_of(DictionaryBuilder* p, uint32_t number) except -1:
    """Return a number's place in the dictionary; append the number if it has none."""
    cdef int32_t place
    cdef int32_t* grown
    if number >= p.room:
        grown = <int32_t*>realloc(p.places, 2 * (number + 64) * sizeof(int32_t))
        if grown == NULL:
            raise MemoryError
        memset(grown + p.room, -1, (2 * (number + 64) - p.room) * sizeof(int32_t))
        p.places, p.room = grown, 2 * (number + 64)
    if p.places[number] < 0:
        place = <int32_t>(p.used.size // sizeof(uint32_t))
        if out_put(&p.used, &number, sizeof(number)):
            raise MemoryError
        p.places[number] = place
    return p.places[number]


cdef void places_clear(DictionaryBuilder* p) noexcept:
    """Clear the places of all numbers."""
    cdef uint32_t* used = <uint32_t*>p.used.data
    cdef size_t i
    for i in range(p.used.size // sizeof(uint32_t)):
        p.places[used[i]] = -1
    p.used.size = 0


cdef void places_free(DictionaryBuilder* p) noexcept:
    free(p.places)
    out_free(&p.used)


cdef tuple strings(Texts* texts, DictionaryBuilder* p, size_t skip, size_t first=0):
    """Return (the int32 ends of the texts, after a 0; the texts) of the used ones, or of all without a
    DictionaryBuilder. skip: leave out the text up to the first "-", inclusive. first: the first one to return.
    """
    cdef size_t count = texts.count if p == NULL else p.used.size // sizeof(uint32_t)
    cdef size_t i, cut
    cdef Text* text
    cdef Out data, ends
    cdef int32_t end = 0
    memset(&data, 0, sizeof(data))
    memset(&ends, 0, sizeof(ends))
    try:
        if out_put(&ends, &end, sizeof(end)):
            raise MemoryError
        for i in range(first, count):
            text = &texts.texts[i if p == NULL else (<uint32_t*>p.used.data)[i] - 1]
            cut = dash(text.data, text.size) + 1 if skip else 0
            if cut < text.size and out_put(&data, text.data + cut, text.size - cut):
                raise MemoryError
            end = <int32_t>data.size
            if out_put(&ends, &end, sizeof(end)):
                raise MemoryError
        return PyBytes_FromStringAndSize(ends.data, ends.size), PyBytes_FromStringAndSize(data.data, data.size)
    finally:
        out_free(&data)
        out_free(&ends)


cdef inline size_t dash(const uint8_t* text, size_t size) noexcept:
    """Return the place of the first "-" in "server-client"."""
    cdef size_t i
    for i in range(size):
        if text[i] == 45:
            return i
    return size - 1
