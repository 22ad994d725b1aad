# The state of each partition of a session.


# The requested position in a partition, as trace.Asked.
cdef struct Position:
    int64_t offset, log_start
    int32_t max_bytes, leader_epoch, last_fetched_epoch


cdef class PartitionState:
    """A partition of a session.

    asked: the fetcher's last position; None if the capture has not shown it. high, stable, start: as the broker last
    reported (-1: nothing, or an error since); informed: whether these are known. delivered: records came since the
    position was sent; ever: at any time; skipped: responses without its records. answered: the number of the session's
    last fetch whose response has it; late: by that response it has more records.
    """

    # Small, as there are many, and each fetch uses a few of them, far apart.
    cdef public int64_t high, stable, start
    cdef Position position
    cdef public int32_t answered
    cdef uint32_t asked_in, reported_in     # the kernel's last exchange that named it
    cdef uint32_t mark                  # its place among the marks, from 1 on; 0: unknown so far
    cdef public unsigned char informed, delivered, ever, redirected, late, skipped
    cdef unsigned char placed, will_be_late

    def __init__(self, asked, bint informed):
        self.asked = asked
        self.informed = informed
        self.high = self.stable = self.start = self.answered = -1

    @property
    def asked(self):
        if not self.placed:
            return None
        cdef Position* at = &self.position
        return (at.offset, at.log_start, at.max_bytes, at.leader_epoch, at.last_fetched_epoch)

    @asked.setter
    def asked(self, value):
        self.placed = value is not None
        cdef Position* at = &self.position
        if value is not None:
            at.offset, at.log_start, at.max_bytes, at.leader_epoch, at.last_fetched_epoch = value

    cdef bint behind_at(self, int64_t offset, int64_t isolation) noexcept:
        if not self.placed or not self.informed or self.redirected:
            return False
        return offset < (self.high if isolation == 0 or self.stable > self.high else self.stable)

    def is_behind(self, int64_t isolation):
        return self.behind_at(self.position.offset, isolation)

    def is_news(self, reported):
        error, high, _, start, size, preferred, diverging = reported
        return bool(size or error or high != self.high or start != self.start or preferred >= 0 or diverging)

    def note(self, reported, int64_t number):
        error, high, stable, start, size, preferred, _ = reported
        self.informed = True
        self.high = -1 if error else high
        self.stable = -1 if error else stable
        self.start = start
        self.redirected = preferred >= 0
        self.answered = number
        self.skipped = 0
        if size:
            self.delivered = self.ever = True
