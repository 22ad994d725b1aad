"""Exchanges into counts by group, for `kcli stats`: no text is kept and no Python object is made for an exchange."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memset

from kcli.core.capture.exchange_json cimport KEYS, VERSIONS, ApiCodecs, ExchangeWriter, client_id_size
from kcli.core.codec.interner cimport *
from kcli.core.codec.messages cimport Out, out_free, out_put
from kcli.core.codec.sink cimport Sink
from kcli.core.columns.json_columns cimport *

include "groups.pxi"

cdef extern from *:
    """
    #include <string.h>
    static const char *kc_search(const char *p, const char *end, const char *text, size_t size) {
        /* Behind the next such text; NULL: there is none. */
        const char *found = memmem(p, (size_t)(end - p), text, size);
        return found == NULL ? NULL : found + size;
    }
    static const char *kc_text_end(const char *p, const char *end) {
        /* Where the quote stands that ends a JSON text. */
        while (p < end && *p != '"') p += *p == '\\\\' ? 2 : 1;
        return p < end ? p : end;
    }
    """
    const char* search "kc_search"(const char* p, const char* end, const char* text, size_t size) nogil
    const char* text_end "kc_text_end"(const char* p, const char* end) nogil

cdef enum:
    # What exchanges are counted by
    BY_API = 0
    BY_VERSION = 1
    BY_CLIENT = 2
    BY_BROKER = 3
    BY_CONNECTION = 4
    BY_ERROR = 5
    BY_MINUTE = 6
    BY_TOPIC = 7
    BY_PARTITION = 8          # a topic's: both
    BY_GROUP = 9
    # Kinds of texts besides the five of these
    TOPIC_ID = 16
    MOST_SCRATCH = 1 << 24    # bytes of text worth keeping
    FEW_SEEN = 1 << 12

COLUMNS = ("api", "version", "client", "broker", "connection", "error", "minute", "topic", "partition", "group")


cdef class ExchangeCounts(Sink):
    """Counts exchanges of steady connections.

    bodies: a kcli.capture.bodies.Bodies. by: names out of COLUMNS; a partition's group has its topic, too, in front of it.
    fields: takes (key, version), gives what `kcli.capture.named_fields.scans` does. chosen: a Filter that has no topic.
    """

    cdef ExchangeWriter lines
    cdef Groups groups
    cdef Texts texts
    cdef Out request, response
    cdef Out[MOST_BY] values
    cdef Map seen
    cdef int[MOST_BY] by
    cdef int count
    cdef bint named, failed, beyond
    cdef object fields
    cdef PyObject* scans[KEYS][VERSIONS]
    cdef list kept
    # The filter
    cdef bint all_apis, only_errors
    cdef bint[KEYS] apis
    cdef bytes client
    cdef uint64_t since, until

    def __init__(self, bodies, by, fields, chosen):
        self.lines = ExchangeWriter(bodies)
        self.fields, self.kept = fields, []
        self.count = len(by)
        self.groups = Groups(self.count)
        for i, name in enumerate(by):
            self.by[i] = COLUMNS.index(name)
            self.named = self.named or self.by[i] >= BY_TOPIC
        self.all_apis, self.only_errors = not chosen.apis, chosen.errors
        for key in chosen.apis:
            if 0 <= key < KEYS:
                self.apis[key] = True
        self.client = None if chosen.client_id is None else chosen.client_id.encode("utf-8", "surrogatepass")
        self.since = max(0, chosen.since or 0)
        self.until = <uint64_t>-1 if chosen.until is None else max(0, chosen.until)

    def __dealloc__(self):
        cdef int i
        texts_free(&self.texts)
        map_free(&self.seen)
        out_free(&self.request)
        out_free(&self.response)
        for i in range(MOST_BY):
            out_free(&self.values[i])

    cdef bint take(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1:
        cdef PyObject* found
        cdef PyObject* scans
        cdef ApiCodecs plan
        cdef int client
        if key < 0 or key >= KEYS or version >= VERSIONS or (response != NULL and answered < ts):
            return False
        found = self.lines.plan(key, version)
        if <object>found is None:
            return False
        plan = <ApiCodecs>found
        if plan.request_header is None or plan.request is None or plan.response is None:
            return False
        client = client_id_size(request, n, key, version)
        scans = self.scans_of(key, version)
        if client < -1 or <object>scans is None:
            return False
        self.request.size = self.response.size = 0
        if not self.read_request(plan, request, n, <tuple>scans) or not self.read_response(plan, response, m):
            return False
        if <tuple>scans and (self.refuses((<tuple>scans)[0], &self.request) or self.refuses((<tuple>scans)[1], &self.response)):
            return False
        if self.passes(key, ts, request, client):
            self.note(link, link_size, key, version, ts, request, n, client, response != NULL, (answered - ts) // 1000, m, <tuple>scans)
        if self.response.capacity > MOST_SCRATCH:
            out_free(&self.response)
        if self.request.capacity > MOST_SCRATCH:
            out_free(&self.request)
        return True

    cdef PyObject* scans_of(self, int key, int version) except NULL:
        if self.scans[key][version] == NULL:
            made = self.fields(key, version) if self.named else ()
            self.kept.append(made)
            self.scans[key][version] = <PyObject*>made
        return self.scans[key][version]

    cdef bint read_request(self, ApiCodecs plan, const uint8_t* frame, size_t n, tuple scans) except -1:
        cdef Py_ssize_t start = plan.request_header.skip_at(frame, n)
        if start < 0:
            return False
        if scans and scans[0] is not None:
            return plan.request.json_at(frame + start, n - start, &self.request, &self.lines.context, True) >= 0
        return plan.request.skip_at(frame + start, n - start) >= 0

    cdef bint read_response(self, ApiCodecs plan, const uint8_t* frame, size_t n) except -1:
        """As text: errors are found there, and topic names learnt."""
        cdef Py_ssize_t start
        if frame == NULL:
            return True
        start = plan.response_header.skip_at(frame, n)
        if start < 0:
            return False
        return plan.answer(frame + start, n - start).json_at(frame + start, n - start, &self.response, &self.lines.context, True) >= 0

    cdef bint refuses(self, scan, Out* text) except -1:
        """Whether something stands in the text whose meaning only the values tell."""
        if scan is None or text.size == 0 or scan[4] is None:
            return False
        cdef bytes refused = scan[4]
        return search(text.data, end_of(text), PyBytes_AS_STRING(refused), PyBytes_GET_SIZE(refused)) != NULL

    cdef bint passes(self, int key, uint64_t ts, const uint8_t* request, int client) except -1:
        """The filter, errors aside."""
        if ts < self.since or ts > self.until or not (self.all_apis or self.apis[key]):
            return False
        if self.client is None:
            return True
        return client == PyBytes_GET_SIZE(self.client) and memcmp(request + 10, PyBytes_AS_STRING(self.client), client) == 0

    cdef int note(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                  int client, bint answered, int64_t latency, size_t m, tuple scans) except -1:
        """Count the exchange in each of its groups."""
        cdef int i
        cdef Counted counted
        self.groups.codes.size = 0
        self.note_errors()
        counted.failed = self.groups.codes.size > 0
        if self.only_errors and not counted.failed:
            return 0
        counted.asked, counted.answered = n + 4, m + 4 if answered else 0
        counted.latency = latency if answered else -1
        self.beyond = False
        for i in range(self.count):
            self.values[i].size = 0
            if self.by[i] == BY_API:
                self.put(i, key)
            elif self.by[i] == BY_VERSION:
                self.put(i, version)
            elif self.by[i] == BY_CLIENT:
                self.put(i, self.number(request + 10, client, BY_CLIENT) if client >= 0 else 0)
            elif self.by[i] == BY_BROKER:
                self.put(i, self.number(<const uint8_t*>link, dash_at(link, link_size), BY_BROKER))
            elif self.by[i] == BY_CONNECTION:
                self.put(i, self.number(<const uint8_t*>link, link_size, BY_CONNECTION))
            elif self.by[i] == BY_MINUTE:
                self.put(i, ts // <uint64_t>60_000_000_000)
            elif self.by[i] == BY_ERROR:
                if out_put(&self.values[i], self.groups.codes.data, self.groups.codes.size):
                    raise MemoryError
            else:
                self.note_names(i, scans)
            if self.values[i].size == 0:
                self.put(i, 0)
        return self.groups.count_all(self.values, &counted, self.beyond)

    cdef int put(self, int i, int64_t value) except -1:
        if out_put(&self.values[i], &value, sizeof(value)):
            raise MemoryError
        return 0

    cdef int64_t number(self, const void* data, size_t size, int kind) except -1:
        """Of a text; beyond MOST_TEXTS new ones have none, and the exchange is counted among the others."""
        cdef int64_t number = text_find(&self.texts, <const uint8_t*>data, size, kind)
        if not number and self.texts.count >= MOST_TEXTS:
            self.beyond = True
            return 0
        if not number:
            number = text_number(&self.texts, <const uint8_t*>data, size, kind)
            if not number:
                raise MemoryError
        return number

    # What stands in the text

    cdef int note_errors(self) except -1:
        """The response's codes, each once."""
        cdef const char* p = self.response.data
        cdef int64_t code
        while next_error(&p, end_of(&self.response), &code):
            if self.groups.is_new(code) and out_put(&self.groups.codes, &code, sizeof(code)):
                raise MemoryError
        return 0

    cdef int note_names(self, int i, tuple scans) except -1:
        """The topics, their partitions or the groups that both sides name, each once."""
        cdef int side
        if self.seen.mask > FEW_SEEN:
            map_free(&self.seen)
        elif self.seen.used:
            map_clear(&self.seen)
        for side in range(2 if scans else 0):
            text = &self.response if side else &self.request
            if text.size == 0 or scans[side] is None:
                continue
            topic, is_id, index, group, _ = scans[side]
            if self.by[i] == BY_GROUP:
                self.scan(i, text.data, end_of(text), group, BY_GROUP, None)
            else:
                self.scan(i, text.data, end_of(text), topic, TOPIC_ID if is_id else BY_TOPIC, index if self.by[i] == BY_PARTITION else None)
        return 0

    cdef int scan(self, int i, const char* p, const char* end, bytes pattern, int kind, bytes index) except -1:
        """Every text behind that pattern; with `index` each number behind that, between one text and the next."""
        cdef const char* start
        cdef const char* following
        cdef int64_t number
        cdef bint some = pattern is not None
        if not some:
            return 0
        p = search(p, end, PyBytes_AS_STRING(pattern), PyBytes_GET_SIZE(pattern))
        while p != NULL:
            start, p = p, text_end(p, end)
            number = self.number(start, p - start, kind)
            following = search(p, end, PyBytes_AS_STRING(pattern), PyBytes_GET_SIZE(pattern))
            if number and not (kind == TOPIC_ID and is_zero(start, p - start)):
                if index is None:
                    self.put_once(i, number, -1)
                else:
                    self.scan_indexes(i, number, p, end if following == NULL else following, index)
            p = following
        return 0

    cdef int scan_indexes(self, int i, int64_t number, const char* p, const char* end, bytes pattern) except -1:
        cdef int64_t index
        p = search(p, end, PyBytes_AS_STRING(pattern), PyBytes_GET_SIZE(pattern))
        while p != NULL:
            index = 0
            while p < end and 48 <= p[0] <= 57:
                index = index * 10 + p[0] - 48
                p += 1
            self.put_once(i, number, index)
            p = search(p, end, PyBytes_AS_STRING(pattern), PyBytes_GET_SIZE(pattern))
        return 0

    cdef int put_once(self, int i, int64_t number, int64_t index) except -1:
        """index: -1 for none."""
        if map_find(&self.seen, number, index + 1):
            return 0
        if map_put(&self.seen, number, index + 1, 1):
            raise MemoryError
        return self.put(i, number << 32 | (index + 1 & <int64_t>0xffffffff) if self.by[i] == BY_PARTITION else number)

    # What came of it

    def take_groups(self):
        """(key, exchanges, failed, request bytes, response bytes, least us, most us, {bucket: answers}, {code: exchanges})
        of each group, of the others (key None) first.

        A key has a value for each of `by`, two for a partition: API keys, versions, error codes (None: none), minutes since
        1970, and texts; of a topic that is named by its id alone that id's text in a tuple. Code None: those beyond bounds."""
        codes = self.groups.codes_by_group()
        return [
            (None if number == 0 else self.key_of(number), *self.groups.figures(number), codes.get(number, {}))
            for number in range(self.groups.size())
        ]

    cdef tuple key_of(self, size_t number):
        cdef const int64_t* codes = self.groups.key(number)
        cdef int i
        made = []
        for i in range(self.count):
            if self.by[i] == BY_PARTITION:
                made.append(self.text_of(codes[i] >> 32))
                made.append((codes[i] & 0xffffffff) - 1 if codes[i] & 0xffffffff else None)
            elif self.by[i] in (BY_API, BY_VERSION, BY_MINUTE):
                made.append(codes[i])
            elif self.by[i] == BY_ERROR:
                made.append(codes[i] if codes[i] else None)
            else:
                made.append(self.text_of(codes[i]))
        return tuple(made)

    cdef object text_of(self, int64_t number):
        cdef Text* text
        if not number:
            return None
        text = &self.texts.texts[number - 1]
        data = (<const char*>text.data)[: text.size]
        if text.kind == TOPIC_ID:
            return (data.decode(),)
        if text.kind >= BY_TOPIC:
            from kcli.jsontext import loads

            return loads(b'"' + data + b'"')
        return data.decode("utf-8", "replace")


cdef inline bint is_zero(const char* p, size_t size) noexcept:
    """Whether a topic id in base64 is that of no topic."""
    cdef size_t i
    for i in range(size):
        if p[i] != 65:       # "A"
            return False
    return True


cdef inline size_t dash_at(const char* text, size_t size) noexcept:
    """Where the server's text ends in "server-client"."""
    cdef size_t i
    for i in range(size):
        if text[i] == 45:
            return i
    return size
