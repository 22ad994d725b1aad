# What exchanges say, by number: byte for byte most of them repeat what was said before.

cdef enum:
    CALL_NUMBERS = 5       # of an exchange
    SAID_BYTES = 1 << 25   # of sayings that are remembered; as many of them, and of connections, as REMEMBERED


cdef class SayingNumbers:
    """Numbers what is said, and the connections that say it. said: API keys whose exchanges are noted; never: of these, those that
    say something of their connection, each time anew. start: the number before the first ones.

    number: of what was said last.
    """

    cdef Texts words, links
    cdef Out scratch, calls
    cdef int64_t* numbers          # by the place of what is said among `words`
    cdef size_t room
    cdef int64_t last, links_before
    cdef size_t size
    cdef bint[KEYS] said, never
    cdef readonly int64_t number

    def __init__(self, said, never, int64_t start):
        self.last = self.links_before = start
        for key in said:
            self.said[key] = True
        for key in never:
            self.never[key] = True

    def __dealloc__(self):
        texts_free(&self.words)
        texts_free(&self.links)
        out_free(&self.scratch)
        out_free(&self.calls)
        free(self.numbers)

    cdef bint note(self, Exchange* e, owner) except -1:
        """Note an exchange. Return whether what it says is new; its maker's rows have `number`. owner: its `put_link(number, link)` takes
        a new connection."""
        cdef bint fresh = self.find(e)
        cdef size_t before = self.links.count
        cdef uint32_t link
        cdef int64_t call[CALL_NUMBERS]
        if before > REMEMBERED:
            self.links_before += before
            texts_free(&self.links)
            before = 0
        link = text_number(&self.links, <const uint8_t*>e.link, e.link_size, 0)
        if link == 0:
            raise MemoryError
        call[0], call[1], call[2] = self.number, self.links_before + link, correlation_id(e.request)
        call[3], call[4] = <int64_t>e.ts, <int64_t>(e.answered if e.response != NULL and e.answered else e.ts)
        if out_put(&self.calls, call, sizeof(call)):
            raise MemoryError
        if self.links.count > before:
            owner.put_link(call[1], link_of(e))
        return fresh

    cdef bint find(self, Exchange* e) except -1:
        """Find the number of what is said, a new one where the server was not asked and did not answer the same before."""
        cdef uint32_t place
        cdef size_t before = self.words.count
        cdef int64_t* grown
        if 0 <= e.key < KEYS and self.never[e.key]:
            self.last += 1
            self.number = self.last
            return True
        self.put_words(e)
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

    cdef int put_words(self, Exchange* e) except -1:
        """Put the request and response without their correlation ids, and the server, into `scratch`."""
        cdef size_t n = e.request_size - 8, m = e.response_size - 4 if e.response != NULL else 0
        cdef const uint8_t* link = <const uint8_t*>e.link
        self.scratch.size = 0
        if out_put(&self.scratch, &n, sizeof(n)) or out_put(&self.scratch, &m, sizeof(m)) or out_put(&self.scratch, e.request, 4):
            raise MemoryError
        if out_put(&self.scratch, e.request + 8, n) or out_put(&self.scratch, e.response + 4, m):
            raise MemoryError
        if out_put(&self.scratch, link, dash(link, e.link_size)):
            raise MemoryError
        return 0

    def take(self):
        """Take the exchanges that were noted: int64 rows of saying, link, correlation id, ns of the request and of its answer."""
        return text(&self.calls)
