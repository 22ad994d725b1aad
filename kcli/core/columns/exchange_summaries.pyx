"""Exchanges as rows of `decode pcap`'s table, with a summary in words; contents that were met before are not decoded
again.

The words of a Fetch or Produce without errors are made here; those of others come from the owner, once for the same
bytes. The words here are those of kcli/cli/summaries; tests compare both.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from kcli.core.codec.request_header cimport *
from kcli.core.codec.messages cimport Name, NameTable, Out, Selection, name_find, out_free, out_put, put_uint
from kcli.core.capture.exchange_json cimport PRODUCE, ApiCodecs, ExchangeWriter, steady_codecs
from kcli.core.codec.sink cimport Exchange, Layouts, Sink, link_of, values_of
from kcli.core.records.batches cimport KB_CODEC, KB_OK, Batch, read_batch

cdef enum:
    FETCH = 1
    MOST_BYTES = 1 << 13      # of an exchange whose words are remembered
    MOST_WORDS = 1 << 16      # remembered
    MOST_REMEMBERED = 1 << 25 # bytes of exchanges

include "partition_words.pxi"


cdef class ExchangeSummaries(Sink):
    """Receives exchanges of steady connections.

    owner: has

    - `bodies`;
    - `layout(key, version)`: for Produce and Fetch, returns (the request's Selection, the response's, whether topics
      have ids), or None;
    - `summary(link, *exchange)`: returns the words, as any object; None: the exchange goes the slower way;
    - `row(link, ts, key, version, client, words, answered, request bytes, response bytes)`: receives a row; words: a
      result of `summary`, or text; client: bytes, None: null.

    An exchange is (key, version, ts, request, answered, response).
    """

    cdef ExchangeWriter lines
    cdef PartitionWords words
    cdef object owner
    cdef Layouts layouts
    cdef dict known
    cdef size_t remembered, named

    def __init__(self, owner):
        self.owner, self.layouts, self.known = owner, Layouts(owner.layout), {}
        self.lines = ExchangeWriter(owner.bodies)
        self.words = PartitionWords()
        self.words.names = &self.lines.names.table

    cdef bint take(self, Exchange* e) except -1:
        cdef PyObject* found
        cdef ApiCodecs codecs
        cdef Py_ssize_t request_body, response_body = 0
        cdef int client
        found = steady_codecs(self.lines, e, &client)
        if <object>found is None:
            return False
        codecs = <ApiCodecs>found
        request_body = codecs.request_header.skip_at(e.request, e.request_size)
        if e.response != NULL:
            response_body = codecs.response_header.skip_at(e.response, e.response_size)
        if request_body < 0 or response_body < 0:
            return False
        words = self.said(e, request_body, response_body)
        if words is None:
            words = self.known_words(e, request_body, response_body)
            if words is None:
                return False
        self.owner.row(
            link_of(e), e.ts, e.key, e.version, None if client < 0 else (<const char*>e.request)[10 : 10 + client],
            words, None if e.response == NULL else e.answered, e.request_size + 4,
            None if e.response == NULL else e.response_size + 4,
        )
        return True

    # Words that were made before

    cdef object known_words(self, Exchange* e, size_t request_body, size_t response_body):
        """Return the owner's words for an exchange, which are kept by its bodies' bytes; None if there are none."""
        cdef size_t size = e.request_size - request_body + e.response_size - response_body + 5
        cdef bytes bytes_of = None
        if self.lines.names.table.used != self.named:
            self.named = self.lines.names.table.used
            self.forget()
        if size <= MOST_BYTES:
            bytes_of = key_of(e, request_body, response_body)
            words = self.known.get(bytes_of)
            if words is not None:
                return words
        words = self.owner.summary(link_of(e), *values_of(e))
        if words is not None and bytes_of is not None:
            if len(self.known) >= MOST_WORDS or self.remembered > MOST_REMEMBERED:
                self.forget()
            self.known[bytes_of] = words
            self.remembered += size
        return words

    cdef int forget(self) except -1:
        self.known.clear()
        self.remembered = 0
        return 0

    # Fetch and Produce

    cdef object said(self, Exchange* e, size_t request_body, size_t response_body):
        """Return the words of a Fetch or Produce without an error; None for any other exchange."""
        cdef PyObject* layout
        if e.key > FETCH or (e.response == NULL and e.key == FETCH):
            return None
        layout = self.layouts.of(e.key, e.version)
        if layout == <PyObject*>None:
            return None
        return self.words.of(
            <tuple>layout, e.key == FETCH, e.request + request_body, e.request_size - request_body,
            e.response, e.response + response_body, e.response_size - response_body,
        )


cdef bytes key_of(Exchange* e, size_t request_body, size_t response_body):
    """Return the bytes that identify an exchange's bodies: API key, version, both bodies and whether it was answered.
    """
    cdef uint32_t n = <uint32_t>(e.request_size - request_body)
    cdef size_t m = e.response_size - response_body
    cdef bytes made = PyBytes_FromStringAndSize(NULL, n + m + 7)
    cdef char* p = PyBytes_AS_STRING(made)
    p[0], p[1], p[2] = e.key, e.version, e.response == NULL
    memcpy(p + 3, &n, 4)
    memcpy(p + 7, e.request + request_body, n)
    memcpy(p + 7 + n, e.response + response_body, m)
    return made
