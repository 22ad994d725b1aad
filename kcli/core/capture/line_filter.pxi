# Which exchanges are wanted as lines: kcli.capture.filters at C speed.

cdef extern from *:
    """
    /* Whether an error code in JSON text is not 0. A name within a string would have a backslash before its quote. */
    static int kc_has_error(const char *text, size_t size) {
        static const char name[] = "rrorCode\\":";
        const char *end = text + size;
        while ((text = (const char *)memmem(text, (size_t)(end - text), name, sizeof name - 1))) {
            text += sizeof name - 1;
            if (text < end && *text != '0') return 1;
        }
        return 0;
    }
    static int kc_has_text(const char *text, size_t size, const char *part, size_t length) {
        return memmem(text, size, part, length) != NULL;
    }
    """
    bint has_error "kc_has_error"(const char* text, size_t size) nogil
    bint has_text "kc_has_text"(const char* text, size_t size, const char* part, size_t length) nogil


cdef class LineFilter:
    """A Filter. topic: only lines that have its name in quotes are looked into."""

    cdef bint keys_given
    cdef uint8_t[KEYS] keys
    cdef bytes client, topic
    cdef uint64_t since, until
    cdef bint errors
    cdef object filter

    def __init__(self, filter):
        from kcli.jsontext import dumps

        self.filter = filter
        self.keys_given = bool(filter.apis)
        for key in filter.apis:
            if 0 <= key < KEYS:
                self.keys[key] = 1
        self.client = None if filter.client_id is None else filter.client_id.encode()
        self.topic = None if filter.topic is None else dumps(filter.topic).encode()
        self.since = max(0, filter.since or 0)
        self.until = <uint64_t>-1 if filter.until is None else max(0, filter.until)
        self.errors = filter.errors

    cdef bint keeps(self, int key, int version, uint64_t ts, const uint8_t* frame, size_t n, const char* line, size_t size,
                    size_t answer) except -1:
        """`answer`: where in the line the response begins."""
        if self.keys_given and not self.keys[key]:
            return False
        if ts < self.since or ts > self.until:
            return False
        if self.client is not None and not self.is_client(key, version, frame, n):
            return False
        if self.errors and not has_error(line + answer, size - answer):
            return False
        if self.topic is not None:
            if not has_text(line, size, PyBytes_AS_STRING(self.topic), PyBytes_GET_SIZE(self.topic)):
                return False
            return self.filter.wants_line(line[:size])
        return True

    cdef bint is_client(self, int key, int version, const uint8_t* frame, size_t n) noexcept:
        cdef int64_t size
        cdef const uint8_t* text = client_id(frame, n, &size)
        if not has_client_id(key, version) or size != PyBytes_GET_SIZE(self.client):
            return False
        return memcmp(text, PyBytes_AS_STRING(self.client), size) == 0
