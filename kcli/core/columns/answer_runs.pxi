# Runs of responses about a partition with the same result, by which leader changes are found.

cdef enum:
    NO_LEADER = 6         # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH
    FENCED = 74
    GENERATIONS = 1 << 12 # of runs that ended at once


# Responses of one kind about one partition on one connection, in a row.
cdef struct Run:
    int64_t link, client, api, topic, partition, error, first_request, first, last, answers, hint_leader, hint_server


cdef class AnswerRuns:
    """Runs of responses, one row each; open runs may continue. An error ends all runs: the next response on any
    connection begins another run, as the client may continue there.
    """

    cdef Map open
    cdef Out rows
    cdef uint64_t generation

    def __dealloc__(self):
        map_free(&self.open)
        out_free(&self.rows)

    cdef int put(
        self, Partitions partitions, uint64_t link, uint64_t client, int64_t api, int64_t ts, int64_t answered
    ) except -1:
        """Count the responses without an error, and those with a leadership error. link, client: numbers."""
        cdef size_t i
        cdef uint64_t at, a, b
        cdef Part* part
        cdef Run made
        cdef Run* run
        cdef bint failed = False
        for i in range(partitions.count):
            part = &partitions.parts[i]
            made.error = part.columns[ERROR] if part.reported else 0
            if made.error:
                if not is_of_leadership(made.error):
                    continue
                failed = True
            a = link << 32 | <uint64_t>(part.id or part.name)
            b = self.generation << 52 | client << 33 | <uint64_t>api << 32 | <uint32_t>part.columns[INDEX]
            at = map_find(&self.open, a, b)
            if at:
                run = <Run*>self.rows.data + at - 1
                if run.error == made.error:
                    run.topic = part.name or run.topic
                    run.last = answered
                    run.answers += 1
                    continue
            made.link, made.client, made.api, made.topic = link - 1, <int64_t>client - 1, api, part.name or part.id
            made.partition = part.columns[INDEX]
            made.first_request, made.first, made.last, made.answers = ts, answered, answered, 1
            made.hint_leader = part.columns[LEADER] if made.error and part.columns[LEADER] != MISSING else -1
            made.hint_server = partitions.endpoint(made.hint_leader) if made.error else 0
            if out_put(&self.rows, &made, sizeof(made)) or map_put(&self.open, a, b, self.rows.size // sizeof(made)):
                raise MemoryError
        if failed:
            self.end()
        return 0

    cdef void end(self) noexcept:
        self.generation += 1
        if self.generation == GENERATIONS:
            map_free(&self.open)
            self.generation = 0

    cdef size_t count(self) noexcept:
        return self.rows.size // sizeof(Run)

    cdef void forget(self) noexcept:
        """Forget all runs, which have ended."""
        map_free(&self.open)


cdef inline bint is_of_leadership(int64_t error) noexcept:
    return error == NO_LEADER or error == FENCED
