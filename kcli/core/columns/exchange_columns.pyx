"""Makes the columns of kcli.pipeline's tables from exchanges, without a Python object for a row."""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memcmp, memset

from kcli.core.capture.exchange_json cimport API_VERSIONS, ApiCodecs, ExchangeWriter, steady_codecs
from kcli.core.capture.streams cimport Streams
from kcli.core.codec.interner cimport *
from kcli.core.codec.request_header cimport correlation_id
from kcli.core.codec.messages cimport (
    Level, Name, NameTable, Node, Out, Selection, name_find, name_miss, out_free, out_put,
)
from kcli.core.codec.sink cimport KEYS, Exchange, Layouts, Sink, link_of, values_of
from kcli.core.columns.json_columns cimport *
from kcli.core.records.batches cimport KB_OK, Batch, batch_checksum, crc_setup, read_batch

crc_setup(3)

include "lent.pxi"
include "exchange_values.pxi"
include "dictionary.pxi"
include "connection_sums.pxi"
include "connections.pxi"
include "partition_layout.pxi"
include "partitions.pxi"
include "answer_runs.pxi"
include "frame_columns.pxi"
include "message_columns.pxi"
include "field_columns.pxi"
include "uses.pxi"
include "voices.pxi"
include "sayings.pxi"

cdef enum:
    FETCH = 1
    SHARE_FETCH = 78
    REMEMBERED = 1 << 16   # links, client ids and topics; uses; runs of responses
    CUT_REQUEST = 1        # the request is not whole in the capture
    CUT_RESPONSE = 2       # ... the response


cdef dict row_columns():
    """Return the names of the columns of each kind of row, by the keys of `take_columns`."""
    cdef ExchangeRow exchange
    cdef PartRow part
    cdef BatchRow batch
    cdef Use use
    cdef Run run
    cdef Sums sums
    memset(&exchange, 0, sizeof(exchange))
    memset(&part, 0, sizeof(part))
    memset(&batch, 0, sizeof(batch))
    memset(&use, 0, sizeof(use))
    memset(&run, 0, sizeof(run))
    memset(&sums, 0, sizeof(sums))
    part_names = tuple(<object>part)
    return {
        "numbers": tuple(<object>exchange), "fetched": part_names, "produced": part_names,
        "batches": tuple(<object>batch), "uses": tuple(<object>use), "runs": tuple(<object>run),
        "sums": tuple(<object>sums),
    }


ROW_COLUMNS = row_columns()


cdef inline bint names_topic_id(bytes text):
    return text is not None and b'"topicId"' in text


