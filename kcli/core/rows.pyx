"""Exchanges into the columns of kcli.pipeline's table `exchanges`, without a Python object for a row."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from kcli.core.codec cimport (
    JsonContext, Names, Node, Out, RECORDS_HOOK, RECORDS_RAW, RECORDS_SIZE, out_free, out_put, out_reserve, put_int, put_uint,
)
from kcli.core.packets cimport be16, be32
from kcli.core.sink cimport Sink

include "exchange.pxi"

cdef extern from *:
    """
    #include <string.h>
    static const char *kc_find_error(const char *p, const char *end) {
        /* behind the next `rrorCode":` that no 0 follows; NULL: there is none */
        while (end - p > 11) {
            const char *at = (const char *)memchr(p, 'r', (size_t)(end - p - 10));
            if (at == NULL) return NULL;
            if (memcmp(at, "rrorCode\\":", 10) == 0) {
                if (at[10] != '0') return at + 10;
                at += 10;
            }
            p = at + 1;
        }
        return NULL;
    }
    """
    const char* find_error "kc_find_error"(const char* p, const char* end) nogil

cdef enum:
    NUMBERS = 9        # ts, completed, key, version, correlation id, request bytes, response bytes, latency in us, link


cdef class ExchangeRows(Sink):
    """Takes exchanges of steady connections.

    more(link, key, version, ts, request, answered, response): told of each exchange whose API is in `told`, and of those that
    taught a topic's name. flush(): called when there is enough to write; it calls `take_columns`. slow: APIs left to the
    slower way.
    """

    cdef Lines lines
    cdef Out numbers, header, request, response, client, ends
    cdef object more, flush
    cdef bint[KEYS] told
    cdef bint[KEYS] slow
    cdef dict links
    cdef list link_texts
    cdef bytes last_link
    cdef int64_t last_number
    cdef public list errors
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t rows_limit, bytes_limit

    def __init__(self, bodies, more, flush, told=(), slow=(), Py_ssize_t rows=20000, Py_ssize_t size=1 << 24):
        self.lines = Lines(bodies)
        self.more, self.flush = more, flush
        for key in told:
            self.told[key] = True
        for key in slow:
            self.slow[key] = True
        self.rows_limit, self.bytes_limit = rows, size
        self.links, self.link_texts, self.errors = {}, [], []

    def __dealloc__(self):
        out_free(&self.numbers)
        out_free(&self.header)
        out_free(&self.request)
        out_free(&self.response)
        out_free(&self.client)
        out_free(&self.ends)

    cdef bint take(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1:
        cdef PyObject* plan
        cdef size_t[4] before
        cdef size_t names
        cdef int client
        if key < 0 or key >= KEYS or self.slow[key] or (response != NULL and answered < ts):
            return False
        plan = self.lines.plan(key, version)
        if <object>plan is None or (<Plan>plan).request_header is None or (<Plan>plan).request is None or (<Plan>plan).response is None:
            return False
        client = self.client_size(request, n, key, version)
        if client < -1:
            return False
        before[0], before[1], before[2] = self.header.size, self.request.size, self.response.size
        names = self.lines.names.table.used
        if not (self.put_request(<Plan>plan, request, n) and self.put_response(<Plan>plan, response, m)):
            self.header.size, self.request.size, self.response.size = before[0], before[1], before[2]
            return False
        if client > 0 and out_put(&self.client, request + 10, client):
            raise MemoryError
        if response != NULL:
            self.note_errors(self.response.data + before[2], self.response.data + self.response.size)
        self.put_numbers(ts, answered if response != NULL else ts, key, version, <int32_t>be32(request + 4), n + 4,
                         m + 4 if response != NULL else -1, (answered - ts) // 1000 if response != NULL else 0, self.link(link, link_size))
        self.put_ends(client)
        self.count += 1
        if self.told[key] or self.lines.names.table.used != names:
            self.more(
                link[:link_size], key, version, ts, (<const char*>request)[:n], answered if response != NULL else None,
                (<const char*>response)[:m] if response != NULL else None,
            )
        if self.count >= self.rows_limit or <Py_ssize_t>(self.request.size + self.response.size) > self.bytes_limit:
            self.flush()
        return True

    cdef int client_size(self, const uint8_t* request, size_t n, int key, int version) noexcept:
        """Of the client id, -1: null, -2: only the slower way can."""
        cdef int size, i
        if key == 7 and version == 0:
            return -1
        if n < 10:
            return -2
        size = <int16_t>be16(request + 8)
        if size < -1 or size > <int>n - 10:
            return -2
        for i in range(size):
            if request[10 + i] >= 0x80:
                return -2
        return size

    cdef bint put_request(self, Plan plan, const uint8_t* frame, size_t n) except -1:
        cdef Py_ssize_t start = plan.request_header.json_at(frame, n, &self.header, NULL, False)
        if start < 0:
            return False
        self.header.size -= 1
        # The plan's text goes on to the request's own key, 11 characters that have no place here.
        if out_put(&self.header, PyBytes_AS_STRING(plan.name), PyBytes_GET_SIZE(plan.name) - 11):
            raise MemoryError
        return plan.request.json_at(frame + start, n - start, &self.request, &self.lines.context, True) >= 0

    cdef bint put_response(self, Plan plan, const uint8_t* frame, size_t n) except -1:
        cdef Py_ssize_t start
        if frame == NULL:
            return True
        start = plan.response_header.skip_at(frame, n)
        if start < 0:
            return False
        return plan.response.json_at(frame + start, n - start, &self.response, &self.lines.context, True) >= 0

    cdef int note_errors(self, const char* p, const char* end) except -1:
        cdef int sign, code
        p = find_error(p, end)
        if p == NULL:
            return 0
        found = []
        while p != NULL:
            sign = -1 if p[0] == 45 else 1       # "-"
            p += p[0] == 45
            code = 0
            while 48 <= p[0] <= 57:
                code = code * 10 + p[0] - 48
                p += 1
            found.append(sign * code)
            p = find_error(p, end)
        self.errors.append((self.count, found))
        return 0

    cdef int64_t link(self, const char* text, size_t size) except -1:
        if self.last_link is not None and <size_t>PyBytes_GET_SIZE(self.last_link) == size and memcmp(PyBytes_AS_STRING(self.last_link), text, size) == 0:
            return self.last_number
        self.last_link = text[:size]
        number = self.links.get(self.last_link)
        if number is None:
            number = self.links[self.last_link] = len(self.link_texts)
            self.link_texts.append(self.last_link.decode())
        self.last_number = number
        return self.last_number

    cdef int put_numbers(self, int64_t ts, int64_t completed, int64_t key, int64_t version, int64_t number, int64_t asked,
                         int64_t told, int64_t latency, int64_t link) except -1:
        cdef int64_t[NUMBERS] row
        row[0], row[1], row[2], row[3], row[4] = ts, completed, key, version, number
        row[5], row[6], row[7], row[8] = asked, told, latency, link
        if out_put(&self.numbers, row, sizeof(row)):
            raise MemoryError
        return 0

    cdef int put_ends(self, int client) except -1:
        """Where this row's texts end; the client id's with a mark where it is null."""
        cdef int32_t[5] row
        row[0], row[1], row[2] = <int32_t>self.header.size, <int32_t>self.request.size, <int32_t>self.response.size
        row[3], row[4] = <int32_t>self.client.size, client >= 0
        if out_put(&self.ends, row, sizeof(row)):
            raise MemoryError
        return 0

    def take_columns(self):
        """(numbers: int64 rows of 9; ends: int32 rows of 5; texts of headers, requests, responses, client ids; links; errors),
        and a new start. errors: (row, codes)."""
        made = (
            text(&self.numbers), text(&self.ends), text(&self.header), text(&self.request), text(&self.response), text(&self.client),
            self.link_texts, self.errors,
        )
        self.numbers.size = self.ends.size = self.header.size = self.request.size = self.response.size = self.client.size = 0
        self.links, self.link_texts, self.errors, self.last_link, self.count = {}, [], [], None, 0
        return made


cdef bytes text(Out* out):
    return PyBytes_FromStringAndSize(out.data, out.size)
