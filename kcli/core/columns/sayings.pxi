# Numbers for the contents of exchanges, as most of them repeat earlier contents byte for byte; OffsetCommits except
# for their offsets, which are kept apart.

cdef enum:
    CALL_NUMBERS = 6       # of an exchange
    OFFSET_COMMIT = 8
    SAID_BYTES = 1 << 25   # of contents to remember; REMEMBERED limits their number


# A partition of an OffsetCommit.
cdef struct CommittedRow:
    int64_t partition, offset


cdef class SayingNumbers:
    """Numbers contents of exchanges, and their connections. said: API keys whose exchanges are noted; never: those of
    them whose contents are about their connection, and so new each time. start: the number before the first ones.

    number: of the latest contents. lacks_offsets: the latest exchange is an OffsetCommit that the core can't read, so
    that its offsets are to be added.
    """

    cdef Selection commit          # of the latest OffsetCommit
    cdef list commit_texts
    cdef Layouts commits           # of OffsetCommit requests; see `read_commits`
    cdef Texts words, links, servers
    cdef Out scratch, calls, offsets
    cdef Out server_of             # by connection until `take_links`: its server's place
    cdef int64_t* numbers          # by the place of the contents in `words`
    cdef size_t room
    cdef int64_t last, links_before
    cdef size_t size, links_taken
    cdef bint[KEYS] said, never
    cdef readonly int64_t number
    cdef readonly bint lacks_offsets

    def __init__(self, said, never, int64_t start):
        self.last = self.links_before = start
        for key in said:
            self.said[key] = True
        for key in never:
            self.never[key] = True

    def __dealloc__(self):
        texts_free(&self.words)
        texts_free(&self.links)
        texts_free(&self.servers)
        out_free(&self.scratch)
        out_free(&self.calls)
        out_free(&self.offsets)
        out_free(&self.server_of)
        free(self.numbers)

    cdef bint note(self, Exchange* e) except -1:
        """Note an exchange. Return whether its contents are new; `number` is then the number of its contents."""
        cdef size_t offsets = self.offsets.size
        cdef Py_ssize_t body = self.read_commit(e) if e.key == OFFSET_COMMIT else -1
        cdef bint fresh = self.find(e, body)
        cdef size_t before = self.links.count
        cdef uint32_t link, server
        cdef int32_t place
        cdef int64_t call[CALL_NUMBERS]
        link = text_number(&self.links, <const uint8_t*>e.link, e.link_size, 0)
        if link == 0:
            raise MemoryError
        call[0], call[1], call[2] = self.number, self.links_before + link, correlation_id(e.request)
        call[3], call[4] = <int64_t>e.ts, <int64_t>(e.answered if e.response != NULL and e.answered else e.ts)
        call[5] = -1 if body < 0 else <int64_t>((self.offsets.size - offsets) // sizeof(int64_t))
        if out_put(&self.calls, call, sizeof(call)):
            raise MemoryError
        if self.links.count > before:
            server = text_number(&self.servers, <const uint8_t*>e.link, dash(<const uint8_t*>e.link, e.link_size), 0)
            place = <int32_t>server - 1
            if server == 0 or out_put(&self.server_of, &place, sizeof(place)):
                raise MemoryError
        return fresh

    cdef Py_ssize_t read_commit(self, Exchange* e) except -2:
        """Read an OffsetCommit request; return where its body begins, -1 if it can't be read."""
        cdef PyObject* layout = <PyObject*>None if self.commits is None else self.commits.of(e.key, e.version)
        cdef Py_ssize_t body
        if layout == <PyObject*>None:
            return -1
        header, self.commit, self.commit_texts = <tuple>layout
        body = (<Node>header).skip_at(e.request, e.request_size)
        if body < 0 or self.commit.select_at(e.request, e.request + body, e.request + e.request_size) < 0:
            return -1
        return body

    cdef bint find(self, Exchange* e, Py_ssize_t body) except -1:
        """Find the number of the contents, a new one unless the same request to the server had the same response
        before. body: where that of an OffsetCommit begins that was read; -1: none was.
        """
        cdef uint32_t place
        cdef size_t before = self.words.count
        cdef int64_t* grown
        self.lacks_offsets = e.key == OFFSET_COMMIT and body < 0
        if self.lacks_offsets or 0 <= e.key < KEYS and self.never[e.key]:
            self.last += 1
            self.number = self.last
            return True
        self.put_words(e, body)
        if before > REMEMBERED or self.size > SAID_BYTES:
            texts_free(&self.words)
            self.size = before = 0
        place = text_number(&self.words, <const uint8_t*>self.scratch.data, self.scratch.size, e.response != NULL)
        if place == 0:
            raise MemoryError
        if self.words.count == before:
            self.number = self.numbers[place - 1]
            return False
        if place > self.room:
            grown = <int64_t*>realloc(self.numbers, 2 * place * sizeof(int64_t))
            if grown == NULL:
                raise MemoryError
            self.numbers, self.room = grown, 2 * place
        self.last += 1
        self.number = self.numbers[place - 1] = self.last
        self.size += self.scratch.size
        return True

    cdef int put_words(self, Exchange* e, Py_ssize_t body) except -1:
        """Write request and response without their correlation ids, and the server, to `scratch`. body: as for
        `find`.
        """
        cdef size_t n = (e.request_size if body < 0 else body) - 8, m = e.response_size - 4 if e.response != NULL else 0
        cdef const uint8_t* link = <const uint8_t*>e.link
        self.scratch.size = 0
        if (
            out_put(&self.scratch, &n, sizeof(n))
            or out_put(&self.scratch, &m, sizeof(m))
            or out_put(&self.scratch, e.request, 4)
        ):
            raise MemoryError
        if out_put(&self.scratch, e.request + 8, n) or out_put(&self.scratch, e.response + 4, m):
            raise MemoryError
        if out_put(&self.scratch, link, dash(link, e.link_size)):
            raise MemoryError
        return self.put_commit(e.request) if body >= 0 else 0

    cdef int put_commit(self, const uint8_t* request) except -1:
        """Write what `commit` read of a request to `scratch`, but offsets to `offsets`."""
        cdef Selection commit = self.commit
        cdef Level* each
        cdef int64_t* own = <int64_t*>commit.levels[0].rows.data
        cdef TopicRow* topic = <TopicRow*>commit.levels[TOPICS].rows.data
        cdef CommittedRow* committed = <CommittedRow*>commit.levels[PARTITIONS].rows.data
        cdef size_t i
        cdef int level
        for i in range(commit.levels[PARTITIONS].rows.size // sizeof(CommittedRow)):
            if out_put(&self.offsets, &committed[i].offset, sizeof(int64_t)):
                raise MemoryError
            committed[i].offset = 0
        for level in range(commit.depth):
            each = &commit.levels[level]
            if out_put(&self.scratch, each.rows.data, each.rows.size):
                raise MemoryError
        for slot in self.commit_texts:
            self.put_text(request, own[<int>slot], own[<int>slot + 1])
        for i in range(commit.levels[TOPICS].rows.size // sizeof(TopicRow)):
            self.put_text(request, topic[i].text, topic[i].size)
        return 0

    cdef int put_text(self, const uint8_t* request, int64_t at, int64_t size) except -1:
        if size > 0 and out_put(&self.scratch, request + at, size):
            raise MemoryError
        return 0

    def read_commits(self, find not None):
        """Read OffsetCommit requests with find(key, version): (header, selection, slots of its texts), or None."""
        self.commits = Layouts(find)

    def add_offsets(self, list offsets not None):
        """Add the offsets of the latest exchange, an OffsetCommit; see `lacks_offsets`."""
        cdef int64_t offset
        cdef int64_t* call = <int64_t*>(self.calls.data + self.calls.size) - CALL_NUMBERS
        for offset in offsets:
            if out_put(&self.offsets, &offset, sizeof(offset)):
                raise MemoryError
        call[5] = len(offsets)

    def take(self):
        """Return the noted exchanges, and forget them: int64 rows of contents, link, correlation id, ns of request and
        response, and the number of its offsets, -1: it is no OffsetCommit; and the offsets (int64).
        """
        return text(&self.calls), text(&self.offsets)

    def take_links(self):
        """Return the new connections: the number of the first (the others' follow), (ends, texts) of all and of their
        clients, the place of each one's server (int32), and (ends, texts) of the servers.
        """
        cdef size_t taken = self.links_taken
        made = (
            self.links_before + <int64_t>taken + 1, strings(&self.links, NULL, False, taken),
            strings(&self.links, NULL, True, taken), text(&self.server_of), strings(&self.servers, NULL, False),
        )
        self.links_taken = self.links.count
        if self.links.count > REMEMBERED:
            self.links_before += self.links.count
            self.links_taken = 0
            texts_free(&self.links)
            texts_free(&self.servers)
        return made
