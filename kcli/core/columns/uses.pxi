# The number of requests by client, connection, API and version.


# Requests of one API and version by one client on one connection, after the same profile. link, client: from 0 on,
# client -1: null.
cdef struct Use:
    int64_t link, client, voice, key, version, count


cdef class Uses:
    """Counts exchanges per connection, client, API and version, with a row of Use for each."""

    cdef Out rows
    cdef Map known

    def __dealloc__(self):
        out_free(&self.rows)
        map_free(&self.known)

    cdef int count(self, uint32_t link, uint32_t client, int64_t voice, int key, int version) except -1:
        """Count a request. link, client: numbers, client 0: null."""
        cdef Use made
        cdef uint64_t a = <uint64_t>link << 32 | client
        cdef uint64_t b = <uint64_t>voice << 32 | <uint64_t><uint16_t>key << 16 | <uint16_t>version
        cdef uint64_t at = map_find(&self.known, a, b)
        if at:
            (<Use*>self.rows.data)[at - 1].count += 1
            return 0
        made.link, made.client, made.voice = <int64_t>link - 1, <int64_t>client - 1, voice
        made.key, made.version, made.count = key, version, 1
        if out_put(&self.rows, &made, sizeof(made)) or map_put(&self.known, a, b, self.size()):
            raise MemoryError
        return 0

    cdef size_t size(self) noexcept:
        return self.rows.size // sizeof(Use)

    cdef bytes take(self):
        """Return the rows, and begin new ones."""
        map_free(&self.known)
        return text(&self.rows)