cdef class ExchangeRows(Sink):
    """Receives exchanges: of steady connections from an engine, and others as values.

    owner: has

    - `bodies`;
    - `layout(key, version)`: returns a Layout or None;
    - `partitions(link, *exchange)`: returns the partitions of a Fetch, Produce or ShareFetch that the core does not
      read, for `Partitions.load`, or None;
    - `voice(link)`: returns a connection's voice (see Voices); `heard(link, voice, *exchange)`: returns the voice after
      an ApiVersions;
    - `learn(link, *exchange)`: receives exchanges with new topic names; `more(link, *exchange)`: receives those of
      an API in `forwarded`, or with an error of `failing`;
    - `flush()`: calls `take_columns`; it is called when there is enough to write.

    An exchange is (key, version, ts, request, answered, response).

    forwarded: API keys. failing: error codes by API key. rows, size: rows and bytes after which `flush` is called.
    parted: make rows of partitions and batches, too. counted: also count uses and runs of responses for `end`. framed:
    API keys whose frames are kept, a Fetch's with its records unless parted. headed: make texts of headers. texts: API
    keys whose bodies are kept as text; None: all. bodies: read bodies; else they give no texts, errors or names, and
    are not checked. fields: the number of columns for messages' fields; the owner's `fields(key, version)` returns the
    Fields of a version. talks: by connection ("server-client"); connections not in it have no voice yet; None: the
    owner's `voice` is called for each. sayings: numbers contents of exchanges, so that `more` receives only new ones;
    None: it receives all. positions: rows of partitions also have the connection's fetch positions. checksums: compute
    checksums of batches; else all count as right. since, until: ns; requests before and after them have no rows, but
    their topic names and voices count.
    """

    cdef ExchangeWriter lines
    cdef MessageColumns messages
    cdef FieldColumns fields               # None: none are wanted
    cdef Partitions partitions
    cdef AnswerRuns runs
    cdef FrameColumns frames
    cdef Uses uses
    cdef Voices voices
    cdef Connections connections
    cdef SayingNumbers sayings             # None: none are wanted
    cdef Out numbers, nameless
    cdef size_t taken                      # bytes of the numbers that `take_columns` returned last
    cdef Texts clients
    cdef DictionaryBuilder used_clients
    cdef object owner
    cdef dict talks, failing
    cdef Streams streams                   # whose clock tells when an exchange came out
    cdef bint[KEYS] forwarded, framed, textless
    cdef bint parted, counted
    cdef Layouts layouts                   # of Produce and Fetch
    cdef list topic_texts
    cdef readonly Py_ssize_t count
    cdef Py_ssize_t rows_limit, bytes_limit, overlooked
    cdef int64_t since, until
    cdef uint64_t came                     # when the current exchange was complete, if it is a value

    def __init__(
        self, owner, forwarded=(), Py_ssize_t rows=20000, Py_ssize_t size=1 << 25, bint parted=True, framed=(),
        bint headed=True, texts=None, int fields=0, bint bodies=True, SayingNumbers sayings=None, since=None,
        until=None, bint counted=True, bint positions=True, bint checksums=True, dict talks=None, dict failing=None,
    ):
        self.failing = failing or {}
        self.owner, self.talks, self.parted, self.layouts = owner, talks, parted, Layouts(owner.layout)
        self.counted = parted and counted
        self.lines = ExchangeWriter(owner.bodies)
        self.messages = MessageColumns(self.lines, headed, bodies)
        self.fields = FieldColumns(owner, fields) if fields else None
        self.partitions = Partitions()
        self.partitions.follows, self.partitions.checks = positions, checksums
        self.runs = AnswerRuns()
        self.uses, self.voices = Uses(), Voices(owner)
        self.frames = FrameColumns()
        self.connections = Connections()
        self.sayings = sayings
        self.partitions.names = &self.lines.names.table
        for key in forwarded:
            self.forwarded[key] = True
        for key in framed:
            self.framed[key] = True
        for key in range(KEYS):
            self.textless[key] = texts is not None and key not in texts
        self.rows_limit, self.bytes_limit = rows, size
        self.since = INT64_MIN if since is None else since
        self.until = INT64_MAX if until is None else until
        self.topic_texts = []

    def __dealloc__(self):
        out_free(&self.numbers)
        out_free(&self.nameless)
        texts_free(&self.clients)
        places_free(&self.used_clients)

    def begin(self, Streams streams not None):
        self.streams = streams

    def put(self, item not None, uint64_t clock):
        """Add an exchange that came as a value, a kcli.capture.kafka.exchange.Exchange. Return False, with nothing
        added, if its texts have to be made elsewhere: see `put_texts`. clock: ns, of the packet that completed it.
        """
        cdef Exchange e
        if item.is_cut:
            return False
        cdef list held = hold(&e, item)
        self.came = clock
        return self.take(&e)

    def put_texts(self, item not None, uint64_t clock, bytes header, bytes request, bytes response, list fields=[]):
        """Add an exchange whose texts were made elsewhere as JSON; None: there is none. fields: a number or None for
        each wanted field.
        """
        cdef Exchange e
        cdef list held = hold(&e, item)
        self.came = clock
        cdef size_t missed = self.lines.names.table.missed
        cdef bint is_known = 0 <= e.key < KEYS, cut = item.is_cut
        cdef bint parted = self.parted and not cut and self.load_partitions(&e)
        cdef bytes client_id
        cdef uint32_t who = 0
        if item.client_id is not None:
            client_id = item.client_id.encode("utf-8", "replace")
            who = text_number(
                &self.clients, <const uint8_t*>PyBytes_AS_STRING(client_id), PyBytes_GET_SIZE(client_id), 0
            )
            if who == 0:
                raise MemoryError
        self.messages.put_texts(header, request, response)
        if self.fields is not None:
            self.fields.put_values(fields)
        if is_known and self.textless[e.key]:
            self.messages.drop_texts()
        cdef bint forwards = is_known and item.cut.request is None and self.forwards(&e)
        if cut:
            self.add_cut(&e, who, item)
        else:
            self.add(&e, who, parted)
        if is_known and self.framed[e.key] and request is not None and (response is not None or e.response == NULL):
            self.frames.put(self.count - 1, &e, None)
        if self.lines.names.table.missed != missed or names_topic_id(request) or names_topic_id(response):
            self.note_nameless()
        if forwards:
            self.forward(&e, (tuple(item.cut),) if cut else ())
        if self.is_full():
            self.flush()

    cdef int add_cut(self, Exchange* e, uint32_t client, item) except -1:
        """Add the row of an exchange that is not whole in the capture."""
        if self.parted and e.key == API_VERSIONS:
            self.hear_client(self.link(e.link, e.link_size), e)
        if item.cut.response is not None:
            self.messages.put_errors(item.error_codes or ())
        cdef int64_t cut = CUT_REQUEST if item.cut.request is not None else 0
        cdef Exchange sized = e[0]        # of its numbers alone, as the frames are shorter
        sized.request_size = item.request_bytes - 4
        if e.response != NULL:
            sized.response_size = item.response_bytes - 4
        return self.add(&sized, client, False, cut | (CUT_RESPONSE if item.cut.response is not None else 0))

    def hear(self, item not None):
        """Learn the client's profile from an exchange without a row: an ApiVersions."""
        cdef Exchange e
        cdef list held = hold(&e, item)
        if self.parted and e.key == API_VERSIONS:
            self.hear_client(self.link(e.link, e.link_size), &e)

    cdef bint take(self, Exchange* e) except -1:
        cdef PyObject* codecs
        cdef size_t names, missed
        cdef int client
        cdef bint parted, forwards
        codecs = steady_codecs(self.lines, e, &client)
        if <object>codecs is None:
            return False
        names, missed = self.lines.names.table.used, self.lines.names.table.missed
        if not self.messages.put(<ApiCodecs>codecs, e, self.textless[e.key]):
            return False
        if not self.since <= <int64_t>e.ts <= self.until:
            return self.overlook(e, self.lines.names.table.used != names)
        parted = self.parted and (self.read_partitions(e) or self.load_partitions(e))
        if (
            e.response != NULL
            and self.messages.bodies
            and not (parted and e.key == FETCH and self.partitions.is_fine())
        ):
            self.messages.note_errors()
        if self.fields is not None:
            self.put_fields(<ApiCodecs>codecs, e)
        if self.textless[e.key]:
            self.messages.drop_texts()
        forwards = self.forwards(e)
        self.add(e, self.client(e.request, client), parted)
        if self.framed[e.key]:
            self.frames.put(
                self.count - 1, e,
                self.partitions if parted and e.key == FETCH and self.partitions.given is None else None
            )
        if self.lines.names.table.missed != missed:
            self.note_nameless()
        if forwards:
            self.forward(e)
        if self.lines.names.table.used != names:
            self.owner.learn(link_of(e), *values_of(e))
        if self.is_full():
            self.flush()
        return True

    cdef bint forwards(self, Exchange* e) except -1:
        """Return whether the owner takes this exchange, whose row has not ended, as a whole."""
        if self.forwarded[e.key]:
            return True
        return self.messages.has_errors() and e.key in self.failing and self.messages.has_error_of(self.failing[e.key])

    cdef int forward(self, Exchange* e, tuple cut=()) except -1:
        """Pass an exchange to the owner, unless its contents were passed before. cut: its Cut, if it is cut off."""
        cdef bint fresh = True
        if self.sayings is not None and self.sayings.said[e.key]:
            fresh = self.sayings.note(e)
        if fresh:
            self.owner.more(link_of(e), *values_of(e), *cut)
        return 0

    cdef bint overlook(self, Exchange* e, bint taught) except -1:
        """Learn the client's profile and topic names from an exchange without a row. Always return True."""
        self.messages.drop_row()
        if self.parted and e.key == API_VERSIONS:
            self.hear_client(self.link(e.link, e.link_size), e)
        if taught:
            self.owner.learn(link_of(e), *values_of(e))
        self.overlooked += 1
        if self.overlooked >= REMEMBERED:
            self.overlooked = 0
            self.flush()
        return True

    cdef bint is_full(self) noexcept:
        cdef size_t size = self.messages.size() + self.frames.size() + self.partitions.size()
        return self.count >= self.rows_limit or <Py_ssize_t>size > self.bytes_limit

    cdef int flush(self) except -1:
        """Have the owner take the columns, and use the memory again that it needs no more."""
        self.owner.flush()
        self.messages.refill()
        refill(&self.numbers, self.taken)
        return 0

    cdef int add(self, Exchange* e, uint32_t client, bint parted, int64_t cut=0) except -1:
        """Add a row's numbers, and the rows that depend on it. client: a number, 0: null. cut: as in ExchangeRow; the
        frames then have only their first bytes.
        """
        cdef ExchangeRow row
        cdef uint32_t link = self.link(e.link, e.link_size)
        row.ts, row.completed = e.ts, max(e.answered if e.response != NULL else e.ts, self.clock())
        row.key, row.version, row.correlation_id = e.key, e.version, correlation_id(e.request)
        row.request_bytes, row.response_bytes = e.request_size + 4, e.response_size + 4 if e.response != NULL else -1
        row.latency = microseconds(<int64_t>e.answered - <int64_t>e.ts) if e.response != NULL else 0
        row.request_transfer = e.ts - e.began if 0 < e.began <= e.ts else -1
        row.response_transfer = e.answered - e.answering if e.response != NULL and 0 < e.answering <= e.answered else -1
        row.pause, row.in_flight, row.cut = e.pause, e.in_flight, cut
        row.link, row.client = (
            place_of(&self.connections.used, link), place_of(&self.used_clients, client)
            if client
            else -1
        )
        if self.parted and e.key == API_VERSIONS and not cut:
            self.hear_client(link, e)
        if self.counted:
            self.uses.count(link, client, self.connections.known[link - 1].voice, e.key, e.version)
            sums_add(&self.connections.known[link - 1].sums, e, client, row.completed, self.messages.has_errors())
        if out_put(&self.numbers, &row, sizeof(row)):
            raise MemoryError
        self.messages.end_row()
        if parted and e.key > FETCH:
            self.partitions.put_batch_rows(self.count)
        elif parted:
            self.partitions.put_rows(self.count, e.key == FETCH, text_hash(&self.connections.links, link))
            if self.counted and e.response != NULL and not self.partitions.failed:
                self.runs.put(self.partitions, link, client, e.key, e.ts, e.answered)
        self.count += 1
        return 0

    cdef int hear_client(self, uint32_t link, Exchange* e) except -1:
        """Note the profile of a connection's client and broker after an ApiVersions."""
        self.connections.known[link - 1].voice = self.voices.next(self.connections.known[link - 1].voice, e)
        return 0

    cdef int put_fields(self, ApiCodecs codecs, Exchange* e) except -1:
        """Add the wanted fields; a response in another version than the request's has none."""
        cdef size_t request_body = self.messages.request_body, m = 0
        cdef const uint8_t* response = NULL
        if e.response != NULL:
            response, m = e.response + self.messages.response_body, e.response_size - self.messages.response_body
            if codecs.answer(response, m) is not codecs.response:
                response, m = NULL, 0
        return self.fields.put(e.key, e.version, e.request + request_body, e.request_size - request_body, response, m)

    cdef bint read_partitions(self, Exchange* e) except -1:
        """Read the partitions of a Fetch or Produce; return False if only the slower way can."""
        cdef PyObject* layout
        cdef size_t request_body = self.messages.request_body
        cdef size_t response_body = self.messages.response_body if e.response != NULL else 0
        if e.key > FETCH:
            return False
        layout = self.layouts.of(e.key, e.version)
        if layout == <PyObject*>None:
            return False
        return self.partitions.read(
            <Layout>layout, e.request + request_body, e.request_size - request_body,
            e.response + response_body, e.response_size - response_body, e.key == FETCH,
        )

    cdef bint load_partitions(self, Exchange* e) except -1:
        """Load the partitions that the owner reads: those of a ShareFetch, and those that only the slower way can read;
        return False without any.
        """
        if not (0 <= e.key <= FETCH or e.key == SHARE_FETCH):
            return False
        found = self.owner.partitions(link_of(e), *values_of(e))
        if found is None:
            return False
        self.partitions.load(found)
        return True

    cdef int note_nameless(self) except -1:
        """Note that the last row has a topic id whose name is unknown so far."""
        cdef int32_t row = <int32_t>self.count - 1
        if out_put(&self.nameless, &row, sizeof(row)):
            raise MemoryError
        return 0

    cdef uint64_t clock(self) noexcept:
        return self.came if self.streams is None else self.streams.clock

    # Numbers of texts

    cdef uint32_t link(self, const char* text, size_t size) except 0:
        cdef bint fresh
        cdef uint32_t number = self.connections.number(text, size, &fresh)
        if fresh:
            self.connections.known[number - 1].voice = self.voice(text[:size])
        return number

    cdef int64_t voice(self, bytes link) except? -1:
        """Return the voice of a connection that is new here; usually it has no profile yet."""
        return 0 if self.talks is not None and link.decode() not in self.talks else self.owner.voice(link)

    cdef uint32_t client(self, const uint8_t* request, int size) except? 0:
        """Return a client id's number; 0: null."""
        cdef uint32_t number
        if size < 0:
            return 0
        number = text_number(&self.clients, request + 10, size, 0)
        if number == 0:
            raise MemoryError
        return number

    def end_connection(self, str link not None, int64_t round_trip, int64_t _retransmissions):
        """Add the round trip of a connection (ns; -1: unknown)."""
        cdef bytes text = link.encode()
        cdef uint32_t number = self.link(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
        sums_end(&self.connections.known[number - 1].sums, round_trip)
        if self.connections.links.count > REMEMBERED:
            self.flush()

    # Fetch positions, for a later reader of the same connection

    def kept_positions(self, list links not None):
        """Return the known fetch positions of connections ("server-client"), as bytes for `restore_positions`."""
        return self.partitions.kept_positions(links)

    def restore_positions(self, bytes link not None, bytes kept not None):
        """Restore the fetch positions of a connection. Raises ValueError for bytes that are not from
        `kept_positions`.
        """
        self.partitions.restore_positions(link, kept)

    # Columns

    def take_columns(self, bint last=False):
        """Return the buffered columns, and begin new ones. last: also end the runs of responses that might continue.

        A text column is (int32 ends of the rows' texts, after a 0; the texts). numbers: int64 rows of NUMBERS; header,
        request, response: text columns; errors: the same with int64 codes; links, ends (clients' ends), servers,
        addresses (clients'), clients: texts, of which the rows' numbers for link and client are indexes, client -1:
        null; server_of, address_of: int32, a link's index in servers, addresses; topics: (kind, bytes) by number from 1
        on; nameless: int32, rows with a topic id that had no name; fetched, produced, batches: int64 rows of PartRow
        (the first two) and BatchRow, whose `row` is one of `numbers`; frames: see FrameColumns; fields: (int64 rows,
        their texts), the least int64: missing; ended: see `end`, None: the rows continue.
        """
        cdef Partitions parts = self.partitions
        cdef size_t most = max(
            self.connections.links.count, self.clients.count, parts.texts.count, self.runs.count(), self.uses.size(),
        )
        topics = parts.topic_texts(self.topic_texts)
        self.taken = self.numbers.size
        made = {
            "numbers": lend(&self.numbers), "clients": strings(&self.clients, &self.used_clients, False),
            "nameless": text(&self.nameless), "topics": topics,
        }
        made |= parts.take()
        made["frames"] = self.frames.take()
        made["fields"] = (b"", None) if self.fields is None else self.fields.take()
        made |= self.connections.take()
        made["ended"] = self.end() if last or most > REMEMBERED else None
        made |= self.messages.take()
        self.count = 0
        places_clear(&self.used_clients)
        self.voices.trim()
        return made

    cdef dict end(self):
        """Return the uses and runs of responses, which have ended, and forget all texts and connections.

        uses, runs: int64 rows of Use and Run; links, servers, addresses, clients: all texts, by number; server_of,
        address_of: int32, by link; sums: rows of Sums, by link; voices: by link, if there is a profile.
        """
        made = self.connections.end(self.counted)
        made["uses"], made["runs"] = self.uses.take(), text(&self.runs.rows)
        made["clients"] = strings(&self.clients, NULL, False)
        self.partitions.forget()
        self.runs.forget()
        texts_free(&self.clients)
        self.topic_texts = []
        return made
