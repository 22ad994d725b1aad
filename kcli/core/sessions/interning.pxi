# The kernel's selections of Fetch (with the paths of `kcli.sessions.fetch_paths`), and numbers for texts.

cdef enum:
    FETCH = 1
    VERSIONS = 32         # bits of `looked`
    # Slots of a message's row, on both sides ...
    SESSION = 0
    EPOCH = 1             # of a request
    MAX_BYTES = 2
    ISOLATION = 3
    REPLICA = 4
    FOLLOWER = 5          # the replica's id in a tagged field
    ASKED_TAGS = 6
    FORGOTTEN = 8         # topics that leave the session
    ERROR = 1             # of a response
    THROTTLE = 2
    REPORTED_TAGS = 3
    # ... and levels
    TOPICS = 1
    PARTITIONS = 2
    # Kinds of text
    NAME = 0
    ID = 1
    SERVER = 2


# Rows of topics and partitions.
cdef struct TopicRow:
    int64_t partitions, text, size


cdef struct AskedRow:
    int64_t index, offset, log_start, max_bytes, leader_epoch, last_fetched_epoch


cdef struct ReportedRow:
    int64_t index, error, high, stable, start, preferred, records, size, tags, diverging, aborted, has_diverging


cdef class Side:
    """The requests or responses of a version: its header's node and the selection of its body. kind: of its topics'
    texts.
    """

    cdef Node header
    cdef Selection body
    cdef int kind
    cdef const uint8_t* frame

    def __init__(self, header, body, size_t width, bint ids):
        self.header, self.body, self.kind = header, body, ID if ids else NAME
        if self.body.levels[TOPICS].width != sizeof(TopicRow) or self.body.levels[PARTITIONS].width != width:
            raise ValueError("rows of another width than the kernel's")

    cdef bint read(self, const uint8_t* frame, size_t size) except -1:
        """Read the rows of a frame's body; return whether it is a whole header and body."""
        cdef Py_ssize_t header = self.header.skip_at(frame, size)
        self.frame = frame
        return header >= 0 and self.body.select_at(frame, frame + header, frame + size) == <Py_ssize_t>size - header

    cdef inline int64_t* message(self) noexcept:
        return <int64_t*>self.body.levels[0].rows.data

    cdef inline TopicRow* topics(self) noexcept:
        return <TopicRow*>self.body.levels[TOPICS].rows.data

    cdef inline int64_t topic_count(self) noexcept:
        return self.body.levels[TOPICS].rows.size // sizeof(TopicRow)

    cdef inline void* partitions(self) noexcept:
        return self.body.levels[PARTITIONS].rows.data

    cdef inline size_t partition_count(self) noexcept:
        return self.body.levels[PARTITIONS].rows.size // self.body.levels[PARTITIONS].width


