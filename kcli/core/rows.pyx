"""Exchanges into the columns of kcli.pipeline's tables, without a Python object for a row."""

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy, memset

from kcli.core.codec cimport (
    JsonContext, Name, Names, NameTable, Node, Out, RECORDS_HOOK, RECORDS_RAW, RECORDS_SIZE, name_find, out_free, out_put,
    out_reserve, put_int, put_uint,
)
from kcli.core.packets cimport be16, be32
from kcli.core.records cimport KB_OK, Batch, batch_checksum, crc_setup, read_batch
from kcli.core.sink cimport Sink
from kcli.core.tcp cimport Streams

crc_setup(2)

cdef extern from *:
    """
    #include <string.h>
    static const char *kc_find_error(const char *p, const char *end) {
        /* behind the next `rrorCode":` that no 0 follows; NULL: there is none. A capital C is rare. */
        for (p += 4; end - p > 7; p++) {
            p = (const char *)memchr(p, 'C', (size_t)(end - p - 6));
            if (p == NULL) return NULL;
            if (memcmp(p - 4, "rrorCode\\":", 10) == 0 && p[6] != '0') return p + 6;
        }
        return NULL;
    }
    /* The next topic id that stands without a name; NULL: there is none. */
    static const char *kc_find_unnamed(const char *p, const char *end) {
        for (p += 6; end - p > 27; p++) {
            p = (const char *)memchr(p, 'I', (size_t)(end - p - 27));
            if (p == NULL) return NULL;
            if (memcmp(p - 6, "\\"topicId\\":\\"", 11)) continue;
            p += 5;
            if (end - p < 36 || memcmp(p + 22, "\\",\\"_topicName\\"", 14)) return p;
        }
        return NULL;
    }
    """
    const char* find_error "kc_find_error"(const char* p, const char* end) nogil
    const char* find_unnamed "kc_find_unnamed"(const char* p, const char* end) nogil

include "exchange.pxi"
include "frames.pxi"
include "texts.pxi"
include "partitions.pxi"

cdef enum:
    NUMBERS = 11       # ts, completed, key, version, correlation id, request bytes, response bytes, latency in us, link, client, voice
    ENDS = 3           # of the texts of header, request, response
    FETCH = 1
    REMEMBERED = 1 << 16   # links, client ids and topics; runs of answers
    HEARD = 1 << 12        # exchanges of ApiVersions
    NULL_CLIENT = 1        # kind of a text


