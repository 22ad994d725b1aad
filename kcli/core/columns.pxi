# Columns of text under way, and what stands in the text.

cdef extern from *:
    """
    #include <string.h>
    static const char *kc_find_error(const char *p, const char *end) {
        /* behind the next `rrorCode":` that no 0 follows; NULL: there is none. A capital C is rare. */
        for (p += 4; end - p > 7; p++) {
            p = (const char *)memchr(p, 'C', (size_t)(end - p - 6));
            if (p == NULL) return NULL;
            if (memcmp(p - 4, "rrorCode\\":", 10) == 0 && p[6] != '0') return p + 6;
        }
        return NULL;
    }
    /* The next topic id that stands without a name; NULL: there is none. */
    static const char *kc_find_unnamed(const char *p, const char *end) {
        for (p += 6; end - p > 27; p++) {
            p = (const char *)memchr(p, 'I', (size_t)(end - p - 27));
            if (p == NULL) return NULL;
            if (memcmp(p - 6, "\\"topicId\\":\\"", 11)) continue;
            p += 5;
            if (end - p < 36 || memcmp(p + 22, "\\",\\"_topicName\\"", 14)) return p;
        }
        return NULL;
    }
    """
    const char* find_error "kc_find_error"(const char* p, const char* end) nogil
    const char* find_unnamed "kc_find_unnamed"(const char* p, const char* end) nogil


# A column of text: all of it, and where each row's ends, behind a 0.
cdef struct Column:
    Out text, ends


cdef inline int end(Out* ends, size_t size) except -1:
    """Where a row's text ends; the first one begins at 0."""
    cdef int32_t at = 0
    if ends.size == 0 and out_put(ends, &at, sizeof(at)):
        raise MemoryError
    at = <int32_t>size
    if out_put(ends, &at, sizeof(at)):
        raise MemoryError
    return 0


cdef inline const char* end_of(Out* out) noexcept:
    return out.data + out.size


cdef inline bint is_in(Out* numbers, size_t first, int64_t number) noexcept:
    cdef size_t i
    for i in range(first, numbers.size // sizeof(int64_t)):
        if (<int64_t*>numbers.data)[i] == number:
            return True
    return False


cdef inline bint is_heard(Text* words, int64_t voice, const uint8_t* request, size_t n, const uint8_t* response, size_t m) noexcept:
    """Whether those words after that voice are the same."""
    if words.kind != <int>voice or words.size != n + m:
        return False
    return memcmp(words.data, request, n) == 0 and memcmp(words.data + n, response, m) == 0


cdef list texts(Texts* found):
    cdef size_t i
    return [(<const char*>found.texts[i].data)[: found.texts[i].size].decode() for i in range(found.count)]


cdef bytes ends(Out* out):
    """All of them; one 0 without a row."""
    return text(out) or bytes(sizeof(int32_t))


cdef inline bytes text(Out* out):
    """All of it, which is empty then."""
    made = PyBytes_FromStringAndSize(out.data, out.size)
    out.size = 0
    return made


cdef inline object view(Out* out):
    """The same where it lies."""
    made = PyMemoryView_FromMemory(out.data, out.size, PyBUF_READ) if out.size else b""
    out.size = 0
    return made
