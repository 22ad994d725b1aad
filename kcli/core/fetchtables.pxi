# What the kernel knows of messages and texts, and any Fetch exchange as columns.

cdef enum:
    FETCH = 1
    VERSIONS = 32
    LEVELS = 3


cdef class Tables(Sink):
    """Layouts of Fetch by version, and numbers for texts.

    layout(version): the two sides' fields, as `kcli.sessions.columns` makes them; None for what it can't read.
    """

    cdef Texts texts
    cdef object layout
    cdef dict numbers, topics, servers
    cdef Layout* layouts[VERSIONS][2]
    cdef bint flexible[VERSIONS]
    cdef bint known[VERSIONS]

    def __init__(self, layout):
        self.layout = layout
        self.numbers, self.topics, self.servers = {}, {}, {}

    def __dealloc__(self):
        texts_free(&self.texts)
        for version in range(VERSIONS):
            for side in range(2):
                if self.layouts[version][side] != NULL:
                    for level in range(LEVELS):
                        free(self.layouts[version][side].levels[level].ops)
                    free(self.layouts[version][side])

    # Numbers for what Python has texts for

    cdef uint64_t number(self, key, bint ids) except 0:
        """Of a partition (topic, index)."""
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
        """The partition (topic, index) of a number."""
        cdef uint32_t topic = <uint32_t>(number >> 32)
        name = self.topics.get(topic)
        if name is None:
            name = self.topics[topic] = text_of(&self.texts.texts[topic - 1])
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
        if not self.known[version]:
            self.known[version] = True
            made = self.layout(version)
            if made is not None:
                self.flexible[version] = made[0]
                for side in range(2):
                    self.layouts[version][side] = <Layout*>calloc(1, sizeof(Layout))
                    if self.layouts[version][side] == NULL:
                        raise MemoryError
                    for level in range(LEVELS):
                        make_ops(&self.layouts[version][side].levels[level], made[1 + side][level])
        return self.layouts[version][1] != NULL

    cdef int read_op(self, Reader* r, Op* op, int64_t* columns) noexcept:
        """A field of no depth; other than 0: not to be read, or not the steady way."""
        cdef int64_t count
        if op.kind == FIXED:
            if r.end - r.at < op.width:
                return -1
            if op.column >= 0:
                columns[op.column] = fixed(r.at, op.width)
            r.at += op.width
            return 0
        if op.kind == TAGS:
            return pass_tags(r, op.column > 0)
        if length(r, op.width, &count):
            return -1
        if op.kind == EMPTY:
            return count > 0
        if op.column >= 0:
            columns[op.column] = count if count > 0 else 0
        return pass_bytes(r, count)

    cdef inline int read_row(self, Reader* r, Ops* ops, int64_t* columns) noexcept:
        cdef int i
        cdef Op* op
        if r.end - r.at < ops.front:
            return -1
        for i in range(ops.fixed):
            op = &ops.ops[i]
            if op.column >= 0:
                columns[op.column] = fixed(r.at, op.width)
            r.at += op.width
        for i in range(ops.fixed, ops.count):
            op = &ops.ops[i]
            if op.kind == TAGS:
                if pass_tags(r, op.column > 0):
                    return -1
            elif self.read_op(r, op, columns):
                return -1
        return 0

    cdef int read_topic(self, Reader* r, Ops* ops, uint64_t* base, int64_t* text, int64_t* count) noexcept:
        """A topic up to its partitions: its number, where there is one, the bytes of its name, how many partitions."""
        cdef int64_t size = 16
        cdef int kind = ID
        text[0] = 0
        if ops.ops[0].kind == TEXT:
            if length(r, ops.ops[0].width, &size):
                return -1
            kind = NAME
            text[0] = size
        if size < 0 or size > r.end - r.at:
            return -1
        base[0] = <uint64_t>text_find(&self.texts, r.at, size, kind) << 32
        r.at += size
        return base[0] == 0 or length(r, 4, count)

    # Any exchange, as columns

    def columns(self, const uint8_t[::1] request not None, const uint8_t[::1] response, int version):
        """(session id, epoch, max bytes, isolation, replica id, asked), (throttle, error, session id, told or None without a
        response): what FetchExchange has of plain messages. None where that is not all they say."""
        cdef int64_t asks[COLUMNS]
        cdef int64_t tells[COLUMNS]
        cdef Reader r
        cdef int64_t size
        if not 0 <= version < VERSIONS or not self.knows(version) or request.shape[0] < 10:
            return None
        memset(asks, 0, sizeof(asks))
        memset(tells, 0, sizeof(tells))
        asks[REPLICA] = -1
        r.flexible = self.flexible[version]
        r.at, r.end = &request[0] + 10, &request[0] + request.shape[0]
        size = fixed(&request[8], 2)
        if pass_bytes(&r, size) or (r.flexible and pass_tags(&r, False)):
            return None
        asked = self.message(&r, self.layouts[version][0], asks, True)
        if asked is None:
            return None
        told = None
        if response is not None and response.shape[0]:
            r.at, r.end = &response[0], &response[0] + response.shape[0]
            if response.shape[0] < 4:
                return None
            r.at += 4
            if r.flexible and pass_tags(&r, False):
                return None
            told = self.message(&r, self.layouts[version][1], tells, False)
            if told is None:
                return None
        return (
            (
                asks[SESSION], asks[EPOCH], asks[MAX_BYTES], asks[ISOLATION],
                asks[REPLICA], asked,
            ),
            (tells[THROTTLE], tells[ERROR], tells[SESSION], told),
        )

    cdef list message(self, Reader* r, Layout* layout, int64_t* columns, bint asks):
        """The partitions of a message, whose own columns are filled in; None when it says more than that."""
        cdef Ops* ops = &layout.levels[0]
        cdef list made = []
        cdef int i
        for i in range(ops.count):
            if ops.ops[i].kind == NESTED:
                if not self.rows(r, layout, made, asks):
                    return None
            elif ops.ops[i].kind == TAGS:
                # Who fetches (a follower), which cluster, where leaders are: for the slower way.
                if pass_tags(r, True):
                    return None
            elif self.read_op(r, &ops.ops[i], columns):
                return None
        return made if r.at == r.end else None

    cdef bint rows(self, Reader* r, Layout* layout, list made, bint asks) except -1:
        cdef int64_t topics, count, i, j
        cdef int64_t c[COLUMNS]
        if length(r, 4, &topics):
            return False
        for i in range(COLUMNS):
            c[i] = -1
        for i in range(topics):
            name = self.topic_text(r, &layout.levels[1])
            if name is None or length(r, 4, &count) or count > r.end - r.at:
                return False
            for j in range(count):
                c[RECORDS] = 0
                if self.read_row(r, &layout.levels[2], c):
                    return False
                if asks:
                    made.append(((name, c[INDEX]), (c[1], c[2], c[3], c[4], c[5])))
                else:
                    made.append(((name, c[INDEX]), (c[ERROR], c[HIGH], c[STABLE], c[START], c[RECORDS], c[PREFERRED], False)))
            if r.flexible and pass_tags(r, False):
                return False
        return True

    cdef object topic_text(self, Reader* r, Ops* ops):
        """A topic's name, or its id as text."""
        cdef int64_t size = 16
        cdef char[24] text
        cdef uint64_t[2] zero = [0, 0]
        if ops.ops[0].kind == TEXT:
            if length(r, ops.ops[0].width, &size) or size < 0 or size > r.end - r.at:
                return None
            try:
                name = (<const char*>r.at)[:size].decode()
            except UnicodeDecodeError:
                return None
        else:
            if r.end - r.at < 16 or memcmp(r.at, zero, 16) == 0:
                return None
            put_uuid(text, r.at)
            name = text[:22].decode("ascii")
        r.at += size
        return name


cdef str text_of(const Text* text):
    """A topic's name, or its id as Kafka prints it."""
    cdef char[24] id_
    if text.kind == ID:
        put_uuid(id_, text.data)
        return id_[:22].decode("ascii")
    return (<const char*>text.data)[: text.size].decode("utf-8", "replace")
