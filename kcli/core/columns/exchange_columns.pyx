"""Exchanges into the columns of kcli.pipeline's tables, without a Python object for a row."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memcmp, memset

from kcli.core.capture.exchange_json cimport API_VERSIONS, KEYS, VERSIONS, ApiCodecs, ExchangeWriter, client_id_size
from kcli.core.capture.packets cimport be32
from kcli.core.capture.tcp cimport Streams
from kcli.core.codec.interner cimport *
from kcli.core.codec.messages cimport Level, Name, NameTable, Out, Selection, name_find, name_miss, out_free, out_put
from kcli.core.codec.sink cimport Sink
from kcli.core.columns.json_columns cimport *
from kcli.core.records.batches cimport KB_OK, Batch, batch_checksum, crc_setup, read_batch

crc_setup(3)

include "dictionary.pxi"
include "connections.pxi"
include "partitions.pxi"
include "frame_columns.pxi"

cdef enum:
    NUMBERS = 10       # ts, completed, key, version, correlation id, request bytes, response bytes, latency in us, link, client
    HEADER = 0         # the texts of an exchange
    REQUEST = 1
    RESPONSE = 2
    FETCH = 1
    REMEMBERED = 1 << 16   # links, client ids and topics; uses; runs of answers
    HEARD = 1 << 12        # exchanges of ApiVersions
    HEARD_LAST = 64        # ... of which each is compared with one, at first


# Requests of one API and version by one client on one connection, after the same was said there. link, client: from 0 on,
# client -1: null.
cdef struct Use:
    int64_t link, client, voice, key, version, count


cdef class ExchangeRows(Sink):
    """Takes exchanges of steady connections.

    owner: has
    - `bodies`;
    - `layout(key, version)`, a Layout or None;
    - `voice(link)`, the number of what its client and broker have said of themselves, and `heard(link, voice, *exchange)`,
      that number after an ApiVersions;
    - `learn` and `more`, each (link, *exchange): told of those that taught a topic's name, and those of an API in `told`;
    - `flush()`, which calls `take_columns`: called when there is enough to write.
    told: API keys. parted: whether rows of partitions and batches are made, too, and it counts who says what. framed: API keys
    whose frames are kept. headed: whether headers are wanted as text.
    An exchange: (key, version, ts, request, answered, response).
    """

    cdef ExchangeWriter lines
    cdef Partitions partitions
    cdef FrameColumns frames
    cdef Column[3] columns
    cdef Out numbers, errors, error_ends, words, uses, nameless
    cdef Connections connections
    cdef Texts clients, heards
    cdef DictionaryBuilder used_clients
    cdef uint32_t[HEARD_LAST] last_heard
    cdef Map use_map
    cdef object owner
    cdef public Streams engine             # whose clock tells when an exchange came out
    cdef bint[KEYS] told, framed
    cdef bint parted, headed
    cdef PyObject* layouts[2][VERSIONS]    # of Produce and Fetch
    cdef list kept, topic_texts
    cdef list after                        # the voice that each of `heards` leads to
    cdef size_t request_body, response_body
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t rows_limit, bytes_limit

    def __init__(self, owner, told=(), Py_ssize_t rows=20000, Py_ssize_t size=1 << 25, bint parted=True, framed=(), bint headed=True):
        self.owner, self.parted, self.headed = owner, parted, headed
        self.lines = ExchangeWriter(owner.bodies)
        self.partitions = Partitions()
        self.frames = FrameColumns()
        self.connections = Connections()
        self.partitions.names = &self.lines.names.table
        for key in told:
            self.told[key] = True
        for key in framed:
            self.framed[key] = True
        self.rows_limit, self.bytes_limit = rows, size
        self.kept, self.after, self.topic_texts = [], [], []

    def __dealloc__(self):
        cdef int i
        for i in range(3):
            out_free(&self.columns[i].text)
            out_free(&self.columns[i].ends)
        out_free(&self.numbers)
        out_free(&self.errors)
        out_free(&self.error_ends)
        out_free(&self.words)
        out_free(&self.uses)
        out_free(&self.nameless)
        texts_free(&self.clients)
        texts_free(&self.heards)
        places_free(&self.used_clients)
        map_free(&self.use_map)

    cdef bint take(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1:
        cdef PyObject* plan
        cdef size_t[3] before
        cdef size_t names, missed
        cdef int client, i
        cdef bint parted
        if key < 0 or key >= KEYS or (response != NULL and answered < ts):
            return False
        plan = self.lines.plan(key, version)
        if <object>plan is None or (<ApiCodecs>plan).request_header is None or (<ApiCodecs>plan).request is None or (<ApiCodecs>plan).response is None:
            return False
        client = client_id_size(request, n, key, version)
        if client < -1:
            return False
        for i in range(3):
            before[i] = self.columns[i].text.size
        names, missed = self.lines.names.table.used, self.lines.names.table.missed
        if not (self.put_request(<ApiCodecs>plan, request, n) and self.put_response(<ApiCodecs>plan, response, m)):
            for i in range(3):
                self.columns[i].text.size = before[i]
            return False
        parted = self.parted and key <= FETCH and self.read_partitions(key, version, request, n, response, m)
        if response != NULL and not (parted and key == FETCH and self.partitions.is_fine()):
            self.note_errors(self.columns[RESPONSE].text.data + before[RESPONSE], end_of(&self.columns[RESPONSE].text))
        self.put(link, link_size, key, version, ts, request, n, client, answered, response, m, parted)
        if self.framed[key] and (parted or key != FETCH):
            self.frames.put(self.count - 1, request, n, answered, response, m, self.partitions if key == FETCH else None)
        if self.lines.names.table.missed != missed:
            self.note_nameless()
        if self.told[key] or (self.parted and key <= FETCH and not parted):
            self.owner.more(link[:link_size], *exchange(key, version, ts, request, n, answered, response, m))
        if self.lines.names.table.used != names:
            self.owner.learn(link[:link_size], *exchange(key, version, ts, request, n, answered, response, m))
        if self.is_full():
            self.owner.flush()
        return True

    cdef bint is_full(self) noexcept:
        cdef size_t texts = self.columns[REQUEST].text.size + self.columns[RESPONSE].text.size + self.frames.size()
        cdef size_t rows = self.partitions.rows.size + self.partitions.batches.size
        return self.count >= self.rows_limit or <Py_ssize_t>(texts + rows) > self.bytes_limit

    cdef int put(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                 int client, uint64_t answered, const uint8_t* response, size_t m, bint parted) except -1:
        """The numbers of a row, and what hangs on it."""
        cdef int64_t[NUMBERS] row
        cdef uint32_t number = self.link(link, link_size), who = self.client(request, client)
        row[0], row[1], row[2], row[3] = ts, max(answered if response != NULL else ts, self.clock()), key, version
        row[4], row[5], row[6] = <int32_t>be32(request + 4), n + 4, m + 4 if response != NULL else -1
        row[7] = (answered - ts) // 1000 if response != NULL else 0
        row[8], row[9] = place_of(&self.connections.used, number), place_of(&self.used_clients, who) if who else -1
        if self.parted:
            if key == API_VERSIONS:
                self.hear(link, link_size, number, request, n, response, m, version, ts, answered)
            self.use(number, who, key, version)
        if out_put(&self.numbers, row, sizeof(row)):
            raise MemoryError
        for i in range(3):
            end(&self.columns[i].ends, self.columns[i].text.size)
        end(&self.error_ends, self.errors.size // sizeof(int64_t))
        if parted:
            self.partitions.put_rows(self.count, key == FETCH)
            if response != NULL and not self.partitions.failed:
                self.partitions.put_runs(number, who, key, ts, answered)
        self.count += 1
        return 0

    cdef int use(self, uint32_t link, uint32_t client, int key, int version) except -1:
        """Count a request."""
        cdef Use made
        cdef uint64_t a = <uint64_t>link << 32 | client
        cdef uint64_t b = <uint64_t>self.connections.known[link - 1].voice << 16 | <uint64_t>key << 8 | <uint64_t>version
        cdef uint64_t at = map_find(&self.use_map, a, b)
        if at:
            (<Use*>self.uses.data)[at - 1].count += 1
            return 0
        made.link, made.client, made.voice = <int64_t>link - 1, <int64_t>client - 1, self.connections.known[link - 1].voice
        made.key, made.version, made.count = key, version, 1
        if out_put(&self.uses, &made, sizeof(made)) or map_put(&self.use_map, a, b, self.uses.size // sizeof(made)):
            raise MemoryError
        return 0

    cdef bint read_partitions(self, int key, int version, const uint8_t* request, size_t n, const uint8_t* response,
                              size_t m) except -1:
        """Those of a Fetch or Produce; False where only the slower way can."""
        cdef PyObject* layout = self.layout(key, version)
        if layout == <PyObject*>None:
            return False
        if response != NULL:
            response += self.response_body
            m -= self.response_body
        request += self.request_body
        return self.partitions.read(<Layout>layout, request, n - self.request_body, response, m, key == FETCH)

    cdef PyObject* layout(self, int key, int version) except NULL:
        if version >= VERSIONS:
            return <PyObject*>None
        if self.layouts[key][version] == NULL:
            made = self.owner.layout(key, version)
            self.kept.append(made)
            self.layouts[key][version] = <PyObject*>made
        return self.layouts[key][version]

    # Text

    cdef bint put_request(self, ApiCodecs plan, const uint8_t* frame, size_t n) except -1:
        cdef Out* header = &self.columns[HEADER].text
        cdef Py_ssize_t start
        if self.headed:
            start = plan.request_header.json_at(frame, n, header, NULL, False)
        else:
            start = plan.request_header.skip_at(frame, n)
        if start < 0:
            return False
        self.request_body = start
        if self.headed:
            header.size -= 1
            # The plan's text goes on to the request's own key, 11 characters that have no place here.
            if out_put(header, PyBytes_AS_STRING(plan.name), PyBytes_GET_SIZE(plan.name) - 11):
                raise MemoryError
        return plan.request.json_at(frame + start, n - start, &self.columns[REQUEST].text, &self.lines.context, True) >= 0

    cdef bint put_response(self, ApiCodecs plan, const uint8_t* frame, size_t n) except -1:
        cdef Py_ssize_t start
        if frame == NULL:
            return True
        start = plan.response_header.skip_at(frame, n)
        if start < 0:
            return False
        self.response_body = start
        frame += start
        cdef Out* out = &self.columns[RESPONSE].text
        return plan.answer(frame, n - start).json_at(frame, n - start, out, &self.lines.context, True) >= 0

    # What stands in the text

    cdef int note_errors(self, const char* p, const char* end) except -1:
        """The codes, each once."""
        cdef size_t first = self.errors.size // sizeof(int64_t)
        cdef int64_t code
        while next_error(&p, end, &code):
            if not is_in(&self.errors, first, code) and out_put(&self.errors, &code, sizeof(code)):
                raise MemoryError
        return 0

    cdef int note_nameless(self) except -1:
        """The last row has a topic id whose name nobody knows so far."""
        cdef int32_t row = <int32_t>self.count - 1
        if out_put(&self.nameless, &row, sizeof(row)):
            raise MemoryError
        return 0

    cdef uint64_t clock(self) noexcept:
        return 0 if self.engine is None else self.engine.clock

    # Numbers of texts

    cdef uint32_t link(self, const char* text, size_t size) except 0:
        cdef bint fresh
        cdef uint32_t number = self.connections.number(text, size, &fresh)
        if fresh:
            self.connections.known[number - 1].voice = self.owner.voice(text[:size])
        return number

    cdef int hear(self, const char* link, size_t link_size, uint32_t number, const uint8_t* request, size_t n,
                  const uint8_t* response, size_t m, int version, uint64_t ts, uint64_t answered) except -1:
        """The voice after an ApiVersions: the same words after the same voice were heard before, mostly."""
        cdef Link* told = &self.connections.known[number - 1]
        cdef uint32_t* last = &self.last_heard[(n * 7 + m + <uint64_t>told.voice) % HEARD_LAST]
        cdef uint32_t heard
        if response == NULL:
            m = 4
        if last[0] and is_heard(&self.heards.texts[last[0] - 1], told.voice, request + 8, n - 8, response + 4, m - 4):
            told.voice = self.after[last[0] - 1]
            return 0
        self.words.size = 0
        if out_put(&self.words, request + 8, n - 8) or out_put(&self.words, response + 4, m - 4):
            raise MemoryError
        heard = text_number(&self.heards, <const uint8_t*>self.words.data, self.words.size, <int>told.voice)
        if heard == 0:
            raise MemoryError
        if heard > <uint32_t>len(self.after):
            self.after.append(
                self.owner.heard(link[:link_size], told.voice, *exchange(API_VERSIONS, version, ts, request, n, answered, response, m))
            )
        last[0] = heard
        told.voice = self.after[heard - 1]
        return 0

    cdef uint32_t client(self, const uint8_t* request, int size) except? 0:
        """0: null."""
        cdef uint32_t number
        if size < 0:
            return 0
        number = text_number(&self.clients, request + 10, size, 0)
        if number == 0:
            raise MemoryError
        return number

    def set_voice(self, bytes link not None, int64_t voice):
        """What an ApiVersions said that went the slower way."""
        self.connections.known[self.link(PyBytes_AS_STRING(link), PyBytes_GET_SIZE(link)) - 1].voice = voice

    def voice(self, bytes link not None):
        """The voice of a connection; None where it is not known here."""
        cdef uint32_t number = self.connections.find(PyBytes_AS_STRING(link), PyBytes_GET_SIZE(link))
        return self.connections.known[number - 1].voice if number else None

    def end_runs(self, bint failed):
        """Answers came the slower way, an error among them or not: those to come are in no run with the ones before, which
        might be of another kind."""
        if failed or self.partitions.failing:
            self.partitions.end_runs()

    # Columns

    def take_columns(self, bint last=False):
        """What there is, as a dict, and a new start; the texts are views of memory that the next rows take. last: also the
        runs of answers that may go on.

        numbers: int64 rows of NUMBERS; header, request, response: (int32 where each row's text ends, behind a 0; the texts),
        errors: the same with int64 codes; links, ends (clients' ends), servers, clients: such texts, that the rows' numbers
        for link and client are places in, client -1: null; server_of: int32, a link's place in servers; topics: (kind,
        bytes) by number from 1 on; nameless: int32, rows with a topic id that had no name; partitions, batches: int64 rows of PartRow and
        BatchRow, whose `row` is one of `numbers`; frames: see FrameColumns; ended: see `end`, None: goes on.
        """
        cdef Partitions parts = self.partitions
        cdef size_t most = max(
            self.connections.links.count, self.clients.count, parts.texts.count, parts.run_count(), self.use_count(),
        )
        topics = parts.topic_texts(self.topic_texts)
        made = {
            "numbers": text(&self.numbers), "errors": (ends(&self.error_ends), text(&self.errors)),
            "clients": strings(&self.clients, &self.used_clients, False), "nameless": text(&self.nameless),
            "partitions": text(&parts.rows), "batches": text(&parts.batches), "topics": topics,
        }
        made["frames"] = self.frames.take()
        made |= self.connections.take()
        made["ended"] = self.end() if last or most > REMEMBERED else None
        for name, column in ("header", HEADER), ("request", REQUEST), ("response", RESPONSE):
            made[name] = ends(&self.columns[column].ends), view(&self.columns[column].text)
        self.count = 0
        places_clear(&self.used_clients)
        if self.heards.count > HEARD:
            texts_free(&self.heards)
            memset(self.last_heard, 0, sizeof(self.last_heard))
            self.after = []
        return made

    cdef size_t use_count(self) noexcept:
        return self.uses.size // sizeof(Use)

    cdef dict end(self):
        """Uses and runs of answers, which have ended: no text is needed any more, nor what is known of connections.

        uses, runs: int64 rows of Use and Run; links, servers, addresses, clients: all texts, by number; server_of, address_of:
        int32, by link; voices: by link, where something was said.
        """
        made = self.connections.end()
        made["uses"], made["runs"] = text(&self.uses), text(&self.partitions.runs)
        made["clients"] = strings(&self.clients, NULL, False)
        self.partitions.forget()
        texts_free(&self.clients)
        map_free(&self.use_map)
        self.topic_texts = []
        return made
