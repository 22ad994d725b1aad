# The message inside an Envelope as JSON. kcli/grammar/envelopes.py has the rules, and handles odd envelopes.


cdef class Envelope(Secret):
    """A bytes field that holds a request, or (answers) the response to the request in the latest envelope.

    inside: inside(API key, version) returns the nodes of header and body, and the text that ends the header and begins
    the body; None if an envelope cannot hold the message.
    """

    cdef readonly object inside
    cdef readonly bint answers
    cdef dict known

    def __init__(self, str kind, bint nullable, bint compact, inside, bint answers):
        Secret.__init__(self, kind, nullable, compact)
        self.inside, self.answers = inside, answers
        self.known = {}

    cdef int json_c(self, Cursor* cursor, Out* out) noexcept:
        cdef JsonContext* context = cursor.context
        cdef size_t before = out.size
        cdef const uint8_t* at
        cdef Py_ssize_t length
        cdef int code
        if not hides(cursor):
            return json_rare(self.op, self.flags, cursor, out)
        length = length_of(self.op, self.flags, cursor)
        if length == -2:
            return -1
        at = cursor.at
        if context != NULL and not self.answers:
            context.inner_known = length >= 4
            if context.inner_known:
                context.inner_key, context.inner_version = <int16_t>be16(at), <int16_t>be16(at + 2)
        if length < 0:
            return no_memory(cursor) if out_put(out, b"null", 4) else 0
        cursor.at += length
        code = self.open(at, length, context, out)
        if code == FINE:
            return 0
        if code == RAISED:
            return raised(cursor)
        if code == ODD:
            return stop(cursor, ODD, at, 0, 0)
        out.size = before
        return no_memory(cursor) if out_redacted(out, length) else 0

    cdef int open(self, const uint8_t* at, Py_ssize_t length, JsonContext* context, Out* out) noexcept:
        """Write the message inside; return the reason to stop if nothing of it may be shown."""
        cdef JsonContext inner
        cdef Cursor cursor
        cdef PyObject* found
        cdef Py_ssize_t i
        if context == NULL or not context.inner_known:
            return SHORT
        found = self.find(context.inner_key, context.inner_version)
        if found == NULL:
            return RAISED
        if found == None_:
            return SHORT
        inner = context[0]
        inner.records, inner.hook, inner.names = RECORDS_SIZE, NULL, NULL
        inner.metadata, inner.resource, inner.name_size, inner.redactions = False, 0, 0, 0
        start(&cursor, at, length, &inner)
        if out_put(out, b'{"responseHeader":' if self.answers else b'{"requestHeader":', 18 - (not self.answers)):
            return RAISED
        for i in range(2):
            if (<Node>(<tuple>found)[i]).json_c(&cursor, out):
                xdecref(cursor.path)
                return cursor.code
            context.erred = inner.erred
            if i == 0:
                out.size -= 1                 # the closing brace
                if put_text(<object>(<tuple>found)[2], out):
                    return RAISED
        if cursor.at != cursor.end:
            return SHORT
        if inner.redactions:
            return RAISED if out_put(out, b',"redacted":', 12) or out_count(out, length) else FINE
        return (
            RAISED
            if out_put(out, b',"base64":', 10) or out_base64(out, at, length) or out_put(out, b"}", 1)
            else FINE
        )

    cdef PyObject* find(self, int key, int version) noexcept:
        """Return the result of `inside`, which is called once per version, as a borrowed reference; NULL with an
        exception kept.
        """
        cdef int number = key * 65536 + (version & 0xffff)
        try:
            found = self.known.get(number, self)
            if found is self:
                found = self.inside(key, version)
                if found is None:
                    return None_
                self.known[number] = found
            return <PyObject*>found           # `known` holds it
        except BaseException as error:
            keep_error(error)
            return NULL


cdef int put_text(bytes text, Out* out) noexcept:
    return out_put(out, <const char*>text, len(text))


cdef int out_count(Out* out, Py_ssize_t count) noexcept:
    """Write the number and a closing brace."""
    cdef char* p
    if out_reserve(out, 24):
        return KC_MEMORY
    p = put_int(out.data + out.size, count)
    p[0] = b"}"
    out.size = p + 1 - out.data
    return 0


cdef int json_rare(int op, int flags, Cursor* cursor, Out* out) noexcept:
    """Write a field as `json_sized` does. It is for fields that are rarely shown: with a separate copy here, the
    compiler inlines the other into the fields' loop.
    """
    return json_sized(op, flags, cursor, out)
