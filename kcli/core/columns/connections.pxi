# Facts about connections, by number.

# A connection: its voice (see Voices), the numbers of its server's text and its client's address, and its sums.
cdef struct Link:
    int64_t voice
    uint32_t server, address
    Sums sums


cdef class Connections:
    """The texts of links ("server-client"), of their ends and of clients' addresses; and the links of the current
    rows.
    """

    cdef Texts links, servers, addresses
    cdef DictionaryBuilder used, used_servers, used_addresses
    cdef Link* known           # by link
    cdef size_t room
    cdef uint32_t last

    def __dealloc__(self):
        texts_free(&self.links)
        texts_free(&self.servers)
        texts_free(&self.addresses)
        places_free(&self.used)
        places_free(&self.used_servers)
        places_free(&self.used_addresses)
        free(self.known)

    cdef uint32_t number(self, const char* text, size_t size, bint* fresh) except 0:
        """Return a connection's number. fresh: set if it was unknown before; its voice is 0."""
        cdef size_t before = self.links.count
        cdef uint32_t number = self.last
        fresh[0] = False
        if (
            number
            and self.links.texts[number - 1].size == size
            and memcmp(self.links.texts[number - 1].data, text, size) == 0
        ):
            return number
        self.last = number = text_number(&self.links, <const uint8_t*>text, size, 0)
        if number == 0:
            raise MemoryError
        if self.links.count > before:
            fresh[0] = True
            self.know(number, <const uint8_t*>text, size)
        return number

    cdef int know(self, uint32_t number, const uint8_t* text, size_t size) except -1:
        """Note a new connection's ends. The client's address is without its port and the brackets of IPv6."""
        cdef Link* grown
        cdef Link* link
        cdef size_t cut = dash(text, size), start = cut + 1, stop = size
        if number > self.room:
            grown = <Link*>realloc(self.known, 2 * number * sizeof(Link))
            if grown == NULL:
                raise MemoryError
            self.known, self.room = grown, 2 * number
        link = &self.known[number - 1]
        link.voice = 0
        sums_begin(&link.sums)
        while stop > start and text[stop - 1] != 58:     # ":"
            stop -= 1
        stop = max(stop - 1, start)
        if stop > start and text[start] == 91:           # "["
            start, stop = start + 1, stop - 1
        link.server = text_number(&self.servers, text, cut, 0)
        link.address = text_number(&self.addresses, text + start, stop - start, 0)
        if link.server == 0 or link.address == 0:
            raise MemoryError
        return 0

    cdef dict take(self):
        """Return the dictionaries of the connections in the current rows, and begin new ones."""
        cdef uint32_t* used = <uint32_t*>self.used.used.data
        cdef size_t i, count = self.used.used.size // sizeof(uint32_t)
        server_of, address_of = (PyBytes_FromStringAndSize(NULL, count * sizeof(int32_t)) for _ in range(2))
        for i in range(count):
            (<int32_t*>PyBytes_AS_STRING(server_of))[i] = place_of(&self.used_servers, self.known[used[i] - 1].server)
            (<int32_t*>PyBytes_AS_STRING(address_of))[i] = place_of(
                &self.used_addresses, self.known[used[i] - 1].address
            )
        made = {
            "links": strings(&self.links, &self.used, False), "ends": strings(&self.links, &self.used, True),
            "servers": strings(&self.servers, &self.used_servers, False), "server_of": server_of,
            "addresses": strings(&self.addresses, &self.used_addresses, False), "address_of": address_of,
        }
        places_clear(&self.used)
        places_clear(&self.used_servers)
        places_clear(&self.used_addresses)
        return made

    cdef dict end(self, bint counted):
        """Return the dictionaries of all connections, with their sums if `counted`, and forget the connections."""
        cdef Py_ssize_t i, count = self.links.count
        server_of, address_of = (PyBytes_FromStringAndSize(NULL, count * sizeof(int32_t)) for _ in range(2))
        sums = PyBytes_FromStringAndSize(NULL, count * sizeof(Sums) if counted else 0)
        voices = {}
        for i in range(count):
            if counted:
                (<Sums*>PyBytes_AS_STRING(sums))[i] = self.known[i].sums
            (<int32_t*>PyBytes_AS_STRING(server_of))[i] = <int32_t>self.known[i].server - 1
            (<int32_t*>PyBytes_AS_STRING(address_of))[i] = <int32_t>self.known[i].address - 1
            if self.known[i].voice:
                link = (<const char*>self.links.texts[i].data)[: self.links.texts[i].size].decode()
                voices[link] = self.known[i].voice
        made = {
            "links": strings(&self.links, NULL, False), "servers": strings(&self.servers, NULL, False),
            "addresses": strings(&self.addresses, NULL, False), "server_of": server_of, "address_of": address_of,
            "voices": voices, "sums": sums,
        }
        texts_free(&self.links)
        texts_free(&self.servers)
        texts_free(&self.addresses)
        self.last = 0
        return made
