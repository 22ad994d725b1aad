# The names of counted connections and of their ends.

# The ends of a row, and which of them is the first in it.
cdef struct Named:
    Ends ends
    int32_t twin, first

NAMED = sizeof(Named)


def end_pairs(bytes rows not None):
    """Return (first end, second end) of each row, as "address:port"."""
    cdef const Named* named = <const Named*>PyBytes_AS_STRING(rows)
    cdef char[2][KC_END_ROOM] texts
    cdef Py_ssize_t i
    cdef int d
    made = []
    for i in range(PyBytes_GET_SIZE(rows) // <Py_ssize_t>sizeof(Named)):
        pair = [texts[d][: put_end(texts[d], &named[i].ends, d ^ named[i].first) - texts[d]].decode() for d in range(2)]
        made.append(tuple(pair))
    return made


def link_texts(bytes rows not None, const uint8_t[::1] turned not None):
    """Return the columns connection, server and client: (the index of each row's text among the distinct ones (int32),
    the ends of these (int32, after a 0), the texts). turned: by row, whether its first end is the server's.

    A client's text has a suffix that distinguishes connections of the same ends, and so has its connection's (see
    `name_link`).
    """
    cdef const Named* named = <const Named*>PyBytes_AS_STRING(rows)
    cdef Py_ssize_t i, count = PyBytes_GET_SIZE(rows) // <Py_ssize_t>sizeof(Named)
    cdef char[2 * KC_END_ROOM + 24] link      # "server-client#twin"
    cdef char* server_end
    cdef char* link_end
    cdef Links made = Links()
    cdef int client
    for i in range(count):
        client = named[i].first ^ (turned[i] != 0)
        server_end = put_end(link, &named[i].ends, 1 - client)
        server_end[0] = 45                    # "-"
        link_end = put_end(server_end + 1, &named[i].ends, client)
        if named[i].twin:
            link_end[0] = 35                  # "#"
            link_end = put_uint(link_end + 1, <uint64_t>named[i].twin + 1)
        made.put(0, link, link_end - link)
        made.put(1, link, server_end - link)
        made.put(2, server_end + 1, link_end - server_end - 1)
    return [made.take(i) for i in range(3)]


cdef class Links:
    """Columns of distinct texts."""

    cdef Texts[3] texts
    cdef Column[3] columns
    cdef Out[3] places

    def __dealloc__(self):
        cdef int i
        for i in range(3):
            texts_free(&self.texts[i])
            out_free(&self.columns[i].text)
            out_free(&self.columns[i].ends)
            out_free(&self.places[i])

    cdef int put(self, int i, const char* data, size_t size) except -1:
        cdef size_t before = self.texts[i].count
        cdef uint32_t number = text_number(&self.texts[i], <const uint8_t*>data, size, 0)
        cdef int32_t place = <int32_t>number - 1
        if number == 0 or out_put(&self.places[i], &place, sizeof(place)):
            raise MemoryError
        if self.texts[i].count > before:
            if out_put(&self.columns[i].text, data, size):
                raise MemoryError
            end(&self.columns[i].ends, self.columns[i].text.size)
        return 0

    cdef tuple take(self, int i):
        return text(&self.places[i]), ends(&self.columns[i].ends), text(&self.columns[i].text)
