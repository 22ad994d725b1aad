# An exchange's line of JSON, straight from its frames.

cdef extern from *:
    """
    /* "2026-11-21T00:52:34.167123Z", 27 characters; the date of the day before is kept. */
    typedef struct { uint64_t day; char text[11]; } kc_date;

    static void kc_set_date(kc_date *date, uint64_t day) {
        uint64_t z = day + 719468, era = z / 146097, doe = z - era * 146097;
        uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
        uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
        uint64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9, y = yoe + era * 400 + (m <= 2);
        char *t = date->text;
        memcpy(t, kc_pairs + y / 100 % 100 * 2, 2);
        memcpy(t + 2, kc_pairs + y % 100 * 2, 2);
        t[4] = t[7] = '-';
        memcpy(t + 5, kc_pairs + m * 2, 2);
        memcpy(t + 8, kc_pairs + d * 2, 2);
        t[10] = 'T';
        date->day = day;
    }

    static inline char *kc_put_instant(char *p, kc_date *date, uint64_t ns) {
        uint64_t us = ns / 1000, seconds = us / 1000000, day = seconds / 86400;
        uint32_t rest = (uint32_t)(us % 1000000), clock = (uint32_t)(seconds % 86400);
        if (day != date->day) kc_set_date(date, day);
        memcpy(p, date->text, 11);
        memcpy(p + 11, kc_pairs + clock / 3600 * 2, 2);
        memcpy(p + 14, kc_pairs + clock / 60 % 60 * 2, 2);
        memcpy(p + 17, kc_pairs + clock % 60 * 2, 2);
        p[13] = p[16] = ':';
        p[19] = '.';
        memcpy(p + 20, kc_pairs + rest / 10000 * 2, 2);
        memcpy(p + 22, kc_pairs + rest / 100 % 100 * 2, 2);
        memcpy(p + 24, kc_pairs + rest % 100 * 2, 2);
        p[26] = 'Z';
        return p + 27;
    }

    /* Milliseconds as Python writes them: "2.0", "14.812". */
    static inline char *kc_put_millis(char *p, uint64_t us) {
        uint32_t rest = (uint32_t)(us % 1000);
        p = kc_u64(p, us / 1000);
        *p++ = '.';
        *p++ = (char)('0' + rest / 100);
        if (rest % 100) *p++ = (char)('0' + rest / 10 % 10);
        if (rest % 10) *p++ = (char)('0' + rest % 10);
        return p;
    }

    #define KC_LITERAL(p, s) (memcpy(p, s, sizeof(s) - 1), (p) + sizeof(s) - 1)
    static inline char *kc_put_opening(char *p) { return KC_LITERAL(p, "{\\"timestamp\\":\\""); }
    static inline char *kc_put_link(char *p, const char *link, size_t n) {
        p = KC_LITERAL(p, "\\",\\"connection\\":\\"");
        memcpy(p, link, n);
        return KC_LITERAL(p + n, "\\",\\"requestHeader\\":");
    }
    static inline char *kc_put_sizes(char *p, uint64_t request) { return kc_u64(KC_LITERAL(p, ",\\"requestBytes\\":"), request); }
    static inline char *kc_put_answer(char *p, uint64_t response, uint64_t us) {
        p = kc_u64(KC_LITERAL(p, ",\\"responseBytes\\":"), response);
        p = kc_put_millis(KC_LITERAL(p, ",\\"latencyMs\\":"), us);
        return KC_LITERAL(p, "}\\n");
    }
    static inline char *kc_put_no_answer(char *p) { return KC_LITERAL(p, ",\\"responseBytes\\":null,\\"latencyMs\\":null}\\n"); }
    """
    ctypedef struct Date "kc_date":
        uint64_t day
    char* put_instant "kc_put_instant"(char* p, Date* date, uint64_t ns) nogil
    char* put_opening "kc_put_opening"(char* p) nogil
    char* put_link "kc_put_link"(char* p, const char* link, size_t n) nogil
    char* put_sizes "kc_put_sizes"(char* p, uint64_t request) nogil
    char* put_answer "kc_put_answer"(char* p, uint64_t response, uint64_t us) nogil
    char* put_no_answer "kc_put_no_answer"(char* p) nogil


cdef enum:
    KEYS = 128
    VERSIONS = 32
    PRODUCE = 0
    CONTROLLED_SHUTDOWN = 7
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18


