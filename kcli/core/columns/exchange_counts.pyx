"""Exchanges into counts by group, for `kcli stats`: no text is kept and no Python object is made for an exchange."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memset

from kcli.core.capture.exchange_json cimport KEYS, VERSIONS, ApiCodecs, ExchangeWriter, steady_codecs
from kcli.core.codec.interner cimport *
from kcli.core.codec.messages cimport Out, out_free, out_put
from kcli.core.codec.sink cimport Sink
from kcli.core.columns.json_columns cimport *

include "groups.pxi"
include "group_values.pxi"

cdef enum:
    MOST_SCRATCH = 1 << 24    # bytes of text worth keeping


cdef class ExchangeCounts(Sink):
    """Counts exchanges of steady connections.

    bodies: a kcli.capture.bodies.Bodies. by: names out of COLUMNS; a partition's group has its topic, too, in front of it.
    fields: takes (key, version), gives what `kcli.capture.named_fields.scans` does. chosen: a Filter that has no topic.
    """

    cdef ExchangeWriter lines
    cdef Groups groups
    cdef GroupValues values
    cdef Out request, response
    cdef object fields
    cdef PyObject* scans[KEYS][VERSIONS]
    cdef list kept
    # The filter
    cdef bint all_apis, only_errors
    cdef bint[KEYS] apis
    cdef bytes client
    cdef uint64_t since, until
    cdef readonly uint64_t counted    # exchanges that passed it

    def __init__(self, bodies, by, fields, chosen):
        self.lines = ExchangeWriter(bodies)
        self.fields, self.kept = fields, []
        self.values = GroupValues(by)
        self.groups = Groups(self.values.count)
        self.all_apis, self.only_errors = not chosen.apis, chosen.errors
        for key in chosen.apis:
            if 0 <= key < KEYS:
                self.apis[key] = True
        self.client = None if chosen.client_id is None else chosen.client_id.encode("utf-8", "surrogatepass")
        self.since = max(0, chosen.since or 0)
        self.until = <uint64_t>-1 if chosen.until is None else max(0, chosen.until)

    def __dealloc__(self):
        out_free(&self.request)
        out_free(&self.response)

    cdef bint take(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1:
        cdef PyObject* found
        cdef PyObject* scans
        cdef ApiCodecs codecs
        cdef int client
        found = steady_codecs(self.lines, key, version, ts, request, n, answered, response != NULL, &client)
        if <object>found is None:
            return False
        codecs = <ApiCodecs>found
        scans = self.scans_of(key, version)
        if <object>scans is None:
            return False
        self.request.size = self.response.size = 0
        if not self.read_request(codecs, request, n, <tuple>scans) or not self.read_response(codecs, response, m):
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
            made = self.fields(key, version) if self.values.named else ()
            self.kept.append(made)
            self.scans[key][version] = <PyObject*>made
        return self.scans[key][version]

    cdef bint read_request(self, ApiCodecs codecs, const uint8_t* frame, size_t n, tuple scans) except -1:
        cdef Py_ssize_t start = codecs.request_header.skip_at(frame, n)
        if start < 0:
            return False
        if scans and scans[0] is not None:
            return codecs.request.json_at(frame + start, n - start, &self.request, &self.lines.context, True) >= 0
        return codecs.request.skip_at(frame + start, n - start) >= 0

    cdef bint read_response(self, ApiCodecs codecs, const uint8_t* frame, size_t n) except -1:
        """As text: errors are found there, and topic names learnt."""
        cdef Py_ssize_t start
        if frame == NULL:
            return True
        start = codecs.response_header.skip_at(frame, n)
        if start < 0:
            return False
        return codecs.answer(frame + start, n - start).json_at(frame + start, n - start, &self.response, &self.lines.context, True) >= 0

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
        cdef Counted counted
        self.groups.codes.size = 0
        self.note_errors()
        counted.failed = self.groups.codes.size > 0
        if self.only_errors and not counted.failed:
            return 0
        self.counted += 1
        counted.asked, counted.answered = n + 4, m + 4 if answered else 0
        counted.latency = latency if answered else -1
        self.values.take(link, link_size, key, version, ts, request, client, &self.groups.codes)
        self.values.take_names(scans, &self.request, &self.response)
        return self.groups.count_all(self.values.values, &counted, self.values.beyond)

    cdef int note_errors(self) except -1:
        """The response's codes, each once."""
        cdef const char* p = self.response.data
        cdef int64_t code
        while next_error(&p, end_of(&self.response), &code):
            if self.groups.is_new(code) and out_put(&self.groups.codes, &code, sizeof(code)):
                raise MemoryError
        return 0

    # What came of it

    def take_groups(self):
        """(key, exchanges, failed, request bytes, response bytes, least us, most us, {bucket: answers}, {code: exchanges})
        of each group, of the others (key None) first.

        A key has a value for each of `by`, two for a partition: API keys, versions, error codes (None: none), minutes since
        1970, and texts; of a topic that is named by its id alone that id's text in a tuple. Code None: those beyond bounds."""
        codes = self.groups.codes_by_group()
        return [
            (None if number == 0 else self.values.key_of(self.groups.key(number)), *self.groups.figures(number), codes.get(number, {}))
            for number in range(self.groups.size())
        ]
