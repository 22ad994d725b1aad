# Fetch and Produce partition by partition, as columns: what kcli/pipeline/partitions.py makes rows of, without a Python object.

cdef enum:
    # What a field is; a layout's entry has the bytes of it or of its length (0: a varint), and the column it goes to (-1: none).
    FIXED = 0
    UUID_ = 1             # the topic's id
    TEXT = 2              # the topic's name
    BYTES = 3             # ... or any text: of interest with a column
    NESTED = 4            # topics, or a topic's partitions
    OTHER = 5             # passed over by its node
    TAGS = 6              # the tag in place of a width is of interest: its first int32, or all of it without a column

cdef enum:
    # Columns of a message
    SESSION = 0
    EPOCH = 1
    FAILED = 2
    # Columns of a partition
    INDEX = 0
    OFFSET = 1
    LIMIT = 2
    ERROR = 3
    HIGH = 4
    STABLE = 5
    START = 6
    RECORDS = 7
    LEADER = 8
    COLUMNS = 9

cdef enum:
    LEVELS = 3            # message, topic, partition
    FEW = 16              # partitions that are looked through one by one
    NAME = 0              # kinds of text: a topic's name, its id, a name as JSON text
    ID = 1
    QUOTED = 2
    SERVER = 3            # ... an endpoint
    NO_LEADER = 6         # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH
    FENCED = 74
    GENERATIONS = 1 << 12 # of runs that were ended at once

cdef extern from *:
    """
    /* A column that its version has not. */
    #define KC_MISSING INT64_MIN
    /* Records behind the end of an answer, if at least one more answer as big as the request allows lies there; else -1. */
    static int64_t kc_far_behind(int64_t high, int64_t first, int64_t last, int64_t size, int64_t limit) {
        __int128 behind = (__int128)high - last - 1, records = (__int128)last + 1 - first;
        if (behind <= 0 || records <= 0 || behind * size < (__int128)limit * records) return -1;
        return (int64_t)behind;
    }
    """
    int64_t MISSING "KC_MISSING"
    int64_t far_behind "kc_far_behind"(int64_t high, int64_t first, int64_t last, int64_t size, int64_t limit) nogil


cdef struct Step:
    int kind, width, column
    PyObject* node


cdef struct Steps:
    Step* steps
    int count


cdef class Layout:
    """Where the columns of one version are: (flexible, request, response) of `kcli.pipeline.layouts`."""

    cdef Steps sides[2][LEVELS]
    cdef bint flexible
    cdef list nodes

    def __init__(self, flexible, request, response):
        self.flexible, self.nodes = flexible, []
        for level in range(LEVELS):
            self.fill(&self.sides[0][level], request[level])
            self.fill(&self.sides[1][level], response[level])

    cdef int fill(self, Steps* made, list entries) except -1:
        made.count = len(entries)
        made.steps = <Step*>calloc(max(1, made.count), sizeof(Step))
        if made.steps == NULL:
            raise MemoryError
        for i, (kind, width, column, node) in enumerate(entries):
            self.nodes.append(node)
            made.steps[i] = Step(kind, width, column, <PyObject*>node)
        return 0

    def __dealloc__(self):
        cdef int side, level
        for side in range(2):
            for level in range(LEVELS):
                free(self.sides[side][level].steps)


# What the fields of a message, topic or partition say.
cdef struct Said:
    int64_t columns[COLUMNS]
    const uint8_t* text       # the topic's name or id; a partition's records
    int64_t size              # of it, -1: null
    int kind


# One partition of an exchange.
cdef struct Part:
    uint32_t name, id         # numbers of texts, 0: none
    bint asked, told
    int64_t columns[COLUMNS]
    const uint8_t* records
    int64_t size


# Answers of one kind about one partition on one connection, in a row.
cdef struct Run:
    int64_t link, client, api, topic, partition, error, first_request, first, last, answers, hint_leader, hint_server


# A row of `fetch_partitions`, and what the tables beside it need.
cdef struct PartRow:
    int64_t row, session, epoch, name, id, partition, asked, told, offset, limit, error, high, stable, start
    int64_t size, batches, last, first_size, behind


# A row of `record_batches`.
cdef struct BatchRow:
    int64_t row, api, name, id, partition, base_offset, last_offset, magic, attributes, leader_epoch, producer_id, producer_epoch
    int64_t base_sequence, base_timestamp, max_timestamp, count, size, crc, valid


