# Exchanges as JSON text: columns of headers, requests and responses, and the error codes in these.

cdef enum:
    HEADER = 0         # the texts of an exchange
    REQUEST = 1
    RESPONSE = 2


cdef class MessageColumns:
    """The texts of exchanges, one row each, as `lines` writes them. headed: make texts of headers; bodies: read
    these.
    """

    cdef ExchangeWriter lines
    cdef bint headed, bodies
    cdef Column[3] columns
    cdef Out errors, error_ends
    cdef size_t[3] start                        # where the texts of the last exchange begin
    cdef size_t[3] taken                        # bytes of the texts that `take` returned last
    cdef size_t request_body, response_body     # bytes of the last exchange's headers

    def __init__(self, ExchangeWriter lines not None, bint headed, bint bodies):
        self.lines, self.headed, self.bodies = lines, headed, bodies

    def __dealloc__(self):
        cdef int i
        for i in range(3):
            column_free(&self.columns[i])
        out_free(&self.errors)
        out_free(&self.error_ends)

    cdef bint put(self, ApiCodecs codecs, Exchange* e, bint textless) except -1:
        """Add both sides of an exchange. Add nothing and return False if only the slower way can. textless: of the
        bodies' texts, add only what `note_errors` needs.
        """
        cdef int i
        for i in range(3):
            self.start[i] = self.columns[i].text.size
        if (
            self.put_request(codecs, e.request, e.request_size, textless)
            and self.put_response(codecs, e.response, e.response_size, textless)
        ):
            return True
        self.drop_row()
        return False

    cdef bint put_request(self, ApiCodecs codecs, const uint8_t* frame, size_t n, bint textless) except -1:
        cdef Py_ssize_t start = self.put_header(
            codecs, frame, n
        ) if self.headed else codecs.request_header.skip_at(frame, n)
        if start < 0:
            return False
        self.request_body = start
        return not self.bodies or self.put_body(codecs.request, frame + start, n - start, REQUEST, textless)

    cdef Py_ssize_t put_header(self, ApiCodecs codecs, const uint8_t* frame, size_t n) except -2:
        """Add a request's header, and return its size in bytes; -1: only the slower way can."""
        cdef Out* header = &self.columns[HEADER].text
        cdef Py_ssize_t start = codecs.request_header.json_at(frame, n, header, NULL, False)
        if start < 0:
            return -1
        header.size -= 1
        # Their name's text includes the key of the request, 11 characters that are not needed here.
        if out_put(header, PyBytes_AS_STRING(codecs.name), PyBytes_GET_SIZE(codecs.name) - 11):
            raise MemoryError
        return start

    cdef bint put_response(self, ApiCodecs codecs, const uint8_t* frame, size_t n, bint textless) except -1:
        cdef Py_ssize_t start
        if frame == NULL:
            return True
        start = codecs.response_header.skip_at(frame, n)
        if start < 0:
            return False
        self.response_body = start
        if not self.bodies:
            return True
        frame += start
        return self.put_body(codecs.answer(frame, n - start), frame, n - start, RESPONSE, textless)

    cdef bint put_body(self, Node node, const uint8_t* body, size_t n, int column, bint textless) except -1:
        cdef Out* out = &self.columns[column].text
        if textless:
            return node.scan_at(body, n, out, &self.lines.context) >= 0
        return node.json_at(body, n, out, &self.lines.context, True) >= 0

    cdef int put_texts(self, bytes header, bytes request, bytes response) except -1:
        """Add texts that were made elsewhere, in place of an exchange's; None: there is none."""
        cdef int i
        cdef bytes text
        for i, text in enumerate(
            (header if self.headed else None, request if self.bodies else None, response if self.bodies else None)
        ):
            self.start[i] = self.columns[i].text.size
            if text is not None and out_put(&self.columns[i].text, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)):
                raise MemoryError
        return self.note_errors()

    cdef int note_errors(self) except -1:
        """Note the distinct error codes in the last response."""
        cdef size_t first = self.errors.size // sizeof(int64_t)
        cdef const char* p = self.columns[RESPONSE].text.data + self.start[RESPONSE]
        cdef int64_t code
        if self.columns[RESPONSE].text.size == self.start[RESPONSE]:
            return 0
        while next_error(&p, end_of(&self.columns[RESPONSE].text), &code):
            if not is_in(&self.errors, first, code) and out_put(&self.errors, &code, sizeof(code)):
                raise MemoryError
        return 0

    cdef int put_errors(self, codes) except -1:
        """Add error codes that were found elsewhere in the last response."""
        cdef int64_t code
        for code in codes:
            if out_put(&self.errors, &code, sizeof(code)):
                raise MemoryError
        return 0

    cdef bint has_errors(self) noexcept:
        """Return whether `note_errors` found one in the last response, whose row has not ended."""
        return self.errors.size // sizeof(int64_t) > self.first_error()

    cdef size_t first_error(self) noexcept:
        """Return the number of errors in the rows that have ended."""
        cdef size_t before = self.error_ends.size // sizeof(int32_t)
        return (<int32_t*>self.error_ends.data)[before - 1] if before else 0

    cdef bint has_error_of(self, codes) except -1:
        """Return whether `note_errors` found one of these codes in the last response, whose row has not ended."""
        cdef size_t i
        for i in range(self.first_error(), self.errors.size // sizeof(int64_t)):
            if (<int64_t*>self.errors.data)[i] in codes:
                return True
        return False

    cdef void drop_texts(self) noexcept:
        """Drop the texts of the last exchange."""
        self.columns[REQUEST].text.size, self.columns[RESPONSE].text.size = self.start[REQUEST], self.start[RESPONSE]

    cdef void drop_row(self) noexcept:
        """Drop the row of the last exchange."""
        cdef int i
        for i in range(3):
            self.columns[i].text.size = self.start[i]

    cdef int end_row(self) except -1:
        cdef int i
        for i in range(3):
            end(&self.columns[i].ends, self.columns[i].text.size)
        return end(&self.error_ends, self.errors.size // sizeof(int64_t))

    cdef size_t size(self) noexcept:
        """Return the bytes of the messages."""
        return self.columns[REQUEST].text.size + self.columns[RESPONSE].text.size

    cdef dict take(self):
        """Return header, request, response and errors, as in `ExchangeRows.take_columns`, and begin new ones."""
        made = {"errors": (ends(&self.error_ends), text(&self.errors))}
        for name, column in ("header", HEADER), ("request", REQUEST), ("response", RESPONSE):
            self.taken[column] = self.columns[column].text.size
            made[name] = ends(&self.columns[column].ends), lend(&self.columns[column].text)
        return made

    cdef void refill(self) noexcept:
        """Use the memory that `take` lent again, if it was returned."""
        cdef int i
        for i in range(3):
            refill(&self.columns[i].text, self.taken[i])
