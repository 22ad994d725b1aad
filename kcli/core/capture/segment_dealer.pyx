"""Deals TCP segments out to the processes that read a capture together: one reads the files, each a share of the
connections.

Each process gets every segment, so that all have the same counts and the same clock: whole segments for its own
connections, and only the time (8 bytes) for others. Connections are in buckets by the hash of their ends. A bucket's
process is chosen with its first segment: the one with the least work so far. Once all buckets have a process the work
is no longer balanced, so there are many buckets.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from kcli.core.capture.packets cimport Segment, hash_ends

__all__ = ["SegmentDealer"]

cdef enum:
    BUCKETS = 1 << 20       # 1 MB of memory
    NOBODY = 255
    MOST = 64               # processes
    PACKET = 64             # the cost of a packet, in bytes
    SHARE = 5               # the initial `first_share`
    MOST_SHARE = 64


@cython.final
cdef class SegmentDealer:
    """Deals segments out to `count` processes, of which the first deals. full: a room was too small, so other processes
    lack segments.

    first_share: the first process's other work, in sixteenths of the time for reading all connections.
    """

    def __cinit__(self, int count):
        if not 0 < count <= MOST:
            raise ValueError(f"{count} processes: 1 to {MOST} can share the work")
        self.count, self.rooms, self.first_share = count, [], SHARE
        self.hands = <Hand*>calloc(count, sizeof(Hand))
        self.loads = <uint64_t*>calloc(count, sizeof(uint64_t))
        self.owners = <uint8_t*>malloc(BUCKETS)
        if self.hands == NULL or self.loads == NULL or self.owners == NULL:
            raise MemoryError
        memset(self.owners, NOBODY, BUCKETS)

    def __dealloc__(self):
        free(self.hands)
        free(self.loads)
        free(self.owners)

    def open(self, rooms):
        """Write the next segments to these rooms, one for each process but the first; they are writable and aligned to
        8 bytes.
        """
        cdef uint8_t[::1] room
        cdef int i
        if len(rooms) != self.count - 1:
            raise ValueError(f"{len(rooms)} rooms for {self.count - 1} processes")
        self.rooms = [memoryview(each) for each in rooms]
        for i in range(1, self.count):
            room = self.rooms[i - 1]
            self.hands[i].start = self.hands[i].at = &room[0]
            self.hands[i].end = &room[0] + room.shape[0]

    def sizes(self):
        """Return the bytes written to each room."""
        return [self.hands[i].at - self.hands[i].start for i in range(1, self.count)]

    def balance(self, spent):
        """Change `first_share` by a step. spent: processor time of each process in the same period."""
        cdef int step = len(spent) > 1 and (spent[0] * (len(spent) - 1) > sum(spent[1:])) * 2 - 1
        self.first_share = max(0, min(self.first_share + step, MOST_SHARE))

    cdef int deal(self, const Segment* s) noexcept:
        """Deal out a segment; return the number of its process."""
        cdef uint32_t bucket = hash_ends(&s.ends) >> 40 & (BUCKETS - 1)
        cdef int owner = self.owners[bucket], i
        cdef uint64_t cost = s.captured + PACKET
        if owner == NOBODY:
            owner = self.owners[bucket] = <uint8_t>least_loaded(self.loads, self.count)
        self.loads[owner] += cost
        self.loads[0] += cost * self.first_share >> 4
        for i in range(1, self.count):
            if not put(&self.hands[i], s, i == owner):
                self.full = True
        return owner


cdef inline bint put(Hand* hand, const Segment* s, bint whole) noexcept:
    """Write a segment to a room, or only its time unless `whole`. Return False if there is no room."""
    cdef size_t size = sizeof(Dealt) + padded(s.captured) if whole else sizeof(uint64_t)
    cdef Dealt* dealt = <Dealt*>hand.at
    if <size_t>(hand.end - hand.at) < size:
        return False
    dealt.ts = s.ts
    if whole:
        dealt.ts |= DEALT
        dealt.ends, dealt.sender = s.ends, <uint32_t>s.sender
        dealt.seq, dealt.ack, dealt.flags, dealt.path = s.seq, s.ack, s.flags, s.path
        dealt.captured, dealt.length = s.captured, s.length
        memcpy(dealt + 1, s.data, s.captured)
    hand.at += size
    return True


cdef int least_loaded(const uint64_t* loads, int count) noexcept:
    """Return the process with the least load, the last of several, as the first process has the other work, too."""
    cdef int found = 0, i
    for i in range(1, count):
        if loads[i] <= loads[found]:
            found = i
    return found
