"""An exchange's line of JSON, directly from its frames."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free

from kcli.core.capture.packets cimport be16
from kcli.core.codec.messages cimport Node, Out, RECORDS_HOOK, RECORDS_RAW, RECORDS_SIZE, out_free, out_put, out_reserve
from kcli.core.codec.request_header cimport *
from kcli.core.codec.sink cimport KEYS, VERSIONS, Exchange
from kcli.core.columns.json_columns cimport next_error

__all__ = ["ApiCodecs", "ErrorCodes", "ExchangeWriter", "codes_in"]


# The codecs of one API's exchanges in one version.
cdef class ApiCodecs:
    def __init__(self, bodies, int key, int version):
        nodes = bodies.exchange_nodes(key, version)
        self.request_header, self.request, self.response_header, self.response = nodes
        self.complete = None not in nodes
        self.oldest = bodies.exchange_nodes(key, 0)[3] if key == API_VERSIONS and version else None
        self.acks = bodies.acks(version) if key == PRODUCE else None
        self.name = f',"requestApiKeyName":"{bodies.name(key)}"}},"request":'.encode()

    cdef int64_t acks_of(self, const uint8_t* frame, size_t n) except? -1:
        """Return the acks of a Produce request: 0 asks for no response; -2 if they can't be read."""
        cdef Py_ssize_t start = -1 if self.acks is None else self.request_header.skip_at(frame, n)
        if start < 0 or self.acks.select_at(frame, frame + start, frame + n) < 0:
            return -2
        return (<int64_t*>self.acks.levels[0].rows.data)[0]

    cdef Node answer(self, const uint8_t* body, size_t n):
        """Choose the node of a response's body: a broker that lacks the version of ApiVersions responds in the oldest
        (error 35).
        """
        if self.oldest is not None and n >= 2 and be16(body) == 35 and self.oldest.skip_at(body, n) == <Py_ssize_t>n:
            return self.oldest
        return self.response


cdef class ErrorCodes:
    def __cinit__(self):
        self.stamps = <uint64_t*>calloc(1 << 16, sizeof(uint64_t))     # only few of its pages are ever used
        if self.stamps == NULL:
            raise MemoryError

    def __dealloc__(self):
        out_free(&self.codes)
        free(self.stamps)

    cdef size_t count(self) noexcept:
        return self.codes.size // sizeof(int64_t)

    cdef int64_t at(self, size_t place) noexcept:
        return (<int64_t*>self.codes.data)[place]

    cdef int take(self, const char* text, const char* end) except -1:
        """Find the error codes in a response's text."""
        cdef int64_t code
        cdef uint64_t* stamp
        self.codes.size = 0
        self.clock += 1
        while next_error(&text, end, &code):
            stamp = &self.stamps[code & 0xffff]
            if stamp[0] == self.clock:
                continue
            stamp[0] = self.clock
            if out_put(&self.codes, &code, sizeof(code)):
                raise MemoryError
        return 0


cdef ErrorCodes alone = ErrorCodes()


def codes_in(const uint8_t[::1] text):
    """Return the distinct error codes in a response's JSON text."""
    cdef const char* start
    if text.shape[0] == 0:
        return []
    start = <const char*>&text[0]
    alone.take(start, start + text.shape[0])
    return [alone.at(place) for place in range(alone.count())]


