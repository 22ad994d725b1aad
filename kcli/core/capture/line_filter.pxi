# Filters exchanges as lines, like kcli.capture.filters.

cdef extern from *:
    """
    static int kc_has_text(const char *text, size_t size, const char *part, size_t length) {
        return memmem(text, size, part, length) != NULL;
    }

    #define KC_ID "\\"topicId\\":\\""
    #define KC_NAMED ",\\"_topicName\\":"
    #define KC_NO_ID "AAAAAAAAAAAAAAAAAAAAAA"

    /* Returns whether a line has a topic id without its name after it; the name may be before it. */
    static int kc_may_be_nameless(const char *text, size_t size) {
        const char *end = text + size, *at = text;
        while ((at = memmem(at, end - at, KC_ID, sizeof(KC_ID) - 1)) != NULL) {
            const char *id = at + sizeof(KC_ID) - 1, *after = id + 23;
            at = id;
            if (end - id < 23 || memcmp(id, KC_NO_ID, 22) == 0)
                continue;
            if (end - after < (long)sizeof(KC_NAMED) - 1 || memcmp(after, KC_NAMED, sizeof(KC_NAMED) - 1) != 0)
                return 1;
        }
        return 0;
    }
    """
    bint may_be_nameless "kc_may_be_nameless"(const char* text, size_t size) nogil
    bint has_text "kc_has_text"(const char* text, size_t size, const char* part, size_t length) nogil


cdef enum:
    MOST_NAMES = 10000      # most names to remember


cdef class LineFilter:
    """A Filter. topic: only lines with its name in quotes are parsed; looked: all lines are parsed, as it is a pattern.
    nameless: the number of lines left out that have only a topic id, by id. clients, links: whether names fit the
    pattern; None: there is no pattern. codes: whether errors fit.
    """

    cdef bint keys_given
    cdef uint8_t[KEYS] keys
    cdef bytes client, topic, connection
    cdef uint64_t since, until, slower_than
    cdef bint errors, slow, looked
    cdef dict clients, links, codes
    cdef readonly object nameless
    cdef object filter

    def __init__(self, filter):
        from collections import Counter

        from kcli.jsontext import dumps

        self.filter, self.nameless = filter, Counter()
        self.keys_given = bool(filter.apis)
        for key in filter.apis:
            if 0 <= key < KEYS:
                self.keys[key] = 1
        names = [filter.client_id, filter.connection, filter.topic]
        patterns = filter.patterns
        client, connection, topic = [None if pattern else name for name, pattern in zip(names, patterns)]
        self.clients, self.links = {} if patterns[0] else None, {} if patterns[1] else None
        self.looked = patterns[2]
        self.client = None if client is None else client.encode()
        self.connection = None if connection is None else connection.encode()
        self.topic = None if topic is None else dumps(topic).encode()
        self.codes = None if filter.error is None else {}
        self.slow, self.slower_than = filter.slower_than is not None, max(0, filter.slower_than or 0)
        self.since = max(0, filter.since or 0)
        self.until = <uint64_t>-1 if filter.until is None else max(0, filter.until)
        self.errors = filter.errors

    cdef bint keeps(self, Exchange* e, const char* line, size_t size, ErrorCodes errors) except -1:
        """Return whether the filter keeps an exchange's line. errors: those of the response."""
        if self.keys_given and not self.keys[e.key]:
            return False
        if e.ts < self.since or e.ts > self.until:
            return False
        if self.client is not None and not self.is_client(e):
            return False
        if self.slow and (e.response == NULL or e.answered <= e.ts or e.answered - e.ts <= self.slower_than):
            return False
        if (
            self.connection is not None
            and not has_text(e.link, e.link_size, PyBytes_AS_STRING(self.connection), PyBytes_GET_SIZE(self.connection))
        ):
            return False
        if self.clients is not None and not self.is_fitting_client(e):
            return False
        if self.links is not None and not self.fits(self.links, self.filter.fits_connection, link_of(e)):
            return False
        if self.errors and errors.count() == 0:
            return False
        if self.codes is not None and not self.is_fitting_error(errors):
            return False
        if self.topic is not None:
            if not has_text(line, size, PyBytes_AS_STRING(self.topic), PyBytes_GET_SIZE(self.topic)):
                return self.overlook(line, size)
        if not self.looked and self.topic is None:
            return True
        return self.filter.wants_line(line[:size]) or self.overlook(line, size)

    cdef bint overlook(self, const char* line, size_t size) except -1:
        """Leave a line out by its topic, and count it if its topic id may be of the wanted topic. Return False."""
        if may_be_nameless(line, size):
            self.filter.count_nameless(line[:size], self.nameless)
        return False

    cdef bint is_client(self, Exchange* e) noexcept:
        cdef int64_t size
        cdef const uint8_t* text = client_id(e.request, e.request_size, &size)
        if not has_client_id(e.key, e.version) or size != PyBytes_GET_SIZE(self.client):
            return False
        return memcmp(text, PyBytes_AS_STRING(self.client), size) == 0

    cdef bint is_fitting_client(self, Exchange* e) except -1:
        cdef int64_t size
        cdef const char* text = <const char*>client_id(e.request, e.request_size, &size)
        if not has_client_id(e.key, e.version) or size < 0:
            return False
        return self.fits(self.clients, self.filter.fits_client, text[:size])

    cdef bint is_fitting_error(self, ErrorCodes errors) except -1:
        cdef size_t place
        for place in range(errors.count()):
            code = errors.at(place)
            if code not in self.codes:
                self.codes[code] = self.filter.error.fits(code)
            if self.codes[code]:
                return True
        return False

    cdef bint fits(self, dict known, asked, bytes name) except -1:
        """Return whether a name fits its pattern; each name is tested once."""
        if name not in known:
            if len(known) >= MOST_NAMES:
                known.clear()
            known[name] = asked(name.decode("utf-8", "replace"))
        return known[name]
