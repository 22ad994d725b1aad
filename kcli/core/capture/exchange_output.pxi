# The output of exchanges: to a sink, as lines of JSON, or to the handover as values.


@cython.final
cdef class ExchangeOutput:
    """Receives exchanges of steady connections. text: write lines. chosen: a kcli.capture.filters.Filter for lines,
    None: all.

    The handover has `bodies` and `exchanged(link, key, version, ts, request, answered, response)`. kept: lines that
    passed the filter; exchanges, answered, message_bytes: counts of exchanges that the handover does not get.
    """

    cdef object handover
    cdef ExchangeWriter lines
    cdef bint text
    cdef LineFilter chosen
    cdef Sink sink
    cdef uint64_t kept, exchanges, answered, message_bytes
    cdef uint64_t by_key[KEYS]

    def __cinit__(self, handover, bint text, chosen, Sink sink):
        self.handover, self.text, self.sink = handover, text, sink
        self.lines = ExchangeWriter(handover.bodies)
        if chosen is not None and not chosen.takes_all:
            self.chosen = LineFilter(chosen)

    cdef int receive(self, Exchange* e) except -1:
        # A connection that was handed over may return with requests of any key.
        if 0 <= e.key < KEYS and (self.sink is not None or self.text) and self.put(e):
            self.exchanges += 1
            self.answered += e.response != NULL
            self.message_bytes += e.request_size + PREFIX + (e.response_size + PREFIX if e.response != NULL else 0)
            self.by_key[e.key] += 1
            return 0
        self.handover.exchanged(link_of(e), *values_of(e))
        return 0

    cdef bint put(self, Exchange* e) except -1:
        """Pass an exchange to the sink, or write its line; return False if only the slower way can."""
        cdef PyObject* codecs
        cdef Out* out = &self.lines.out
        cdef size_t before = out.size
        if self.sink is not None and self.sink.take(e):
            return True
        codecs = self.lines.codecs(e.key, e.version)
        if not self.text or <object>codecs is None:
            return False
        if not self.lines.put(<ApiCodecs>codecs, e):
            return False
        if self.chosen is not None and not self.chosen.keeps(
            e, out.data + before, out.size - before, self.lines.errors
        ):
            out.size = before       # it was read, as it may name topics
        else:
            self.kept += 1
        return True

    cdef int write(self, bytes line) except -1:
        """Append a line that was made elsewhere to the lines here."""
        if out_put(&self.lines.out, PyBytes_AS_STRING(line), PyBytes_GET_SIZE(line)):
            raise MemoryError
        return 0

    cdef int drain(self, write) except -1:
        """Pass the text so far to `write`."""
        cdef Out* out = &self.lines.out
        if out.size:
            write(PyMemoryView_FromMemory(out.data, out.size, PyBUF_READ))
            out.size = 0
        return 0

    cdef dict counts(self):
        return {key: self.by_key[key] for key in range(KEYS) if self.by_key[key]}