cdef class ExchangeRows(Sink):
    """Takes exchanges of steady connections.

    owner: has
    - `bodies`;
    - `layout(key, version)`, a Layout or None;
    - `has_ids(key, version)`: 1 where the request has topic ids, 2 where the response has, 3 both;
    - `voice(link)`, the number of what its client and broker have said of themselves, and `heard(link, voice, *exchange)`,
      that number after an ApiVersions;
    - `learn` and `more`, each (link, *exchange): told of those that taught a topic's name, and those of an API in `told`;
    - `flush()`, which calls `take_columns`: called when there is enough to write.
    An exchange: (key, version, ts, request, answered, response).
    """

    cdef Lines lines
    cdef Partitions partitions
    cdef Out numbers, header, request, response, ends, words
    cdef Texts links, clients, unnamed, heards
    cdef int64_t* voices
    cdef size_t voice_room
    cdef uint32_t last_link
    cdef object owner
    cdef public Streams engine             # whose clock tells when an exchange came out
    cdef bint[KEYS] told
    cdef int8_t[KEYS][VERSIONS] with_ids   # 1: the request has topic ids, 2: the response; -1: not known yet
    cdef PyObject* layouts[2][VERSIONS]    # of Produce and Fetch
    cdef list kept, link_texts, client_texts, topic_texts
    cdef list after                        # the voice that each of `heards` leads to
    cdef size_t request_body, response_body
    cdef public list errors
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t rows_limit, bytes_limit

    def __init__(self, owner, told=(), Py_ssize_t rows=20000, Py_ssize_t size=1 << 25):
        self.owner = owner
        self.lines = Lines(owner.bodies)
        self.partitions = Partitions()
        self.partitions.names = &self.lines.names.table
        for key in told:
            self.told[key] = True
        memset(self.with_ids, -1, sizeof(self.with_ids))
        self.rows_limit, self.bytes_limit = rows, size
        self.kept, self.errors, self.after = [], [], []
        self.link_texts, self.client_texts, self.topic_texts = [], [], []

    def __dealloc__(self):
        out_free(&self.numbers)
        out_free(&self.header)
        out_free(&self.request)
        out_free(&self.response)
        out_free(&self.ends)
        out_free(&self.words)
        texts_free(&self.unnamed)
        texts_free(&self.heards)
        texts_free(&self.links)
        texts_free(&self.clients)
        free(self.voices)

    cdef bint take(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1:
        cdef PyObject* plan
        cdef size_t[3] before
        cdef size_t names
        cdef int client
        if key < 0 or key >= KEYS or (response != NULL and answered < ts):
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
        if response != NULL:
            self.note_errors(self.response.data + before[2], self.response.data + self.response.size)
        self.put(link, link_size, key, version, ts, request, n, client, answered, response, m)
        if self.has_ids(key, version) & 1:
            self.note_unnamed(self.request.data + before[1], self.request.data + self.request.size)
        if self.has_ids(key, version) & 2:
            self.note_unnamed(self.response.data + before[2], self.response.data + self.response.size)
        if self.lines.names.table.used != names:
            self.owner.learn(link[:link_size], *exchange(key, version, ts, request, n, answered, response, m))
        if self.is_full():
            self.owner.flush()
        return True

    cdef bint is_full(self) noexcept:
        cdef size_t texts = self.request.size + self.response.size
        cdef size_t rows = self.partitions.rows.size + self.partitions.batches.size
        return self.count >= self.rows_limit or <Py_ssize_t>(texts + rows) > self.bytes_limit

    cdef int put(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                 int client, uint64_t answered, const uint8_t* response, size_t m) except -1:
        """The numbers of a row, and what hangs on it."""
        cdef int64_t[NUMBERS] row
        cdef int32_t[ENDS] ends
        cdef uint32_t number = self.link(link, link_size)
        row[0], row[1], row[2], row[3] = ts, max(answered if response != NULL else ts, self.clock()), key, version
        row[4], row[5], row[6] = <int32_t>be32(request + 4), n + 4, m + 4 if response != NULL else -1
        row[7] = (answered - ts) // 1000 if response != NULL else 0
        row[8], row[9] = number - 1, self.client(request, client) - 1
        if key == API_VERSIONS:
            self.hear(link, link_size, number, request, n, response, m, version, ts, answered)
        row[10] = self.voices[number - 1]
        ends[0], ends[1], ends[2] = <int32_t>self.header.size, <int32_t>self.request.size, <int32_t>self.response.size
        if out_put(&self.numbers, row, sizeof(row)) or out_put(&self.ends, ends, sizeof(ends)):
            raise MemoryError
        self.count += 1
        if key <= FETCH:
            if not self.put_partitions(key, version, ts, request, n, answered, response, m, row[8], row[9]):
                self.owner.more(link[:link_size], *exchange(key, version, ts, request, n, answered, response, m))
        elif self.told[key]:
            self.owner.more(link[:link_size], *exchange(key, version, ts, request, n, answered, response, m))
        return 0

    cdef bint put_partitions(self, int key, int version, uint64_t ts, const uint8_t* request, size_t n, uint64_t answered,
                             const uint8_t* response, size_t m, uint64_t link, uint64_t client) except -1:
        """The rows of a Fetch or Produce; False where only the slower way can make them."""
        cdef PyObject* layout = self.layout(key, version)
        cdef Partitions parts = self.partitions
        if layout == <PyObject*>None:
            return False
        if response != NULL:
            response += self.response_body
            m -= self.response_body
        if not parts.read(<Layout>layout, request + self.request_body, n - self.request_body, response, m, key == FETCH):
            return False
        parts.put_rows(self.count - 1, key == FETCH)
        if response != NULL and not parts.tells.columns[FAILED]:
            parts.put_runs(link, client, key, ts, answered)
        return True

    cdef PyObject* layout(self, int key, int version) except NULL:
        if version >= VERSIONS:
            return <PyObject*>None
        if self.layouts[key][version] == NULL:
            made = self.owner.layout(key, version)
            self.kept.append(made)
            self.layouts[key][version] = <PyObject*>made
        return self.layouts[key][version]

    # Text

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
        self.request_body = start
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
        self.response_body = start
        frame += start
        return plan.answer(frame, n - start).json_at(frame, n - start, &self.response, &self.lines.context, True) >= 0

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

    cdef int has_ids(self, int key, int version) except -1:
        if self.with_ids[key][version] < 0:
            self.with_ids[key][version] = self.owner.has_ids(key, version)
        return self.with_ids[key][version]

    cdef int note_unnamed(self, const char* p, const char* end) except -1:
        p = find_unnamed(p, end)
        while p != NULL:
            if text_number(&self.unnamed, <const uint8_t*>p, 22, 0) == 0:
                raise MemoryError
            p = find_unnamed(p, end)
        return 0

    cdef uint64_t clock(self) noexcept:
        return 0 if self.engine is None else self.engine.clock

    # Numbers of texts

    cdef uint32_t link(self, const char* text, size_t size) except 0:
        cdef size_t before = self.links.count
        cdef uint32_t number = self.last_link
        if number and self.links.texts[number - 1].size == size and memcmp(self.links.texts[number - 1].data, text, size) == 0:
            return number
        self.last_link = number = text_number(&self.links, <const uint8_t*>text, size, 0)
        cdef int64_t* grown
        if number == 0:
            raise MemoryError
        if self.links.count > self.voice_room:
            grown = <int64_t*>realloc(self.voices, 2 * self.links.count * sizeof(int64_t))
            if grown == NULL:
                raise MemoryError
            self.voices, self.voice_room = grown, 2 * self.links.count
        if self.links.count > before:
            self.voices[number - 1] = self.owner.voice(text[:size])
        return number

    cdef int hear(self, const char* link, size_t link_size, uint32_t number, const uint8_t* request, size_t n,
                  const uint8_t* response, size_t m, int version, uint64_t ts, uint64_t answered) except -1:
        """The voice after an ApiVersions: the same words after the same voice were heard before, mostly."""
        cdef int64_t* voice = &self.voices[number - 1]
        cdef uint32_t heard
        self.words.size = 0
        if out_put(&self.words, request + 8, n - 8) or (response != NULL and out_put(&self.words, response + 4, m - 4)):
            raise MemoryError
        heard = text_number(&self.heards, <const uint8_t*>self.words.data, self.words.size, <int>voice[0])
        if heard == 0:
            raise MemoryError
        if heard > <uint32_t>len(self.after):
            self.after.append(
                self.owner.heard(link[:link_size], voice[0], *exchange(API_VERSIONS, version, ts, request, n, answered, response, m))
            )
        voice[0] = self.after[heard - 1]
        return 0

    cdef uint32_t client(self, const uint8_t* request, int size) except 0:
        cdef uint32_t number
        if size < 0:
            number = text_number(&self.clients, request, 0, NULL_CLIENT)
        else:
            number = text_number(&self.clients, request + 10, size, 0)
        if number == 0:
            raise MemoryError
        return number

    def set_voice(self, bytes link not None, int64_t voice):
        """What an ApiVersions said that went the slower way."""
        self.voices[self.link(PyBytes_AS_STRING(link), PyBytes_GET_SIZE(link)) - 1] = voice

    def voice(self, bytes link not None):
        """The voice of a connection; None where it is not known here."""
        cdef uint32_t number = text_find(&self.links, <const uint8_t*>PyBytes_AS_STRING(link), PyBytes_GET_SIZE(link), 0)
        return self.voices[number - 1] if number else None

    def end_runs(self, bint failed):
        """Answers came the slower way, an error among them or not: those to come are in no run with the ones before, which
        might be of another kind."""
        if failed or self.partitions.failing:
            self.partitions.end_runs()

    # Columns

    def take_columns(self, bint last=False):
        """What there is, as a dict, and a new start; the texts are views of memory that the next rows take. last: also the
        runs of answers that may go on.

        numbers: int64 rows of NUMBERS; ends: int32 rows of ENDS, into the texts `header`, `request`, `response`; links,
        clients (None: null) and topics ((kind, bytes)) by number from 0, 0 and 1 on; errors: (row, codes); unnamed: topic
        ids without a name; voices: by link, of all that are forgotten now; partitions, batches, runs: int64 rows of
        PartRow, BatchRow, Run, whose `row` is one of `numbers`.
        """
        cdef Partitions parts = self.partitions
        cdef bint forgets = last or max(self.links.count, self.clients.count, parts.topics.count, parts.run_count()) > REMEMBERED
        made = {
            "numbers": text(&self.numbers), "ends": text(&self.ends), "header": view(&self.header), "request": view(&self.request),
            "response": view(&self.response), "unnamed": self.texts(&self.unnamed, []), "errors": self.errors,
            "partitions": text(&parts.rows), "batches": text(&parts.batches), "runs": text(&parts.runs) if forgets else b"",
            "links": self.texts(&self.links, self.link_texts), "clients": self.texts(&self.clients, self.client_texts),
            "topics": parts.topic_texts(self.topic_texts),
        }
        self.errors, self.count = [], 0
        texts_free(&self.unnamed)
        made["voices"] = {}
        if self.heards.count > HEARD:
            texts_free(&self.heards)
            self.after = []
        if forgets:
            made["voices"] = {text: self.voices[i] for i, text in enumerate(self.link_texts) if self.voices[i]}
            parts.forget()
            texts_free(&self.links)
            texts_free(&self.clients)
            self.last_link = 0
            self.link_texts, self.client_texts, self.topic_texts = [], [], []
        return made

    cdef list texts(self, Texts* texts, list known):
        cdef size_t i
        for i in range(len(known), texts.count):
            known.append(None if texts.texts[i].kind == NULL_CLIENT else (<const char*>texts.texts[i].data)[: texts.texts[i].size].decode())
        return known


cdef inline bytes text(Out* out):
    """All of it, which is empty then."""
    made = PyBytes_FromStringAndSize(out.data, out.size)
    out.size = 0
    return made


cdef inline object view(Out* out):
    """The same where it lies."""
    made = PyMemoryView_FromMemory(out.data, out.size, PyBUF_READ) if out.size else b""
    out.size = 0
    return made


cdef tuple exchange(int key, int version, uint64_t ts, const uint8_t* request, size_t n, uint64_t answered,
                    const uint8_t* response, size_t m):
    return (
        key, version, ts, (<const char*>request)[:n], answered if response != NULL else None,
        (<const char*>response)[:m] if response != NULL else None,
    )