cdef class Tables(Sink):
    """Selections of Fetch by version, and numbers for texts.

    layout: layout(version), the two sides from `kcli.sessions.fetch_paths`; None for versions that the kernel can't
    read.
    """

    cdef Texts texts
    cdef object layout
    cdef dict numbers, names_, servers
    cdef list asked_sides, reported_sides
    cdef uint32_t looked  # a bit for each version whose sides are in the tables, or None there

    def __init__(self, layout):
        self.layout = layout
        self.numbers, self.names_, self.servers = {}, {}, {}
        self.asked_sides, self.reported_sides = [None] * VERSIONS, [None] * VERSIONS

    def __dealloc__(self):
        texts_free(&self.texts)

    # Numbers for texts of Python

    cdef uint64_t number(self, key, bint ids) except 0:
        """Return the number of a partition (topic, index)."""
        cdef uint8_t[16] uuid
        cdef bytes text
        cdef uint32_t found
        topic = key[0], ids
        known = self.numbers.get(topic)
        if known is None:
            text = key[0].encode()
            if ids and len(text) == 22 and uuid_parse(uuid, <const uint8_t*><char*>text) == 0:
                found = text_number(&self.texts, uuid, 16, ID)
            else:
                found = text_number(&self.texts, <const uint8_t*><char*>text, len(text), NAME)
            if found == 0:
                raise MemoryError
            known = self.numbers[topic] = found
        return <uint64_t>known << 32 | <uint32_t><int32_t>key[1]

    cdef object key(self, uint64_t number):
        """Return the partition (topic, index) of a number."""
        cdef uint32_t topic = <uint32_t>(number >> 32)
        name = self.names_.get(topic)
        if name is None:
            name = self.names_[topic] = text_of(&self.texts.texts[topic - 1])
        return name, <int32_t>number

    cdef uint32_t server(self, str name) except 0:
        cdef bytes text
        known = self.servers.get(name)
        if known is None:
            text = name.encode()
            known = text_number(&self.texts, <const uint8_t*><char*>text, len(text), SERVER)
            if known == 0:
                raise MemoryError
            self.servers[name] = known
        return known

    # Reading

    cdef bint knows(self, int version) except -1:
        """Return whether the kernel can read a version; its sides are then in the tables."""
        if not 0 <= version < VERSIONS:
            return False
        if not self.looked >> version & 1:
            made = self.layout(version)
            self.looked |= <uint32_t>1 << version
            if made is not None:
                (header, body), answer, ids = made
                self.asked_sides[version] = Side(header, body, sizeof(AskedRow), ids)
                self.reported_sides[version] = Side(*answer, sizeof(ReportedRow), ids)
        return self.reported_sides[version] is not None

    cdef inline uint64_t base_of(self, Side side, TopicRow* topic) noexcept:
        """Return a topic's number, in the upper half; 0: it has none."""
        if topic.size < 0:
            return 0
        return <uint64_t>text_find(&self.texts, side.frame + topic.text, topic.size, side.kind) << 32

    # Any exchange, as columns

    def columns(self, const uint8_t[::1] request not None, const uint8_t[::1] response, int version):
        """Return the values of FetchExchange: (session id, epoch, max bytes, isolation, replica id, asked), (throttle,
        error, session id, partitions or None without a response). Return None if partitions leave the session, or a
        message can't be read.
        """
        cdef Side asks, reports
        cdef int64_t* asked
        cdef int64_t* reported
        if not self.knows(version) or not request.shape[0]:
            return None
        asks, reports = <Side>self.asked_sides[version], <Side>self.reported_sides[version]
        if not asks.read(&request[0], request.shape[0]):
            return None
        asked = asks.message()
        if asked[FORGOTTEN] > 0:
            return None
        rows = self.rows(asks, True)
        if rows is None:
            return None
        replica = asked[FOLLOWER] if asked[FOLLOWER] != -1 else asked[REPLICA]
        asked_ = asked[SESSION], asked[EPOCH], asked[MAX_BYTES], asked[ISOLATION], replica, rows
        if response is None or not response.shape[0]:
            return asked_, (0, 0, 0, None)
        if not reports.read(&response[0], response.shape[0]):
            return None
        reported = reports.message()
        rows = self.rows(reports, False)
        return None if rows is None else (asked_, (reported[THROTTLE], reported[ERROR], reported[SESSION], rows))

    cdef list rows(self, Side side, bint asks):
        """Return the partitions of a message; None if a topic has no name."""
        cdef list made = []
        cdef TopicRow* topics = side.topics()
        cdef AskedRow* asked = <AskedRow*>side.partitions()
        cdef ReportedRow* reported = <ReportedRow*>side.partitions()
        cdef int64_t i, j
        for i in range(side.topic_count()):
            name = self.topic_text(side, &topics[i])
            if name is None:
                return None
            for j in range(topics[i].partitions):
                if asks:
                    row = asked.offset, asked.log_start, asked.max_bytes, asked.leader_epoch, asked.last_fetched_epoch
                    made.append(((name, asked.index), row))
                    asked += 1
                    continue
                row = (
                    reported.error, reported.high, reported.stable, reported.start, max(0, reported.size),
                    reported.preferred, reported.diverging >= 0,
                )
                made.append(((name, reported.index), row))
                reported += 1
        return made

    cdef object topic_text(self, Side side, TopicRow* topic):
        """Return a topic's name, or its id as text; None for none."""
        cdef char[24] text
        cdef uint64_t[2] zero = [0, 0]
        cdef const uint8_t* at = side.frame + topic.text
        if side.kind == NAME:
            try:
                return None if topic.size < 0 else (<const char*>at)[: topic.size].decode()
            except UnicodeDecodeError:
                return None
        if memcmp(at, zero, 16) == 0:
            return None
        put_uuid(text, at)
        return text[:22].decode("ascii")


cdef inline bint is_special(ReportedRow* reported) noexcept:
    """Return whether a row has aborted transactions or tags (of diverging logs and new leaders), which are not
    steady.
    """
    return reported.tags > 0 or reported.aborted > 0


cdef str text_of(const Text* text):
    """Return a topic's name, or its id as Kafka prints it."""
    cdef char[24] id_
    if text.kind == ID:
        put_uuid(id_, text.data)
        return id_[:22].decode("ascii")
    return (<const char*>text.data)[: text.size].decode("utf-8", "replace")
