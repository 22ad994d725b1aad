"""A compact set of hashes, to tell whether a value was met before without keeping it."""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

cdef extern from "place.h" nogil:
    uint64_t place "kc_place"(uint64_t a, uint64_t b)

__all__ = ["HashSet"]


cdef class HashSet:
    """A set of 64-bit hashes with 16 bytes for each; add(hash) returns whether it was there already."""

    cdef uint64_t* slots
    cdef size_t capacity, used
    cdef bint zero

    def __cinit__(self):
        self.capacity = 1024
        self.used = 0
        self.zero = False
        self.slots = <uint64_t*>calloc(self.capacity, sizeof(uint64_t))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.slots)

    def __len__(self):
        return self.used + self.zero

    def add(self, int64_t value):
        cdef uint64_t key = <uint64_t>value
        if key == 0:
            before = self.zero
            self.zero = True
            return before
        if self.used * 2 >= self.capacity:
            self.grow()
        if not put(self.slots, self.capacity, key):
            return True
        self.used += 1
        return False

    cdef int grow(self) except -1:
        cdef size_t index, wider = self.capacity * 2
        cdef uint64_t* slots = <uint64_t*>calloc(wider, sizeof(uint64_t))
        if slots == NULL:
            raise MemoryError
        for index in range(self.capacity):
            if self.slots[index]:
                put(slots, wider, self.slots[index])
        free(self.slots)
        self.slots = slots
        self.capacity = wider
        return 0


cdef bint put(uint64_t* slots, size_t capacity, uint64_t key) noexcept nogil:
    """Put a key into a table with room; return False if it is there already."""
    cdef size_t at = place(key, 0) & (capacity - 1)
    while slots[at]:
        if slots[at] == key:
            return False
        at = (at + 1) & (capacity - 1)
    slots[at] = key
    return True
