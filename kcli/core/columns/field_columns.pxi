# Fields of messages by their paths, one row of int64 for each exchange.

cdef enum:
    FIELDS = 16           # most columns


# A field's slot in a selection's row, its column, and whether it is text.
cdef struct FieldPlace:
    int slot, column
    bint text


cdef class Fields:
    """The layout of one version: (selection, (slot, column, whether it is text) of each field) of request and response;
    None: no fields of that side. If two fields have one column, the last present one counts.
    """

    cdef Selection asks, reports
    cdef FieldPlace places[2][FIELDS]
    cdef int counts[2]

    def __init__(self, request, response):
        self.asks, self.reports = (None if each is None else each[0] for each in (request, response))
        for side, given in enumerate((request, response)):
            for number, (slot, column, text) in enumerate(() if given is None else given[1][:FIELDS]):
                self.places[side][number] = FieldPlace(slot, column, text)
                self.counts[side] = number + 1


cdef class FieldColumns:
    """The rows; a text is an index in `used`. width: columns; owner: its fields(key, version) returns a Fields, or
    None.
    """

    cdef int width
    cdef Out rows
    cdef Layouts layouts
    cdef Texts texts
    cdef DictionaryBuilder used

    def __init__(self, owner, int width):
        self.layouts, self.width = Layouts(owner.fields), min(width, FIELDS)

    def __dealloc__(self):
        out_free(&self.rows)
        texts_free(&self.texts)
        places_free(&self.used)

    cdef int put(
        self, int key, int version, const uint8_t* request, size_t n, const uint8_t* response, size_t m
    ) except -1:
        """Add an exchange's row. request, response: bodies; response NULL: there is none."""
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

    cdef int put_values(self, values) except -1:
        """Add the row of an exchange that was read elsewhere: a number, a text or None for each column."""
        cdef int64_t value
        cdef bytes text
        for each in values:
            if isinstance(each, str):
                text = each.encode("utf-8", "replace")
                value = self.number(<const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
            else:
                value = MISSING if each is None else each
            if out_put(&self.rows, &value, sizeof(value)):
                raise MemoryError
        return 0

    cdef int fill(
        self, int64_t* row, Fields layout, Selection side, int number, const uint8_t* body, size_t n
    ) except -1:
        """Fill a row with the fields of one side; with nothing if the body can't be read."""
        cdef int i
        cdef int64_t* found
        cdef FieldPlace* place
        if side is None or side.select_at(body, body, body + n) < 0:
            return 0
        found = <int64_t*>side.levels[0].rows.data
        for i in range(layout.counts[number]):
            place = &layout.places[number][i]
            if place.text:
                if found[place.slot + 1] >= 0:
                    row[place.column] = self.text(body + found[place.slot], found[place.slot + 1])
            elif found[place.slot] != MISSING:
                row[place.column] = found[place.slot]
        return 0

    cdef int64_t text(self, const uint8_t* text, size_t size) except -1:
        """Return the index of a message's text; bytes that are not UTF-8 are replaced."""
        cdef size_t i
        cdef bytes made
        for i in range(size):
            if text[i] >= 0x80:
                made = (<const char*>text)[:size].decode("utf-8", "replace").encode()
                return self.number(<const uint8_t*>PyBytes_AS_STRING(made), PyBytes_GET_SIZE(made))
        return self.number(text, size)

    cdef int64_t number(self, const uint8_t* text, size_t size) except -1:
        cdef uint32_t number = text_number(&self.texts, text, size, 0)
        if number == 0:
            raise MemoryError
        return place_of(&self.used, number)

    cdef tuple take(self):
        """Return (rows, their texts), and begin new ones."""
        made = text(&self.rows), strings(&self.texts, &self.used, False)
        places_clear(&self.used)
        if self.texts.count > REMEMBERED:
            texts_free(&self.texts)
        return made
