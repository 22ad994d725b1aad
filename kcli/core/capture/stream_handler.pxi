# The layer above TCP.


cdef class StreamHandler:
    """Reads the bytes of connections; this base class ignores them."""

    cdef int belongs(self, Flow* flow, Segment* s) except -1:
        """Note a packet's connection before its bytes are read."""
        return 0

    cdef int goes_on(self, Flow* flow, int d) except -1:
        """Note that the next bytes of a direction are those from its `next` on."""
        return 0

    cdef int receive(self, Flow* flow, int d, uint64_t ts, const uint8_t* data, size_t n) except -1:
        """Read the next bytes of a direction."""
        return 0

    cdef int lost(self, Flow* flow, int d, uint64_t ts, uint64_t n, Loss why) except -1:
        """Note `n` bytes that the capture lacks; 0: an unknown number."""
        return 0

    cdef int ended(self, Flow* flow, uint64_t ts, Ending why) except -1:
        """Note the end of the connection."""
        return 0

    cdef int give_up(self, Flow* flow) except -1:
        """Drop the held data of a connection, as the memory limit is reached."""
        return 0

    cdef int forget(self, Flow* flow) except -1:
        """Forget a connection, which gets no more bytes."""
        return 0

    cdef size_t weight(self, Flow* flow) noexcept:
        """Return the bytes of memory that the handler holds for a connection."""
        return 0

    cdef bint is_steady(self, Flow* flow) noexcept:
        """Return whether the handler waits for nothing on a connection."""
        return True

    cdef tuple dump(self, Flow* flow):
        """Return the handler's state of a connection as plain values; None without one."""
        return None

    cdef int restore(self, Flow* flow, tuple values) except -1:
        """Restore a connection from the values of `dump`."""
        return 0
