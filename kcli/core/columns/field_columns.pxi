# Numbers of messages by their paths, one row of int64 for each exchange.

cdef enum:
    FIELDS = 12           # columns, at most


cdef class Fields:
    """How one version is read: (selection, the column of each of its first slots) of the request and of the response; None:
    nothing is asked of that side. Of two slots with one column the one that is not missing counts."""

    cdef Selection asks, reports
    cdef int columns[2][FIELDS]
    cdef int counts[2]

    def __init__(self, request, response):
        self.asks, self.reports = (None if each is None else each[0] for each in (request, response))
        for side, given in enumerate((request, response)):
            for slot, column in enumerate(() if given is None else given[1][:FIELDS]):
                self.columns[side][slot], self.counts[side] = column, slot + 1


cdef class FieldColumns:
    """The rows. width: columns; owner: its fields(key, version) gives a Fields, or None."""

    cdef int width
    cdef Out rows
    cdef Layouts layouts

    def __init__(self, owner, int width):
        self.layouts, self.width = Layouts(owner.fields), min(width, FIELDS)

    def __dealloc__(self):
        out_free(&self.rows)

    cdef int put(self, int key, int version, const uint8_t* request, size_t n, const uint8_t* response, size_t m) except -1:
        """A row. request, response: bodies; response NULL: there is none."""
        cdef int64_t row[FIELDS]
        cdef int i
        cdef PyObject* layout = self.layouts.of(key, version)
        for i in range(self.width):
            row[i] = MISSING
        if <object>layout is not None:
            self.fill(row, <Fields>layout, (<Fields>layout).asks, 0, request, n)
            if response != NULL:
                self.fill(row, <Fields>layout, (<Fields>layout).reports, 1, response, m)
        if out_put(&self.rows, row, self.width * sizeof(int64_t)):
            raise MemoryError
        return 0

    cdef int fill(self, int64_t* row, Fields layout, Selection side, int number, const uint8_t* body, size_t n) except -1:
        """What one side says."""
        cdef int i
        cdef int64_t* found
        if side is None or side.select_at(body, body, body + n) < 0:
            return 0
        found = <int64_t*>side.levels[0].rows.data
        for i in range(layout.counts[number]):
            if found[i] != MISSING:
                row[layout.columns[number][i]] = found[i]
        return 0
