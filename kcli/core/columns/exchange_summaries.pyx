"""Exchanges as rows of `decode pcap`'s table: what was said in words, without decoding what was said before.

The words of Fetch and Produce are made here where nothing failed; those of others come from the owner, once for the
same bytes. The words here are those of kcli/cli/summaries; tests hold both equal.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from kcli.core.codec.request_header cimport *
from kcli.core.codec.messages cimport Name, NameTable, Out, Selection, name_find, out_free, out_put, put_uint
from kcli.core.capture.exchange_json cimport KEYS, PRODUCE, VERSIONS, ApiCodecs, ExchangeWriter, steady_codecs
from kcli.core.codec.sink cimport Sink
from kcli.core.records.batches cimport KB_CODEC, KB_OK, Batch, read_batch

cdef enum:
    FETCH = 1
    MOST_BYTES = 1 << 13      # of an exchange whose words are remembered
    MOST_WORDS = 1 << 16      # remembered
    MOST_REMEMBERED = 1 << 25 # bytes of exchanges

include "partition_words.pxi"


cdef class ExchangeSummaries(Sink):
    """Takes exchanges of steady connections.

    owner: has
    - `bodies`;
    - `layout(key, version)`: of Produce and Fetch: (the request's Selection, the response's, whether topics go by ids), None;
    - `summary(link, *exchange)`: the words, any object; None: this exchange goes the slower way;
    - `row(link, ts, key, version, client, words, answered, request bytes, response bytes)`: takes a row; words: an object of
      `summary`, or text; client: bytes, None: null.
    An exchange: (key, version, ts, request, answered, response).
    """

    cdef ExchangeWriter lines
    cdef PartitionWords words
    cdef object owner
    cdef PyObject* layouts[2][VERSIONS]
    cdef list kept
    cdef dict known
    cdef size_t remembered, named

    def __init__(self, owner):
        self.owner, self.kept, self.known = owner, [], {}
        self.lines = ExchangeWriter(owner.bodies)
        self.words = PartitionWords()
        self.words.names = &self.lines.names.table

    cdef bint take(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1:
        cdef PyObject* found
        cdef ApiCodecs codecs
        cdef Py_ssize_t asked, told = 0
        cdef int client
        found = steady_codecs(self.lines, key, version, ts, request, n, answered, response != NULL, &client)
        if <object>found is None:
            return False
        codecs = <ApiCodecs>found
        asked = codecs.request_header.skip_at(request, n)
        if response != NULL:
            told = codecs.response_header.skip_at(response, m)
        if asked < 0 or told < 0:
            return False
        words = self.said(key, version, request + asked, n - asked, response, m, told)
        if words is None:
            words = self.known_words(link, link_size, key, version, ts, request, n, asked, answered, response, m, told)
            if words is None:
                return False
        self.owner.row(
            link[:link_size], ts, key, version, None if client < 0 else (<const char*>request)[10 : 10 + client], words,
            None if response == NULL else answered, n + 4, None if response == NULL else m + 4,
        )
        return True

    # Words that were made before

    cdef object known_words(self, const char* link, size_t link_size, int key, int version, uint64_t ts,
                            const uint8_t* request, size_t n, size_t asked, uint64_t answered, const uint8_t* response, size_t m,
                            size_t told):
        """The owner's words for an exchange; None where there are none."""
        cdef size_t size = n - asked + m - told + 5
        cdef bytes bytes_of = None
        if self.lines.names.table.used != self.named:
            self.named = self.lines.names.table.used
            self.forget()
        if size <= MOST_BYTES:
            bytes_of = key_of(key, version, request + asked, n - asked, response == NULL, response + told, m - told)
            words = self.known.get(bytes_of)
            if words is not None:
                return words
        words = self.owner.summary(
            link[:link_size], key, version, ts, (<const char*>request)[:n], None if response == NULL else answered,
            None if response == NULL else (<const char*>response)[:m],
        )
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

    cdef object said(self, int key, int version, const uint8_t* request, size_t n, const uint8_t* response, size_t m, size_t told):
        """The words of a Fetch or Produce that went well; None for any other exchange."""
        cdef PyObject* layout
        if key > FETCH or (response == NULL and key == FETCH):
            return None
        layout = self.layout(key, version)
        if layout == <PyObject*>None:
            return None
        return self.words.of(<tuple>layout, key == FETCH, request, n, response, response + told, m - told)

    cdef PyObject* layout(self, int key, int version) except NULL:
        if self.layouts[key][version] == NULL:
            made = self.owner.layout(key, version)
            self.kept.append(made)
            self.layouts[key][version] = <PyObject*>made
        return self.layouts[key][version]


cdef bytes key_of(int key, int version, const uint8_t* request, size_t n, bint alone, const uint8_t* response, size_t m):
    """What tells an exchange's bodies from others."""
    cdef bytes made = PyBytes_FromStringAndSize(NULL, n + m + 7)
    cdef char* p = PyBytes_AS_STRING(made)
    cdef uint32_t size = <uint32_t>n
    p[0], p[1], p[2] = key, version, alone
    memcpy(p + 3, &size, 4)
    memcpy(p + 7, request, n)
    memcpy(p + 7 + n, response, m)
    return made
