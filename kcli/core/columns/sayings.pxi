# Numbers for the contents of exchanges, as most of them repeat earlier contents byte for byte.

cdef enum:
    CALL_NUMBERS = 5       # of an exchange
    SAID_BYTES = 1 << 25   # of contents to remember; REMEMBERED limits their number


cdef class SayingNumbers:
    """Numbers contents of exchanges, and their connections. said: API keys whose exchanges are noted; never: those of
    them whose contents are about their connection, and so new each time. start: the number before the first ones.

    number: of the latest contents.
    """

    cdef Texts words, links, servers
    cdef Out scratch, calls, server_of     # by connection until `take_links`: its server's place
    cdef int64_t* numbers          # by the place of the contents in `words`
    cdef size_t room
    cdef int64_t last, links_before
    cdef size_t size, links_taken
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
        texts_free(&self.servers)
        out_free(&self.scratch)
        out_free(&self.calls)
        out_free(&self.server_of)
        free(self.numbers)

    cdef bint note(self, Exchange* e) except -1:
        """Note an exchange. Return whether its contents are new; `number` is then the number of its contents."""
        cdef bint fresh = self.find(e)
        cdef size_t before = self.links.count
        cdef uint32_t link, server
        cdef int32_t place
        cdef int64_t call[CALL_NUMBERS]
        link = text_number(&self.links, <const uint8_t*>e.link, e.link_size, 0)
        if link == 0:
            raise MemoryError
        call[0], call[1], call[2] = self.number, self.links_before + link, correlation_id(e.request)
        call[3], call[4] = <int64_t>e.ts, <int64_t>(e.answered if e.response != NULL and e.answered else e.ts)
        if out_put(&self.calls, call, sizeof(call)):
            raise MemoryError
        if self.links.count > before:
            server = text_number(&self.servers, <const uint8_t*>e.link, dash(<const uint8_t*>e.link, e.link_size), 0)
            place = <int32_t>server - 1
            if server == 0 or out_put(&self.server_of, &place, sizeof(place)):
                raise MemoryError
        return fresh

    cdef bint find(self, Exchange* e) except -1:
        """Find the number of the contents, a new one unless the same request to the server had the same response
        before.
        """
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
        """Write request and response without their correlation ids, and the server, to `scratch`."""
        cdef size_t n = e.request_size - 8, m = e.response_size - 4 if e.response != NULL else 0
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
        return 0

    def take(self):
        """Return the noted exchanges, and forget them: int64 rows of contents, link, correlation id, ns of request and
        response.
        """
        return text(&self.calls)

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
