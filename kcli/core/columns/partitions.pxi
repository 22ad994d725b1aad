# Reads Fetch and Produce by partition, as columns, without Python objects; kcli/pipeline/rows/partitions.py reads odd
# ones.

cdef enum:
    FEW = 16              # partitions that are searched one by one
    MOST_POSITIONS = 1 << 20
    FETCHED = 1           # APIs of batches
    SHARED = 2

cdef extern from "interner.h" nogil:
    ctypedef struct HashedText "kc_text":
        uint64_t hash


cdef inline uint64_t text_hash(Texts* texts, uint32_t number) noexcept:
    """Return a text's hash, which stays the same when numbers begin anew; 0 for number 0, which stands for no text."""
    return (<HashedText*>&texts.texts[number - 1]).hash if number else 0


cdef tuple NOTHING = (None,) * COLUMNS     # a side that does not name a partition

cdef extern from *:
    """
    /* A column that its version lacks. */
    #define KC_MISSING INT64_MIN
    /* Returns the records after the end of a response, if they fill at least one more response of the request's limit;
     * else -1. */
    static int64_t kc_far_behind(int64_t high, int64_t first, int64_t last, int64_t size, int64_t limit) {
        __int128 behind = (__int128)high - last - 1, records = (__int128)last + 1 - first;
        if (behind <= 0 || records <= 0 || behind * size < (__int128)limit * records) return -1;
        return (int64_t)behind;
    }
    static inline uint64_t kc_hash_text(const uint8_t *data, size_t size, int kind) {
        uint64_t ends[2];
        kc_text_ends(ends, data, size);
        return kc_text_hash(ends, data, size, kind);
    }
    """
    int64_t MISSING "KC_MISSING"
    int64_t far_behind "kc_far_behind"(int64_t high, int64_t first, int64_t last, int64_t size, int64_t limit) nogil
    uint64_t hash_text "kc_hash_text"(const uint8_t* data, size_t size, int kind) nogil


# One partition of an exchange.
cdef struct Part:
    uint32_t name, id         # numbers of texts, 0: none
    bint asked, reported
    int64_t columns[COLUMNS]
    const uint8_t* records
    int64_t size


# The fetch position of a connection in a partition, as far as it is known: an incremental fetch names only changes.
cdef struct Position:
    int64_t effective, high_seen, start_seen


# The same for one partition, for a later reader of the connection. partition: its key, see `partition_key`.
cdef struct KeptPosition:
    uint64_t partition
    Position position


cdef inline uint64_t partition_key(uint64_t topic, int64_t index) noexcept:
    """Return a partition's key. topic: the hash of its id, or of its name if it has none."""
    return topic * 0x9e3779b97f4a7c15ULL + <uint64_t>index


def position_key(bytes topic not None, bint is_id, int64_t index):
    """Return the key of a partition among kept positions."""
    cdef const uint8_t* text = <const uint8_t*>PyBytes_AS_STRING(topic)
    return <int64_t>partition_key(hash_text(text, PyBytes_GET_SIZE(topic), ID if is_id else NAME), index)


# A row of `fetch_partitions` or `produce_partitions`, with fields for related tables. For a Produce, session and epoch
# are acks and the timeout; high, stable and start are base offset, append time and log start offset.
cdef struct PartRow:
    int64_t row, session, epoch, name, id, partition, asked, answered, offset, limit, error, high, stable, start
    int64_t size, batches, last, first_size, behind
    int64_t effective, high_seen, start_seen      # see Position


# A row of `record_batches`. api: 0 Produce, 1 Fetch, 2 ShareFetch.
cdef struct BatchRow:
    int64_t row, api, name, id, partition, base_offset, last_offset, magic, attributes, leader_epoch, producer_id
    int64_t producer_epoch
    int64_t base_sequence, base_timestamp, max_timestamp, count, size, crc, valid


cdef inline uint64_t link_hash(bytes link) except? 0:
    """Return the hash of a connection's text, as in `Connections`."""
    return hash_text(<const uint8_t*>PyBytes_AS_STRING(link), PyBytes_GET_SIZE(link), 0)


