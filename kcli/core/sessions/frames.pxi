# Fetches as Arrow columns: those of the pipeline's facts, whose responses lack their records.

cdef enum:
    WHOLE_FRAME = 1 << 30  # most bytes of a response with its records


cdef struct Bytes:
    const uint8_t* data
    int64_t size


cdef class BytesColumn:
    """A column of text or bytes. ends: the start of the first row, then the end of each; data: all bytes."""

    cdef const int32_t[::1] ends
    cdef const uint8_t[::1] data

    def __init__(self, const int32_t[::1] ends not None, const uint8_t[::1] data not None):
        cdef Py_ssize_t row
        self.ends, self.data = ends, data
        if not ends.shape[0] or ends[0] < 0 or ends[ends.shape[0] - 1] > data.shape[0]:
            raise ValueError("rows beyond their column")
        for row in range(1, ends.shape[0]):
            if ends[row] < ends[row - 1]:
                raise ValueError("a row that ends before it begins")

    cdef inline Bytes of(self, Py_ssize_t row) noexcept:
        cdef Bytes found
        found.data, found.size = NULL, self.ends[row + 1] - self.ends[row]
        if found.size:
            found.data = &self.data[self.ends[row]]
        return found


cdef class FetchFrames:
    """The rows from which fetch sessions are followed, as columns.

    fetches: by row, 1 for a Fetch with a response. ns, answered: times (ns) of request and response. cuts: int64 pairs:
    the offset in the response at which records were cut out, and their size in bytes.
    """

    cdef const uint8_t[::1] fetches
    cdef const int64_t[::1] ns, answered
    cdef BytesColumn connections, requests, responses, cuts
    cdef uint8_t* room
    cdef int64_t size

    def __init__(
        self, const uint8_t[::1] fetches not None, const int64_t[::1] ns not None, const int64_t[::1] answered not None,
        connections, requests, responses, cuts,
    ):
        self.fetches, self.ns, self.answered = fetches, ns, answered
        self.connections, self.requests = BytesColumn(*connections), BytesColumn(*requests)
        self.responses, self.cuts = BytesColumn(*responses), BytesColumn(*cuts)
        if {self.rows(each) for each in (self.connections, self.requests, self.responses, self.cuts)} != {len(fetches)}:
            raise ValueError("columns of other lengths")
        if len(ns) != len(fetches) or len(answered) != len(fetches):
            raise ValueError("columns of other lengths")

    def __dealloc__(self):
        free(self.room)

    cdef Py_ssize_t rows(self, BytesColumn column):
        return column.ends.shape[0] - 1

    cdef bint exchange(self, Py_ssize_t row, Exchange* e) except -1:
        """Fill in a row's exchange; return whether it is a Fetch with a response that the kernel may read."""
        cdef Bytes link = self.connections.of(row), request = self.requests.of(row), response
        if not self.fetches[row] or request.size < 4 or not self.filled(row, &response):
            return False
        memset(e, 0, sizeof(Exchange))
        e.link, e.link_size = <const char*>link.data, link.size
        e.key, e.version = FETCH, <int16_t>(request.data[2] << 8 | request.data[3])
        e.ts, e.request, e.request_size = self.ns[row], request.data, request.size
        e.answered, e.response, e.response_size = self.answered[row], response.data, response.size
        return response.size > 0

    cdef bint filled(self, Py_ssize_t row, Bytes* whole) except -1:
        """Insert zeros for the records cut out of a response; return whether the cuts fit it."""
        cdef Bytes response = self.responses.of(row), cuts = self.cuts.of(row)
        cdef int64_t size
        if not cuts.size:
            whole[0] = response
            return True
        size = filled_size(&response, &cuts)
        if size < 0:
            return False
        self.need(size)
        fill(&response, &cuts, self.room)
        whole.data, whole.size = self.room, size
        return True

    cdef int need(self, int64_t size) except -1:
        cdef uint8_t* grown
        if size > self.size:
            grown = <uint8_t*>realloc(self.room, 2 * size)
            if grown == NULL:
                raise MemoryError
            self.room, self.size = grown, 2 * size
        return 0


def filled(const uint8_t[::1] response not None, const uint8_t[::1] cuts not None):
    """Return a response at its full size, with zeros for the records that were cut out. Raises ValueError if the cuts
    do not fit it.
    """
    cdef Bytes one, other
    cdef int64_t size
    cdef bytes made
    one.data, one.size = &response[0] if response.shape[0] else NULL, response.shape[0]
    other.data, other.size = &cuts[0] if cuts.shape[0] else NULL, cuts.shape[0]
    size = filled_size(&one, &other)
    if size < 0:
        raise ValueError("cuts beyond their response")
    made = PyBytes_FromStringAndSize(NULL, size)
    fill(&one, &other, <uint8_t*>PyBytes_AS_STRING(made))
    return made


cdef int64_t filled_size(const Bytes* response, const Bytes* cuts) noexcept:
    """Return the size of a response with its records; -1 if the cuts do not fit it."""
    cdef int64_t[2] cut
    cdef int64_t at = 0, total = response.size, i
    for i in range(cuts.size // 16):
        memcpy(cut, cuts.data + 16 * i, 16)
        if not at <= cut[0] <= response.size or not 0 <= cut[1] <= WHOLE_FRAME - total:
            return -1
        at = cut[0]
        total += cut[1]
    return total


cdef void fill(const Bytes* response, const Bytes* cuts, uint8_t* room) noexcept:
    """Write a response with zeros for its records, whose cuts fit it."""
    cdef int64_t[2] cut
    cdef int64_t at = 0, made = 0, i
    for i in range(cuts.size // 16):
        memcpy(cut, cuts.data + 16 * i, 16)
        memcpy(room + made, response.data + at, cut[0] - at)
        made += cut[0] - at
        memset(room + made, 0, cut[1])
        made += cut[1]
        at = cut[0]
    memcpy(room + made, response.data + at, response.size - at)
