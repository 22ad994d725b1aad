# Values that JSON hides.


cdef inline bint hides(Cursor* cursor) noexcept:
    """Return whether secrets are hidden, which is the default."""
    return cursor.context == NULL or not cursor.context.secrets


cdef int out_redacted(Out* out, Py_ssize_t size) noexcept:
    """Write a secret's placeholder, which shows only its size in bytes."""
    cdef char* p
    if out_reserve(out, 40):
        return KC_MEMORY
    p = out.data + out.size
    memcpy(p, b'{"redacted":', 12)
    p = put_int(p + 12, size)
    p[0] = b"}"
    out.size = p + 1 - out.data
    return 0


cdef int json_redacted(Py_ssize_t size, Cursor* cursor, Out* out) noexcept:
    """Write a secret's placeholder, and count it in the context."""
    if cursor.context != NULL:
        cursor.context.redactions += 1
    return no_memory(cursor) if out_redacted(out, size) else 0


cdef enum:
    VERDICTS = 512        # a power of 2
    JUDGED_NAME = 60      # bytes of a name whose verdict is kept
    TRIES = 4             # places in which a verdict may be

# A config's name, and whether its value is a secret. size 0: none.
cdef struct Verdict:
    uint8_t size, resource, secret
    char name[JUDGED_NAME]


cdef class Secret(Scalar):
    """A string or bytes field that JSON hides.

    judge: judge(name, resource type) returns whether a config's value is a secret. The name is the field of that name
    in the same struct, the type the last `resourceType` before it. None: it always is a secret. Results are kept.
    """

    cdef readonly object judge
    cdef Verdict* verdicts

    def __init__(self, str kind, bint nullable=False, bint compact=False, judge=None):
        Scalar.__init__(self, kind, nullable, compact)
        self.judge = judge
        if judge is not None:
            self.verdicts = <Verdict*>calloc(VERDICTS + TRIES, sizeof(Verdict))
            if self.verdicts == NULL:
                raise MemoryError

    def __dealloc__(self):
        free(self.verdicts)

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef size_t before = out.size
        cdef const uint8_t* at = cursor.at
        cdef Py_ssize_t length
        cdef int hidden = hides(cursor)
        if hidden and self.verdicts != NULL:
            hidden = self.judged(cursor, out)
            if hidden < 0:
                return raised(cursor)
        if json_rare(self.op, self.flags, cursor, out):       # a hidden value must be valid, too
            return -1
        if not hidden:
            return 0
        out.size = before
        cursor.at = at
        length = length_of(self.op, self.flags, cursor)
        if length < 0:
            return no_memory(cursor) if out_put(out, b"null", 4) else 0
        cursor.at += length
        return json_redacted(length, cursor, out)

    cdef int scan_c(self, Cursor* cursor, Out* out) noexcept:
        return self.json_c(cursor, out)

    cdef int judged(self, Cursor* cursor, Out* out) noexcept:
        """Return whether the config whose name was written last is a secret; -1 with an exception kept."""
        cdef JsonContext* context = cursor.context
        cdef const char* name
        cdef size_t size
        cdef Verdict* verdict
        if context == NULL or context.name_size <= 2 or out.data[context.name_at] != b'"':
            return 1
        name, size = out.data + context.name_at + 1, context.name_size - 2
        if size > JUDGED_NAME:
            return self.ask(name, size, context.resource)
        verdict = find_verdict(self.verdicts, name, size, context.resource)
        if verdict.size == 0 or not is_of(verdict, name, size, context.resource):
            verdict.size = 0
            verdict.secret = self.ask(name, size, context.resource)
            if <int8_t>verdict.secret < 0:
                return -1
            memcpy(verdict.name, name, size)
            verdict.size, verdict.resource = size, <uint8_t>context.resource
        return verdict.secret

    cdef int ask(self, const char* name, size_t size, int resource) noexcept:
        try:
            return bool(self.judge(name[:size].decode(), resource))
        except BaseException as error:
            keep_error(error)
            return -1


cdef inline bint is_of(Verdict* verdict, const char* name, size_t size, int resource) noexcept:
    return verdict.size == size and verdict.resource == <uint8_t>resource and memcmp(verdict.name, name, size) == 0


cdef inline Verdict* find_verdict(Verdict* verdicts, const char* name, size_t size, int resource) noexcept:
    """Return the verdict on a name, or the place for a new one: the first free place, or another verdict's."""
    cdef uint64_t first = 0, last = 0
    cdef Verdict* at
    cdef int i
    memcpy(&first, name, min(size, <size_t>8))
    memcpy(&last, name + size - min(size, <size_t>8), min(size, <size_t>8))
    first = ((first ^ size) * <uint64_t>0x9E3779B97F4A7C15 ^ last) * <uint64_t>0xC2B2AE3D27D4EB4F
    at = verdicts + (first >> 32) % VERDICTS
    for i in range(TRIES):
        if at[i].size == 0 or is_of(&at[i], name, size, resource):
            return &at[i]
    return at