cdef class Partitions:
    """The partitions of one exchange after the other, their rows, and runs of answers."""

    cdef Texts topics
    cdef NameTable* names
    cdef Part* parts
    cdef size_t count, room, indexed, cursor
    cdef Map seen, open
    cdef Said asks, tells
    cdef Out rows, batches, runs
    cdef uint64_t generation
    cdef bint failing         # a run of errors may be open

    def __dealloc__(self):
        texts_free(&self.topics)
        map_free(&self.seen)
        map_free(&self.open)
        free(self.parts)
        out_free(&self.rows)
        out_free(&self.batches)
        out_free(&self.runs)

    cdef bint read(self, Layout layout, const uint8_t* request, size_t n, const uint8_t* response, size_t m, bint adds) except -1:
        """An exchange's bodies; False where only the slower way can. adds: partitions of the response that nobody asked for."""
        cdef Reader r
        self.count = self.indexed = self.cursor = 0
        if self.seen.mask > FEW * FEW:
            map_free(&self.seen)
        elif self.seen.used:
            map_clear(&self.seen)
        clear(&self.asks)
        clear(&self.tells)
        self.asks.columns[SESSION], self.asks.columns[EPOCH], self.tells.columns[FAILED] = 0, -1, 0
        r = Reader(request, request + n, layout.flexible)
        if not self.message(&r, &layout.sides[0][0], &self.asks, 0, False):
            return False
        if response == NULL:
            return True
        r = Reader(response, response + m, layout.flexible)
        return self.message(&r, &layout.sides[1][0], &self.tells, 1, adds)

    cdef bint message(self, Reader* r, Steps* levels, Said* said, int side, bint adds) except -1:
        cdef int i
        cdef int64_t topics
        for i in range(levels[0].count):
            if levels[0].steps[i].kind != NESTED:
                if self.step(r, &levels[0].steps[i], said):
                    return False
                continue
            if length(r, levels[0].steps[i].width, &topics):
                return False
            for _ in range(topics):
                if not self.topic(r, levels + 1, side, adds):
                    return False
        return True

    cdef bint topic(self, Reader* r, Steps* levels, int side, bint adds) except -1:
        cdef Said said, part
        cdef uint32_t name = 0, id = 0
        cdef int64_t count
        cdef int i, j
        clear(&said)
        for i in range(levels[0].count):
            if levels[0].steps[i].kind != NESTED:
                if self.step(r, &levels[0].steps[i], &said):
                    return False
                continue
            if not self.number(&said, &name, &id) or length(r, levels[0].steps[i].width, &count):
                return False
            for _ in range(count):
                clear(&part)
                for j in range(levels[1].count):
                    if self.step(r, &levels[1].steps[j], &part):
                        return False
                if not self.place(name, id, &part, side, adds):
                    return False
        return True

    cdef int step(self, Reader* r, Step* step, Said* said) noexcept:
        """A field of no depth; other than 0: it can't be read."""
        cdef int64_t size
        cdef Py_ssize_t took
        if step.kind == FIXED or step.kind == UUID_:
            if r.end - r.at < step.width:
                return -1
            if step.kind == UUID_:
                said.text, said.size, said.kind = r.at, 16, ID
            elif step.column >= 0:
                said.columns[step.column] = fixed(r.at, step.width)
            r.at += step.width
            return 0
        if step.kind == TAGS:
            return self.tags(r, step, said)
        if step.kind == OTHER:
            took = (<Node>step.node).skip_at(r.at, r.end - r.at)
            if took < 0:
                return -1
            r.at += took
            return 0
        if length(r, step.width, &size):
            return -1
        if step.kind == TEXT or step.column >= 0:
            said.text, said.size, said.kind = r.at, size, NAME
        return pass_bytes(r, size)

    cdef int tags(self, Reader* r, Step* step, Said* said) noexcept:
        cdef uint64_t count, tag, size
        if step.width < 0:
            return pass_tags(r, False)
        if varint(r, &count):
            return -1
        for _ in range(count):
            if varint(r, &tag) or varint(r, &size) or size > <uint64_t>(r.end - r.at):
                return -1
            if tag == <uint64_t>step.width and step.column >= 0 and size >= 4:
                said.columns[step.column] = fixed(r.at, 4)
            elif tag == <uint64_t>step.width and step.column < 0:
                said.text, said.size = r.at, size
            r.at += size
        return 0

    cdef bint number(self, Said* said, uint32_t* name, uint32_t* id) except -1:
        """The numbers of a topic's name and id, 0 for what is not known."""
        cdef Name* known
        if said.text == NULL or said.size <= 0:
            return False
        if said.kind == ID:
            id[0] = text_number(&self.topics, said.text, 16, ID)
            known = name_find(self.names, said.text)
            if known != NULL:
                name[0] = text_number(&self.topics, <const uint8_t*>known.text, known.size, QUOTED)
            elif name_miss(self.names, said.text):
                raise MemoryError
            if id[0] == 0 or (known != NULL and name[0] == 0):
                raise MemoryError
            return True
        name[0] = text_number(&self.topics, said.text, said.size, NAME)
        if name[0] == 0:
            raise MemoryError
        return True

    cdef bint place(self, uint32_t name, uint32_t id, Said* said, int side, bint adds) except -1:
        """What one side says of a partition. False: it says so twice."""
        cdef Part* part = NULL
        cdef Part* grown
        cdef int i
        if side and self.cursor < self.count:
            part = &self.parts[self.cursor]
            if part.columns[INDEX] != said.columns[INDEX] or (part.id != id if id else part.name != name):
                part = NULL
        if part == NULL:
            part = self.find(name, id, said.columns[INDEX])
        if part == NULL:
            if side and not adds:
                return True
            if self.count == self.room:
                grown = <Part*>realloc(self.parts, (2 * self.room + FEW) * sizeof(Part))
                if grown == NULL:
                    raise MemoryError
                self.parts, self.room = grown, 2 * self.room + FEW
            part = &self.parts[self.count]
            self.count += 1
            part.name, part.id, part.asked, part.told, part.records, part.size = name, id, False, False, NULL, -1
            for i in range(COLUMNS):
                part.columns[i] = MISSING
            part.columns[INDEX] = said.columns[INDEX]
        elif part.told or not side:
            return False
        self.cursor = part - self.parts + 1
        part.asked, part.told = part.asked or not side, part.told or side
        for i in range(COLUMNS):
            if said.columns[i] != MISSING:
                part.columns[i] = said.columns[i]
        if said.text != NULL:
            part.records, part.size = said.text, said.size
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
        """No side says of an error."""
        cdef size_t i
        for i in range(self.count):
            if self.parts[i].told and self.parts[i].columns[ERROR]:
                return False
        return not self.tells.columns[FAILED]

    # Rows

    cdef int put_rows(self, int64_t row, bint fetch) except -1:
        cdef size_t i
        cdef Part* part
        cdef PartRow made
        cdef int64_t* c
        for i in range(self.count):
            part = &self.parts[i]
            c = part.columns
            made.size = part.size if part.size > 0 else 0
            self.put_batches(part, &made, row, fetch, c)
            if not fetch:
                continue
            made.row, made.session, made.epoch = row, self.asks.columns[SESSION], self.asks.columns[EPOCH]
            made.name, made.id, made.partition, made.asked, made.told = part.name, part.id, c[INDEX], part.asked, part.told
            made.offset, made.limit, made.high, made.stable, made.start = c[OFFSET], c[LIMIT], c[HIGH], c[STABLE], c[START]
            made.error = c[ERROR] if part.told else 0
            if out_put(&self.rows, &made, sizeof(made)):
                raise MemoryError
        return 0

    cdef int put_batches(self, Part* part, PartRow* told, int64_t row, bint fetch, int64_t* c) except -1:
        """A row for each batch; their number, the first one's size and the last offset are noted in `told`."""
        cdef Batch b
        cdef const uint8_t* p = part.records
        cdef const uint8_t* end = p + told.size
        cdef int64_t first = 0
        told.batches, told.last, told.first_size, told.behind = 0, MISSING, 0, -1
        if told.size == 0:
            return 0
        while read_batch(&b, p, end) == KB_OK:
            if not told.batches:
                told.first_size, first = b.size, b.base_offset
            told.batches += 1
            told.last = b.last_offset
            p += b.size
            self.put_batch(&b, part, row, fetch)
        if fetch and part.asked and told.batches:
            told.behind = far_behind(c[HIGH], first, told.last, told.size, c[LIMIT])
        return 0

    cdef int put_batch(self, Batch* b, Part* part, int64_t row, bint fetch) except -1:
        cdef BatchRow made
        made.row, made.api, made.name, made.id, made.partition = row, fetch, part.name, part.id, part.columns[INDEX]
        made.base_offset, made.last_offset, made.magic, made.attributes = b.base_offset, b.last_offset, b.magic, b.attributes
        made.leader_epoch, made.producer_id, made.producer_epoch = b.leader_epoch, b.producer_id, b.producer_epoch
        made.base_sequence, made.base_timestamp, made.max_timestamp = b.base_sequence, b.base_timestamp, b.max_timestamp
        made.count, made.size, made.crc, made.valid = b.count, b.size, b.crc, batch_checksum(b) == b.crc
        if out_put(&self.batches, &made, sizeof(made)):
            raise MemoryError
        return 0

    # Runs of answers

    cdef int put_runs(self, uint64_t link, uint64_t client, int64_t api, int64_t ts, int64_t answered) except -1:
        """Count the answers: those without an error, and those of a broker that does not lead. link, client: numbers."""
        cdef size_t i
        cdef uint64_t at, a, b
        cdef Part* part
        cdef Run made
        cdef Run* run
        for i in range(self.count):
            part = &self.parts[i]
            made.error = part.columns[ERROR] if part.told else 0
            if made.error:
                if not is_of_leadership(made.error):
                    continue
                self.failing = True
            made.topic = part.name or part.id
            a = link << 32 | <uint64_t>made.topic
            b = self.generation << 52 | client << 33 | <uint64_t>api << 32 | <uint32_t>part.columns[INDEX]
            at = map_find(&self.open, a, b)
            if at:
                run = <Run*>self.runs.data + at - 1
                if run.error == made.error:
                    run.last = answered
                    run.answers += 1
                    continue
            made.link, made.client, made.api, made.partition = link - 1, <int64_t>client - 1, api, part.columns[INDEX]
            made.first_request, made.first, made.last, made.answers = ts, answered, answered, 1
            made.hint_leader = part.columns[LEADER] if made.error and part.columns[LEADER] != MISSING else -1
            made.hint_server = self.endpoint(made.hint_leader) if made.error else 0
            if out_put(&self.runs, &made, sizeof(made)) or map_put(&self.open, a, b, self.runs.size // sizeof(made)):
                raise MemoryError
        return 0

    cdef uint32_t endpoint(self, int64_t node) except? 0:
        """The number of "host:port" as the response has it for a node (KIP-951); 0: it has not."""
        cdef Reader r
        cdef const uint8_t* host
        cdef int64_t count, id, size, rack
        cdef uint32_t number
        if self.tells.text == NULL:
            return 0
        r = Reader(self.tells.text, self.tells.text + self.tells.size, True)
        if length(&r, 0, &count):
            return 0
        for _ in range(count):
            if r.end - r.at < 4:
                return 0
            id = fixed(r.at, 4)
            r.at += 4
            if length(&r, 0, &size):
                return 0
            host = r.at
            if pass_bytes(&r, size) or r.end - r.at < 4:
                return 0
            if id == node:
                text = f"{(<const char*>host)[:size].decode()}:{<int32_t>fixed(r.at, 4)}".encode()
                number = text_number(&self.topics, <const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), SERVER)
                if number == 0:
                    raise MemoryError
                return number
            r.at += 4
            if length(&r, 0, &rack) or pass_bytes(&r, rack) or pass_tags(&r, False):
                return 0
        return 0

    cdef void end_runs(self) noexcept:
        self.failing = False
        self.generation += 1
        if self.generation == GENERATIONS:
            map_free(&self.open)
            self.generation = 0

    cdef size_t run_count(self) noexcept:
        return self.runs.size // sizeof(Run)

    cdef list topic_texts(self, list known):
        """(kind, bytes) of all topics by number from 1 on, behind those known already."""
        cdef size_t i
        for i in range(len(known), self.topics.count):
            known.append((self.topics.texts[i].kind, (<const char*>self.topics.texts[i].data)[: self.topics.texts[i].size]))
        return known

    cdef void forget(self) noexcept:
        """All runs have ended, no text is needed any more."""
        texts_free(&self.topics)
        map_free(&self.open)
        self.failing = False


cdef inline bint is_of_leadership(int64_t error) noexcept:
    return error == NO_LEADER or error == FENCED


cdef inline void clear(Said* said) noexcept:
    cdef int i
    for i in range(COLUMNS):
        said.columns[i] = MISSING
    said.text, said.size, said.kind = NULL, -1, NAME


cdef inline int length(Reader* r, int width, int64_t* count) noexcept:
    """A length: an unsigned varint of one more where width is 0; -1 for null."""
    cdef uint64_t value
    if width == 0:
        if varint(r, &value):
            return -1
        count[0] = <int64_t>value - 1
        return 0
    if r.end - r.at < width:
        return -1
    count[0] = fixed(r.at, width)
    r.at += width
    return 0
