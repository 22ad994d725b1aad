# What stands above TCP.


cdef class StreamHandler:
    """What reads the bytes of connections; this one counts nothing and keeps nothing."""

    cdef int belongs(self, Flow* flow, Segment* s) except -1:
        """A packet belongs to a connection, whatever becomes of its bytes."""
        return 0

    cdef int goes_on(self, Flow* flow, int d) except -1:
        """The next bytes of a direction are those from its `next` on."""
        return 0

    cdef int receive(self, Flow* flow, int d, uint64_t ts, const uint8_t* data, size_t n) except -1:
        """The next bytes of a direction."""
        return 0

    cdef int lost(self, Flow* flow, int d, uint64_t ts, uint64_t n, Loss why) except -1:
        """Bytes that the capture lacks; 0: how many is not known."""
        return 0

    cdef int ended(self, Flow* flow, uint64_t ts, Ending why) except -1:
        """The connection is over."""
        return 0

    cdef int give_up(self, Flow* flow) except -1:
        """Let go of what waits: too much is held."""
        return 0

    cdef int forget(self, Flow* flow) except -1:
        """Let go of all: no more comes of it."""
        return 0

    cdef size_t weight(self, Flow* flow) noexcept:
        """Bytes of memory that it holds."""
        return 0

    cdef bint is_steady(self, Flow* flow) noexcept:
        """Whether it waits for nothing."""
        return True

    cdef tuple dump(self, Flow* flow):
        """What is kept of it, as plain values; None: nothing."""
        return None

    cdef int restore(self, Flow* flow, tuple values) except -1:
        """What `dump` gave."""
        return 0