# What is needed to read one API's exchanges of one version. None: only the slower way can.
cdef class Plan:
    cdef Node request_header, request, response_header, response, oldest
    cdef Selection acks   # of a Produce request
    cdef bytes name       # `,"requestApiKeyName":"FETCH"},"request":`

    def __init__(self, bodies, int key, int version):
        nodes = bodies.exchange_nodes(key, version)
        self.request_header, self.request, self.response_header, self.response = nodes
        self.oldest = bodies.exchange_nodes(key, 0)[3] if key == API_VERSIONS and version else None
        self.acks = bodies.acks(version) if key == PRODUCE else None
        self.name = f',"requestApiKeyName":"{bodies.name(key)}"}},"request":'.encode()

    cdef int64_t acks_of(self, const uint8_t* frame, size_t n) except? -1:
        """The acks of a Produce request: 0 asks for no response; -2 where they can't be read."""
        cdef Py_ssize_t start = -1 if self.acks is None or self.request_header is None else self.request_header.skip_at(frame, n)
        if start < 0 or self.acks.select_at(frame, frame + start, frame + n) < 0:
            return -2
        return (<int64_t*>self.acks.levels[0].rows.data)[0]

    cdef Node answer(self, const uint8_t* body, size_t n):
        """The node of a response's body: a broker that does not know the version of ApiVersions answers in the oldest."""
        if self.oldest is not None and n >= 2 and be16(body) == 35 and self.oldest.skip_at(body, n) == <Py_ssize_t>n:
            return self.oldest
        return self.response


cdef class Lines:
    """Exchanges as text, in `out`."""

    cdef Out out
    cdef Date date
    cdef JsonContext context
    cdef object bodies, hook
    cdef Names names
    cdef PyObject* plans[KEYS][VERSIONS]      # a Plan; None: the tables have no such message
    cdef readonly list kept
    cdef size_t answer_at                     # where in `out` the last line's response begins

    def __cinit__(self):
        self.date.day = <uint64_t>-1

    def __init__(self, bodies):
        self.bodies = bodies
        self.names = bodies.names
        self.hook = bodies.form["hook"]
        self.kept = []
        self.context.records = RECORDS_HOOK if self.hook is not None else RECORDS_RAW if bodies.form["records"] == "raw" else RECORDS_SIZE
        self.context.hook = <PyObject*>self.hook if self.hook is not None else NULL
        self.context.names = &self.names.table
        self.context.secrets = bodies.form["secrets"]

    def __dealloc__(self):
        out_free(&self.out)

    cdef PyObject* plan(self, int key, int version) except NULL:
        if not (0 <= key < KEYS and 0 <= version < VERSIONS):
            return <PyObject*>None
        if self.plans[key][version] == NULL:
            plan = Plan(self.bodies, key, version) if self.bodies.knows(key, version) else None
            self.kept.append(plan)
            self.plans[key][version] = <PyObject*>plan
        return self.plans[key][version]

    cdef bint put(self, Plan plan, const char* link, size_t link_size, uint64_t ts, const uint8_t* request, size_t n,
                  uint64_t answered, const uint8_t* response, size_t m) except -1:
        """One line; False, and nothing written, where only the slower way can (or says why not)."""
        cdef Out* out = &self.out
        cdef size_t before = out.size
        if plan.request_header is None or plan.request is None or plan.response is None or answered and answered < ts:
            return False
        if out_reserve(out, link_size + 128):
            raise MemoryError
        cdef char* p = put_opening(out.data + out.size)
        p = put_instant(p, &self.date, ts)
        out.size = put_link(p, link, link_size) - out.data
        if self.put_request(plan, request, n) and self.put_response(plan, response, m):
            if out_reserve(out, 128):
                raise MemoryError
            p = put_sizes(out.data + out.size, n + 4)
            p = put_no_answer(p) if response == NULL else put_answer(p, m + 4, (answered - ts) // 1000)
            out.size = p - out.data
            return True
        out.size = before
        return False

    cdef bint put_request(self, Plan plan, const uint8_t* frame, size_t n) except -1:
        cdef Out* out = &self.out
        cdef Py_ssize_t start = plan.request_header.json_at(frame, n, out, NULL, False)
        if start < 0:
            return False
        out.size -= 1
        if out_put(out, PyBytes_AS_STRING(plan.name), PyBytes_GET_SIZE(plan.name)):
            raise MemoryError
        return plan.request.json_at(frame + start, n - start, out, &self.context, True) >= 0

    cdef bint put_response(self, Plan plan, const uint8_t* frame, size_t n) except -1:
        cdef Out* out = &self.out
        cdef Py_ssize_t start
        if out_put(out, b',"response":', 12):
            raise MemoryError
        self.answer_at = out.size
        if frame == NULL:
            if out_put(out, b"null", 4):
                raise MemoryError
            return True
        start = plan.response_header.skip_at(frame, n)
        if start < 0:
            return False
        return plan.answer(frame + start, n - start).json_at(frame + start, n - start, out, &self.context, True) >= 0


cdef inline int client_id_size(const uint8_t* request, size_t n, int key, int version) noexcept:
    """Of the client id, which begins at the frame's tenth byte; -1: null, -2: only the slower way can."""
    cdef int64_t size, i
    cdef const uint8_t* text = client_id(request, n, &size)
    if not has_client_id(key, version):
        return -1
    for i in range(size):
        if text[i] >= 0x80:
            return -2
    return size