cdef class Partitions:
    """The partitions of one exchange after the other, and their rows."""

    cdef Texts texts          # topics and endpoints
    cdef NameTable* names
    cdef Part* parts
    cdef size_t count, room, indexed, cursor
    cdef Map seen
    cdef int64_t session, epoch, failed
    cdef const uint8_t* response      # the frame of `endpoints`
    cdef const EndpointRow* endpoints
    cdef int64_t endpoint_count
    cdef list given                   # the source of the current partitions, if they were loaded; None: they were read
    cdef dict hints                   # ... "host:port" by node
    cdef Out fetched, produced, batches      # rows
    cdef bint follows, checks         # whether rows have fetch positions; whether checksums are computed
    cdef Map positions                # by hashes of connection and partition: numbers of `stands`, from 1 on
    cdef Out stands                   # of Position

    def __dealloc__(self):
        texts_free(&self.texts)
        map_free(&self.seen)
        free(self.parts)
        out_free(&self.fetched)
        out_free(&self.produced)
        out_free(&self.batches)
        map_free(&self.positions)
        out_free(&self.stands)

    cdef bint read(
        self, Layout layout, const uint8_t* request, size_t n, const uint8_t* response, size_t m, bint adds
    ) except -1:
        """Read an exchange's bodies; return False if only the slower way can. adds: add partitions of the response that
        the request does not name.
        """
        cdef int64_t* row
        self.begin()
        if layout.asks.select_at(request, request, request + n) < 0:
            return False
        row = <int64_t*>layout.asks.levels[0].rows.data
        if row[SESSION] != MISSING:
            self.session, self.epoch = row[SESSION], row[EPOCH]
        if not self.topics(layout, layout.asks, request, 0, False):
            return False
        if response == NULL:
            return True
        if layout.reports.select_at(response, response, response + m) < 0:
            return False
        row = <int64_t*>layout.reports.levels[0].rows.data
        self.failed = 0 if row[FAILED] == MISSING else row[FAILED]
        self.response, self.endpoints = response, <EndpointRow*>layout.reports.levels[ENDPOINTS].rows.data
        self.endpoint_count = layout.reports.levels[ENDPOINTS].rows.size // layout.reports.levels[ENDPOINTS].width
        return self.topics(layout, layout.reports, response, 1, adds)

    cdef void begin(self) noexcept:
        """Begin another exchange, without partitions."""
        self.count = self.indexed = self.cursor = 0
        if self.seen.mask > FEW * FEW:
            map_free(&self.seen)
        elif self.seen.used:
            map_clear(&self.seen)
        self.session, self.epoch, self.failed, self.endpoint_count = 0, -1, 0, 0
        self.given = self.hints = None

    cdef int load(self, tuple found) except -1:
        """Load partitions that were read elsewhere: ((session, epoch), error, hints, partitions), each partition
        (topic's name or None, its id or None, the request's part, the response's part, records or None); a part has a
        number or None for each column; None: no part.
        """
        cdef Part* part
        self.begin()
        (self.session, self.epoch), self.failed, self.hints, self.given = found
        for name, id, asked, answered, records in self.given:
            part = self.new_part()
            if name is not None:
                self.number(<const uint8_t*>PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name), NAME, &part.name, &part.id)
            if id is not None:
                part.id = text_number(&self.texts, <const uint8_t*>PyBytes_AS_STRING(id), 16, ID)
                if part.id == 0:
                    raise MemoryError
            part.asked, part.reported = asked is not None, answered is not None
            for column, number in enumerate(zip(asked or NOTHING, answered or NOTHING)):
                for said in number:
                    if said is not None:
                        part.columns[column] = said
            if records is not None:
                part.records, part.size = <const uint8_t*>PyBytes_AS_STRING(records), PyBytes_GET_SIZE(records)
        return 0

    cdef Part* new_part(self) except NULL:
        """Add a partition without values."""
        cdef Part* grown
        cdef Part* part
        cdef int i
        if self.count == self.room:
            grown = <Part*>realloc(self.parts, (2 * self.room + FEW) * sizeof(Part))
            if grown == NULL:
                raise MemoryError
            self.parts, self.room = grown, 2 * self.room + FEW
        part = &self.parts[self.count]
        self.count += 1
        part.name, part.id, part.asked, part.reported, part.records, part.size = 0, 0, False, False, NULL, -1
        for i in range(COLUMNS):
            part.columns[i] = MISSING
        return part

    cdef bint topics(self, Layout layout, Selection body, const uint8_t* base, int side, bint adds) except -1:
        """Read one side's partitions; return False if only the slower way can."""
        cdef Level* topics = &body.levels[TOPICS]
        cdef const char* row = body.levels[PARTITIONS].rows.data
        cdef TopicRow* topic
        cdef uint32_t name, id
        cdef size_t i
        for i in range(topics.rows.size // topics.width):
            topic = <TopicRow*>(topics.rows.data + i * topics.width)
            name = id = 0
            if topic.size <= 0:
                return False
            self.number(base + topic.text, topic.size, layout.kinds[side], &name, &id)
            for _ in range(topic.partitions):
                if not self.place(name, id, layout, <int64_t*>row, base, side, adds):
                    return False
                row += body.levels[PARTITIONS].width
        return True

    cdef int number(self, const uint8_t* text, int64_t size, int kind, uint32_t* name, uint32_t* id) except -1:
        """Number a topic's name and id; the name stays 0 if it is unknown."""
        cdef Name* known
        if kind == ID:
            id[0] = text_number(&self.texts, text, 16, ID)
            known = name_find(self.names, text)
            if known != NULL:
                name[0] = text_number(&self.texts, <const uint8_t*>known.text, known.size, QUOTED)
            elif name_miss(self.names, text):
                raise MemoryError
            if id[0] == 0 or (known != NULL and name[0] == 0):
                raise MemoryError
            return 0
        name[0] = text_number(&self.texts, text, size, NAME)
        if name[0] == 0:
            raise MemoryError
        return 0

    cdef bint place(self, uint32_t name, uint32_t id, Layout layout, const int64_t* row, const uint8_t* base, int side,
                    bint adds) except -1:
        """Read one side's row of a partition; return False if it is there twice."""
        cdef Part* part = NULL
        cdef int i
        if side and self.cursor < self.count:
            part = &self.parts[self.cursor]
            if part.columns[INDEX] != row[INDEX] or (part.id != id if id else part.name != name):
                part = NULL
        if part == NULL:
            part = self.find(name, id, row[INDEX])
        if part == NULL:
            if side and not adds:
                return True
            part = self.new_part()
            part.name, part.id = name, id
        elif part.reported or not side:
            return False
        self.cursor = part - self.parts + 1
        part.asked, part.reported = part.asked or not side, part.reported or side
        for i in range(layout.counts[side]):
            if row[i] != MISSING:
                part.columns[layout.columns[side][i]] = row[i]
        if layout.records[side]:
            i = layout.counts[side]
            part.records, part.size = base + row[i], row[i + 1]
        return True

    cdef Part* find(self, uint32_t name, uint32_t id, int64_t index) except? NULL:
        cdef size_t i
        cdef Part* part
        if self.count <= FEW:
            for i in range(self.count):
                part = &self.parts[i]
                if part.columns[INDEX] == index and (part.id == id if id else part.name == name):
                    return part
            return NULL
        while self.indexed < self.count:
            part = &self.parts[self.indexed]
            self.indexed += 1
            if map_put(&self.seen, part.id or part.name, <uint64_t>part.columns[INDEX], self.indexed):
                raise MemoryError
        i = map_find(&self.seen, id or name, <uint64_t>index)
        return &self.parts[i - 1] if i else NULL

    cdef bint is_fine(self) noexcept:
        """Return whether neither the response nor one of its partitions has an error."""
        cdef size_t i
        for i in range(self.count):
            if self.parts[i].reported and self.parts[i].columns[ERROR]:
                return False
        return not self.failed

    # Rows

    cdef int put_rows(self, int64_t row, bint fetch, uint64_t link) except -1:
        """Add a row for each partition. link: the hash of the connection's text."""
        cdef size_t i
        cdef Position* position
        cdef Part* part
        cdef PartRow made
        cdef int64_t* c
        cdef Out* rows = &self.fetched if fetch else &self.produced
        for i in range(self.count):
            part = &self.parts[i]
            c = part.columns
            made.size = part.size if part.size > 0 else 0
            self.put_batches(part, &made, row, fetch, c)
            made.row, made.session, made.epoch = row, self.session, self.epoch
            made.name, made.id, made.partition, made.asked, made.answered = (
                part.name, part.id, c[INDEX], part.asked, part.reported
            )
            made.offset, made.limit, made.high, made.stable, made.start = (
                c[OFFSET], c[LIMIT], c[HIGH], c[STABLE], c[START]
            )
            made.error = c[ERROR] if part.reported else 0
            made.effective = made.high_seen = made.start_seen = MISSING
            if fetch and self.follows:
                position = self.position(link, part)
                made.effective, made.high_seen, made.start_seen = (
                    position.effective, position.high_seen, position.start_seen
                )
            if out_put(rows, &made, sizeof(made)):
                raise MemoryError
        return 0

    cdef Position* position(self, uint64_t link, Part* part) except NULL:
        """Update a connection's fetch position in a partition, and return it."""
        cdef Position made
        cdef Position* found
        cdef int64_t* c = part.columns
        cdef uint64_t partition = partition_key(text_hash(&self.texts, part.id or part.name), c[INDEX])
        cdef uint64_t at = map_find(&self.positions, link, partition)
        if not at:
            made.effective = made.high_seen = made.start_seen = MISSING
            at = self.keep_position(link, partition, &made)
        found = <Position*>self.stands.data + at - 1
        if part.asked and c[OFFSET] != MISSING:
            found.effective = c[OFFSET]
        if part.reported and c[HIGH] != MISSING and c[HIGH] >= 0:      # -1 beside an error
            found.high_seen = c[HIGH]
        if part.reported and c[START] != MISSING and c[START] >= 0:
            found.start_seen = c[START]
        return found

    cdef uint64_t keep_position(self, uint64_t link, uint64_t partition, Position* made) except 0:
        """Note a connection's fetch position in a partition; return its number."""
        cdef uint64_t at
        if self.stands.size >= MOST_POSITIONS * sizeof(Position):
            map_free(&self.positions)
            self.stands.size = 0
        at = self.stands.size // sizeof(Position) + 1
        if out_put(&self.stands, made, sizeof(Position)) or map_put(&self.positions, link, partition, at):
            raise MemoryError
        return at

    cdef list kept_positions(self, list links):
        """Return the fetch positions of these connections ("server-client"): rows of KeptPosition for each."""
        cdef Map wanted
        cdef size_t i
        cdef uint64_t number
        cdef KeptPosition kept
        cdef Slot* slot
        made = [bytearray() for _ in links]
        memset(&wanted, 0, sizeof(wanted))
        try:
            for i in range(<size_t>len(links)):
                if map_put(&wanted, link_hash(links[i]), 0, i + 1):
                    raise MemoryError
            for i in range(self.positions.mask + 1 if self.positions.slots != NULL else 0):
                slot = &self.positions.slots[i]
                number = map_find(&wanted, slot.a, 0) if slot.value else 0
                if number:
                    kept.partition, kept.position = slot.b, (<Position*>self.stands.data)[slot.value - 1]
                    (<bytearray>made[number - 1]).extend((<const char*>&kept)[: sizeof(kept)])
        finally:
            map_free(&wanted)
        return [bytes(each) for each in made]

    cdef int restore_positions(self, bytes link, bytes kept) except -1:
        """Restore the fetch positions of a connection. Raises ValueError if they are no rows of KeptPosition."""
        cdef KeptPosition row
        cdef size_t i
        if PyBytes_GET_SIZE(kept) % sizeof(row):
            raise ValueError("not the positions of a connection's fetches")
        for i in range(PyBytes_GET_SIZE(kept) // sizeof(row)):
            row = (<KeptPosition*>PyBytes_AS_STRING(kept))[i]
            self.keep_position(link_hash(link), row.partition, &row.position)
        return 0

    cdef int put_batch_rows(self, int64_t row) except -1:
        """Add the batches of a ShareFetch, without rows of partitions."""
        cdef size_t i
        cdef PartRow made
        for i in range(self.count):
            made.size = max(self.parts[i].size, <int64_t>0)
            self.put_batches(&self.parts[i], &made, row, SHARED, self.parts[i].columns)
        return 0

    cdef int put_batches(self, Part* part, PartRow* reported, int64_t row, int api, int64_t* c) except -1:
        """Add a row for each batch; note their number, the first one's size and the last offset in `reported`."""
        cdef Batch b
        cdef const uint8_t* p = part.records
        cdef const uint8_t* end = p + reported.size
        cdef int64_t first = 0
        reported.batches, reported.last, reported.first_size, reported.behind = 0, MISSING, 0, -1
        if reported.size == 0:
            return 0
        while read_batch(&b, p, end) == KB_OK:
            if not reported.batches:
                reported.first_size, first = b.size, b.base_offset
            reported.batches += 1
            reported.last = b.last_offset
            p += b.size
            self.put_batch(&b, part, row, api)
        if api == FETCHED and part.asked and reported.batches:
            reported.behind = far_behind(c[HIGH], first, reported.last, reported.size, c[LIMIT])
        return 0

    cdef int put_batch(self, Batch* b, Part* part, int64_t row, int api) except -1:
        cdef BatchRow made
        made.row, made.api, made.name, made.id, made.partition = row, api, part.name, part.id, part.columns[INDEX]
        made.base_offset, made.last_offset, made.magic, made.attributes = (
            b.base_offset, b.last_offset, b.magic, b.attributes
        )
        made.leader_epoch, made.producer_id, made.producer_epoch = b.leader_epoch, b.producer_id, b.producer_epoch
        made.base_sequence, made.base_timestamp, made.max_timestamp = b.base_sequence, b.base_timestamp, b.max_timestamp
        made.count, made.size, made.crc = b.count, b.size, b.crc
        made.valid = not self.checks or batch_checksum(b) == b.crc
        if out_put(&self.batches, &made, sizeof(made)):
            raise MemoryError
        return 0

    cdef uint32_t endpoint(self, int64_t node) except? 0:
        """Return the number of a node's "host:port" in the response (KIP-951); 0: it has none."""
        cdef const EndpointRow* at
        cdef const char* host
        cdef int64_t i
        if self.hints is not None:
            return self.endpoint_number(self.hints[node]) if node in self.hints else 0
        for i in range(self.endpoint_count):
            at = &self.endpoints[i]
            if at.node != node or at.size < 0:
                continue
            host = <const char*>self.response + at.host
            return self.endpoint_number(f"{host[:at.size].decode('utf-8', 'replace')}:{at.port}")
        return 0

    cdef uint32_t endpoint_number(self, str endpoint) except? 0:
        cdef bytes text = endpoint.encode()
        cdef uint32_t number = text_number(
            &self.texts, <const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), SERVER
        )
        if number == 0:
            raise MemoryError
        return number

    cdef size_t size(self) noexcept:
        """Return the bytes of the rows."""
        return self.fetched.size + self.produced.size + self.batches.size

    cdef dict take(self):
        """Return the rows of each kind, and begin new ones."""
        return {"fetched": view(&self.fetched), "produced": view(&self.produced), "batches": view(&self.batches)}

    cdef list topic_texts(self, list known):
        """Append (kind, bytes) of all topics by number from 1 on, after those known already."""
        cdef size_t i
        for i in range(len(known), self.texts.count):
            known.append(
                (self.texts.texts[i].kind, (<const char*>self.texts.texts[i].data)[: self.texts.texts[i].size])
            )
        return known

    cdef void forget(self) noexcept:
        """Forget all texts."""
        texts_free(&self.texts)
