# Latencies in steps that grow with them, and bytes over time.

cdef enum:
    CELLS = 40            # of a timeline


cdef class Histogram:
    """Counts of values (ns) in logarithmic steps, sixteen for each doubling."""

    cdef public int64_t count, most
    cdef uint32_t* cells
    cdef int room

    def __init__(self):
        pass

    def __dealloc__(self):
        free(self.cells)

    cpdef int add(self, int64_t ns) except -1:
        cdef int shift = 0, step, room
        cdef uint32_t* grown
        cdef int64_t rest
        if ns < 0:
            ns = 0
        self.count += 1
        if ns > self.most:
            self.most = ns
        rest = ns
        while rest > 31:
            rest >>= 1
            shift += 1
        step = (shift << 4) + (rest & 15) if shift else <int>(ns >> 1)
        if step >= self.room:
            room = (step // 64 + 1) * 64
            grown = <uint32_t*>realloc(self.cells, room * sizeof(uint32_t))
            if grown == NULL:
                raise MemoryError
            memset(grown + self.room, 0, (room - self.room) * sizeof(uint32_t))
            self.cells, self.room = grown, room
        self.cells[step] += 1
        return 0

    @property
    def steps(self):
        return {step: self.cells[step] for step in range(self.room) if self.cells[step]}

    @steps.setter
    def steps(self, dict value):
        free(self.cells)
        self.room = (max(value, default=0) // 64 + 1) * 64
        self.cells = <uint32_t*>calloc(self.room, sizeof(uint32_t))
        if self.cells == NULL:
            raise MemoryError
        for step, count in value.items():
            self.cells[step] = count


cdef class Timeline:
    """Bytes and full fetches over time, in at most 40 cells of `width` ns; a later time merges cells in pairs."""

    cdef readonly int64_t width, start
    cdef int64_t size[CELLS]
    cdef int64_t whole[CELLS]
    cdef int used

    def __init__(self):
        self.width, self.start, self.used = 1000000, -1, 1

    cpdef int add(self, int64_t ns, int64_t size, bint full) except -1:
        cdef int64_t at
        if self.start < 0:
            self.start = ns
        at = (ns - self.start) // self.width if ns > self.start else 0
        while at >= CELLS:
            self.halve()
            at //= 2
        if at >= self.used:
            self.used = at + 1
        self.size[at] += size
        self.whole[at] += full
        return 0

    cdef void halve(self) noexcept:
        cdef int i
        for i in range(CELLS // 2):
            self.size[i] = self.size[2 * i] + self.size[2 * i + 1]
            self.whole[i] = self.whole[2 * i] + self.whole[2 * i + 1]
        memset(&self.size[CELLS // 2], 0, CELLS // 2 * sizeof(int64_t))
        memset(&self.whole[CELLS // 2], 0, CELLS // 2 * sizeof(int64_t))
        self.width *= 2
        self.used = (self.used + 1) // 2

    @property
    def bytes(self):
        return [self.size[i] for i in range(self.used)]

    @property
    def full(self):
        return [self.whole[i] for i in range(self.used)]
