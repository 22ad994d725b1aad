# Columns of text under construction, and searches in the text.
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from kcli.core.codec.interner cimport Text
from kcli.core.codec.messages cimport Out, out_put

cdef extern from *:
    """
    #include <string.h>
    static inline int kc_next_error(const char **from, const char *end, int64_t *code) {
        /* Sets the next number after `rrorCode":` that is not 0; returns 0 for none. A capital C is rare. */
        const char *p = *from;
        if (end - p < 12) return 0;
        for (p += 4; end - p > 7; p++) {
            p = (const char *)memchr(p, 'C', (size_t)(end - p - 6));
            if (p == NULL) return 0;
            if (memcmp(p - 4, "rrorCode\\":", 10) || p[6] == '0') continue;
            p += 6;
            int minus = *p == '-';
            *code = 0;
            for (p += minus; p < end && *p >= '0' && *p <= '9'; p++) *code = *code * 10 + *p - '0';
            if (minus) *code = -*code;
            *from = p;
            return 1;
        }
        return 0;
    }
    """
    bint next_error "kc_next_error"(const char** p, const char* end, int64_t* code) nogil


# A column of text: all of it, and the ends of the rows, after a 0.
cdef struct Column:
    Out text, ends


cdef inline int end(Out* ends, size_t size) except -1:
    """Append the end of a row's text; the first one begins at 0."""
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


cdef inline bint is_heard(
    Text* words, int64_t voice, const uint8_t* request, size_t n, const uint8_t* response, size_t m
) noexcept:
    """Return whether a text holds these bytes, heard after that voice."""
    if words.kind != <int>voice or words.size != n + m:
        return False
    return memcmp(words.data, request, n) == 0 and memcmp(words.data + n, response, m) == 0


cdef inline bytes ends(Out* out):
    """Return all ends, and empty the buffer; one 0 without rows."""
    return text(out) or bytes(sizeof(int32_t))


cdef inline bytes text(Out* out):
    """Return all bytes of a buffer, and empty it."""
    made = PyBytes_FromStringAndSize(out.data, out.size)
    out.size = 0
    return made
