"""Counts exchanges by group, for `kcli stats`, without text or Python objects for an exchange."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memset

from kcli.core.capture.exchange_json cimport PRODUCE, ApiCodecs, ErrorCodes, ExchangeWriter, steady_codecs
from kcli.core.codec.interner cimport *
from kcli.core.codec.messages cimport Node, Out, RECORDS_COUNT, out_free, out_put
from kcli.core.codec.sink cimport KEYS, Exchange, Layouts, Sink
from kcli.core.columns.json_columns cimport *

include "groups.pxi"
include "group_values.pxi"

cdef extern from "record_count.h" nogil:
    int64_t record_count "kb_record_count"(const uint8_t* data, int64_t size)

cdef enum:
    MOST_SCRATCH = 1 << 24    # bytes of text worth keeping
    FETCH = 1
    ENVELOPE = 58
    SHARE_FETCH = 78


cpdef int64_t records_in(const uint8_t[::1] data):
    """Return the number of records in a records field."""
    return record_count(&data[0], data.shape[0]) if data.shape[0] else 0


cdef class ExchangeCounts(Sink):
    """Counts exchanges of steady connections.

    bodies: a kcli.capture.kafka.bodies.Bodies. by: names out of COLUMNS; a partition's group also has its topic, in
    front. widths: of intervals of time, by name (ns). linked: count the connections of groups. fields: called with
    (key, version), returns the result of `kcli.capture.tables.field_paths.scans`. chosen: a Filter without a topic.
    """

    cdef ExchangeWriter lines
    cdef Groups groups
    cdef GroupValues values
    cdef Out request, response
    cdef Layouts layouts              # results of `fields`
    # The filter
    cdef bint all_apis, only_errors
    cdef bint[KEYS] apis
    cdef bytes client
    cdef uint64_t since, until
    cdef bint linked
    cdef readonly uint64_t counted    # exchanges that passed the filter

    def __init__(self, bodies, by, widths, bint linked, fields, chosen):
        self.lines = ExchangeWriter(bodies)
        self.lines.context.records = RECORDS_COUNT
        self.values = GroupValues(by, widths)
        self.layouts = Layouts(fields)
        self.groups = Groups(self.values.count, self.lines.errors)
        self.linked = linked
        self.all_apis, self.only_errors = not chosen.apis, chosen.errors
        for key in chosen.apis:
            if 0 <= key < KEYS:
                self.apis[key] = True
        self.client = None if chosen.client_id is None else chosen.client_id.encode("utf-8", "surrogatepass")
        self.since = max(0, chosen.since or 0)
        self.until = <uint64_t>-1 if chosen.until is None else max(0, chosen.until)

    def next_file(self, int64_t number, int64_t changed, at):
        """Count later exchanges for file `number`, except requests without a response up to `changed` (ns): these are
        counted for the file at(ns of the request).
        """
        self.values.file, self.values.changed, self.values.file_at = number, changed, at

    def __dealloc__(self):
        out_free(&self.request)
        out_free(&self.response)

    cdef bint take(self, Exchange* e) except -1:
        cdef PyObject* found
        cdef PyObject* scans
        cdef ApiCodecs codecs
        cdef int client
        found = steady_codecs(self.lines, e, &client)
        if <object>found is None:
            return False
        codecs = <ApiCodecs>found
        scans = self.layouts.of(e.key, e.version)
        if <object>scans is None:
            return False
        self.request.size = self.response.size = 0
        self.lines.context.records_seen = self.lines.context.records_size = 0
        if not self.read_request(codecs, e, <tuple>scans):
            return False
        if not self.read_response(codecs, e.response, e.response_size, <tuple>scans):
            return False
        if (
            <tuple>scans
            and (self.refuses((<tuple>scans)[0], &self.request) or self.refuses((<tuple>scans)[1], &self.response))
        ):
            return False
        if self.passes(e, client):
            self.note(e, client, <tuple>scans)
        if self.response.capacity > MOST_SCRATCH:
            out_free(&self.response)
        if self.request.capacity > MOST_SCRATCH:
            out_free(&self.request)
        return True

    cdef bint read_request(self, ApiCodecs codecs, Exchange* e, tuple scans) except -1:
        """Read a request as far as it is needed; an envelope's request determines the message in its response."""
        cdef const uint8_t* frame = e.request
        cdef size_t n = e.request_size
        cdef Py_ssize_t start = codecs.request_header.skip_at(frame, n)
        if start < 0:
            return False
        if e.key == ENVELOPE or (scans and scans[0] is not None):
            return codecs.request.json_at(frame + start, n - start, &self.request, &self.lines.context, True) >= 0
        if e.key == PRODUCE:
            return codecs.request.scan_at(frame + start, n - start, &self.request, &self.lines.context) >= 0
        return codecs.request.skip_at(frame + start, n - start) >= 0

    cdef bint read_response(self, ApiCodecs codecs, const uint8_t* frame, size_t n, tuple scans) except -1:
        """Read a response's errors as text, or all of it if more is needed, and learn its topic names; return False if
        only the slower way can.
        """
        cdef Py_ssize_t start
        cdef Node node
        if frame == NULL:
            return True
        start = codecs.response_header.skip_at(frame, n)
        if start < 0:
            return False
        node = codecs.answer(frame + start, n - start)
        if scans and scans[1] is not None:
            return node.json_at(frame + start, n - start, &self.response, &self.lines.context, True) >= 0
        return node.scan_at(frame + start, n - start, &self.response, &self.lines.context) >= 0

    cdef bint refuses(self, scan, Out* text) except -1:
        """Return whether the text has a pattern whose meaning only the values show."""
        if scan is None or text.size == 0 or scan[4] is None:
            return False
        cdef bytes refused = scan[4]
        return search(text.data, end_of(text), PyBytes_AS_STRING(refused), PyBytes_GET_SIZE(refused)) != NULL

    cdef bint passes(self, Exchange* e, int client) except -1:
        """Return whether an exchange passes the filter, apart from errors."""
        if e.ts < self.since or e.ts > self.until or not (self.all_apis or self.apis[e.key]):
            return False
        if self.client is None:
            return True
        return (
            client == PyBytes_GET_SIZE(self.client)
            and memcmp(e.request + 10, PyBytes_AS_STRING(self.client), client) == 0
        )

    cdef int note(self, Exchange* e, int client, tuple scans) except -1:
        """Count the exchange in each of its groups."""
        cdef Counted counted
        self.lines.errors.take(self.response.data, end_of(&self.response))
        counted.failed = self.lines.errors.count() > 0
        if self.only_errors and not counted.failed:
            return 0
        self.counted += 1
        counted.asked, counted.answered = e.request_size + 4, e.response_size + 4 if e.response != NULL else 0
        counted.latency = (e.answered - e.ts) // 1000 if e.response != NULL else -1
        counted.produced = self.lines.context.records_seen if e.key == PRODUCE else -1
        counted.fetched = (
            self.lines.context.records_seen
            if e.response != NULL and e.key in (FETCH, SHARE_FETCH)
            else -1
        )
        counted.empty = not counted.failed and self.lines.context.records_size == 0
        if self.linked:
            self.groups.link, self.groups.link_size = e.link, e.link_size
        self.values.take(e, client, &self.lines.errors.codes)
        self.values.take_names(scans, &self.request, &self.response)
        return self.groups.count_all(self.values.values, &counted, self.values.beyond)

    # Results

    def take_groups(self):
        """Return each group, the one of the others (key None) first, as (key, exchanges, failed, request bytes,
        response bytes, least us, most us, {bucket: responses}, produces, their records, fetches, their records, empty
        fetches, {code: exchanges}, connections); connections None: unknown.

        A key has a value for each of `by`, two for a partition: API keys, versions, error codes (None: none), intervals
        since 1970, file numbers, and texts; a topic with only an id has its text in a tuple. Code None: those beyond
        the bounds.
        """
        codes = self.groups.codes_by_group()
        links = self.groups.links_by_group()
        return [
            (
                None if number == 0 else self.values.key_of(self.groups.key(number)), *self.groups.figures(number),
                codes.get(number, {}), None if links is None else links.get(number, []),
            )
            for number in range(self.groups.size())
        ]