cdef class ExchangeWriter:
    """Writes exchanges as text to `out`."""

    def __cinit__(self):
        self.date.day = <uint64_t>-1

    def __init__(self, bodies):
        self.bodies = bodies
        self.names = bodies.names
        self.hook = bodies.form["hook"]
        self.kept = []
        self.errors, self.error_names = ErrorCodes(), {}
        self.context.records = (
            RECORDS_HOOK
            if self.hook is not None
            else RECORDS_RAW
            if bodies.form["records"] == "raw"
            else RECORDS_SIZE
        )
        self.context.hook = <PyObject*>self.hook if self.hook is not None else NULL
        self.context.names = &self.names.table
        self.context.secrets = bodies.form["secrets"]

    def __dealloc__(self):
        out_free(&self.out)

    cdef PyObject* codecs(self, int key, int version) except NULL:
        """Return the ApiCodecs of a version; None if the tables lack it, or the core can't read it."""
        if not (0 <= key < KEYS and 0 <= version < VERSIONS):
            return <PyObject*>None
        if self.by_api[key][version] == NULL:
            codecs = self.bodies.knows(key, version) and ApiCodecs(self.bodies, key, version)
            if not codecs or not (<ApiCodecs>codecs).complete:
                codecs = None
            self.kept.append(codecs)
            self.by_api[key][version] = <PyObject*>codecs
        return self.by_api[key][version]

    cdef bint put(self, ApiCodecs codecs, Exchange* e) except -1:
        """Write one line. Write nothing and return False if only the slower way can read the exchange, or tell why it
        can't be read.
        """
        cdef Out* out = &self.out
        cdef size_t before = out.size
        if e.response != NULL and e.answered < e.ts:
            return False
        if self.hook is not None:
            self.hook.begin()
        if out_reserve(out, e.link_size + 128):
            raise MemoryError
        cdef char* p = put_opening(out.data + out.size)
        p = put_instant(p, &self.date, e.ts)
        out.size = put_link(p, e.link, e.link_size) - out.data
        if (
            self.put_request(codecs, e.request, e.request_size)
            and self.put_response(codecs, e.response, e.response_size)
        ):
            if out_reserve(out, 128):
                raise MemoryError
            p = put_sizes(out.data + out.size, e.request_size + 4)
            p = (
                put_no_answer(p)
                if e.response == NULL
                else put_answer(p, e.response_size + 4, (e.answered - e.ts) // 1000)
            )
            out.size = p - out.data
            self.put_errors()
            return True
        out.size = before
        return False

    cdef bint put_request(self, ApiCodecs codecs, const uint8_t* frame, size_t n) except -1:
        cdef Out* out = &self.out
        cdef Py_ssize_t start = codecs.request_header.json_at(frame, n, out, NULL, False)
        if start < 0:
            return False
        out.size -= 1
        if out_put(out, PyBytes_AS_STRING(codecs.name), PyBytes_GET_SIZE(codecs.name)):
            raise MemoryError
        return codecs.request.json_at(frame + start, n - start, out, &self.context, True) >= 0

    cdef bint put_response(self, ApiCodecs codecs, const uint8_t* frame, size_t n) except -1:
        cdef Out* out = &self.out
        cdef Py_ssize_t start
        if out_put(out, b',"response":', 12):
            raise MemoryError
        cdef size_t before = out.size
        self.errors.codes.size = 0
        if frame == NULL:
            if out_put(out, b"null", 4):
                raise MemoryError
            return True
        start = codecs.response_header.skip_at(frame, n)
        if start < 0:
            return False
        self.context.erred = False
        if codecs.answer(frame + start, n - start).json_at(frame + start, n - start, out, &self.context, True) < 0:
            return False
        if self.context.erred:
            self.errors.take(out.data + before, out.data + out.size)
        return True

    cdef int put_errors(self) except -1:
        """Write the names of the response's errors, and end the line."""
        cdef Out* out = &self.out
        cdef size_t place
        cdef bytes name
        if self.errors.count() == 0:
            out.size = put_no_errors(out.data + out.size) - out.data
            return 0
        for place in range(self.errors.count()):
            name = self.error_name(self.errors.at(place))
            if (
                out_put(out, b"," if place else b',"errors":[', 1 if place else 11)
                or out_put(out, PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
            ):
                raise MemoryError
        if out_put(out, b"]}\n", 3):
            raise MemoryError
        return 0

    cdef bytes error_name(self, int64_t code):
        name = self.error_names.get(code)
        if name is None:
            name = self.error_names[code] = self.bodies.error_name(code)
        return name
