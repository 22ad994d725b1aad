# Partitions counted by state while a log changes them.

DEF STATES = 3                    # bits of `kc_short_facts`: lacking replicas, without leader, moving


cdef class StateCounts:
    """Partitions in each state, while a log is replayed.

    counts: now, of those under-replicated, without leader and reassigning; most: at one time since `begin`. moves:
    {(topic id, partition): [number of changes to another leader or none, `time` of the last one]}. records, size: of
    the PartitionChangeRecords that the kernel applied since `begin`, and their bytes. time: an object, set by the
    caller for the following records.
    """

    cdef int64_t[STATES] now, top
    cdef readonly dict moves
    cdef readonly int64_t records, size
    cdef public object time

    def __cinit__(self, counts not None):
        cdef int state
        for state in range(STATES):
            self.now[state] = self.top[state] = counts[state]
        self.moves = {}
        self.records = self.size = 0
        self.time = None

    @property
    def counts(self):
        return [self.now[state] for state in range(STATES)]

    @property
    def most(self):
        return [self.top[state] for state in range(STATES)]

    def begin(self):
        """Begin to count records and the most partitions anew."""
        self.top = self.now
        self.records = self.size = 0

    cpdef int shift(self, int before, int after) except -1:
        """Count a partition whose state changes. before, after: bits in the order of `counts`."""
        cdef int state
        if before == after:
            return 0
        for state in range(STATES):
            self.now[state] += ((after >> state) & 1) - ((before >> state) & 1)
            if self.now[state] > self.top[state]:
                self.top[state] = self.now[state]
        return 0

    cpdef int move(self, bytes topic, int32_t partition) except -1:
        """Count a change of a partition's leader, or its loss."""
        cdef list row = self.moves.setdefault((topic, partition), [0, None])
        row[0] += 1
        row[1] = self.time
        return 0
