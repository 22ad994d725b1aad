"""Numbers of texts: of all that were given, and by row those of a dictionary's texts."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy

from kcli.core.codec.interner cimport text_place

ctypedef fused Number:
    uint16_t
    uint32_t

cdef enum:
    SLOTS = 1 << 6  # of the first table


cdef class TextNumbers:
    """Numbers texts from 1 in order of arrival, in little more memory than the texts take."""

    cdef uint8_t* data  # all texts
    cdef uint64_t* ends  # in `data`: of each text, after a 0
    cdef uint32_t* slots  # numbers by place, with open addressing; at most two thirds are used
    cdef uint64_t size, room
    cdef size_t ends_room, mask
    cdef readonly size_t count

    def __cinit__(self):
        self.data, self.ends, self.slots = NULL, NULL, NULL
        self.size = self.room = self.ends_room = self.mask = self.count = 0

    def __dealloc__(self):
        free(self.data)
        free(self.ends)
        free(self.slots)

    def put(self, const int32_t[::1] ends, const uint8_t[::1] texts, uint32_t[::1] made):
        """Write the numbers of texts into `made`. ends: of each text in `texts`, after the start of the first. Raises
        IndexError for ends beyond the texts.
        """
        cdef Py_ssize_t i
        cdef int32_t most = <int32_t>texts.shape[0]
        for i in range(ends.shape[0] - 1):
            if not 0 <= ends[i] <= ends[i + 1] <= most:
                raise IndexError(ends[i + 1])
            made[i] = self.number(&texts[0] + ends[i] if most else NULL, ends[i + 1] - ends[i])

    def texts(self, size_t first, size_t last):
        """Return (the int32 ends of the texts, after a 0; the texts) of numbers `first` to `last`. Raises IndexError
        for a number that no text has.
        """
        cdef size_t i
        cdef bytes made
        if not 0 < first <= last <= self.count:
            raise IndexError(last)
        made = PyBytes_FromStringAndSize(NULL, (last - first + 2) * sizeof(int32_t))
        cdef int32_t* ends = <int32_t*><char*>made
        for i in range(last - first + 2):
            ends[i] = <int32_t>(self.ends[first - 1 + i] - self.ends[first - 1])
        return made, PyBytes_FromStringAndSize(<char*>self.data + self.ends[first - 1], ends[last - first + 1])

    def last_within(self, size_t first, uint64_t most):
        """Return the last number whose text, with those of all numbers from `first` on, takes at most this many bytes;
        at least `first`.
        """
        cdef size_t last = first
        while last < self.count and self.ends[last + 1] - self.ends[first - 1] <= most:
            last += 1
        return last

    cdef uint32_t number(self, const uint8_t* text, size_t size) except 0:
        cdef size_t at
        cdef uint32_t found
        cdef uint64_t start
        if self.count * 3 >= self.mask * 2:
            self.widen()
        at = text_place(text, size) & self.mask
        while self.slots[at]:
            found = self.slots[at]
            start = self.ends[found - 1]
            if self.ends[found] - start == size and (not size or not memcmp(self.data + start, text, size)):
                return found
            at = (at + 1) & self.mask
        if self.count + 1 >= 1 << 32:
            raise MemoryError
        self.add(text, size)
        self.slots[at] = <uint32_t>self.count
        return <uint32_t>self.count

    cdef int add(self, const uint8_t* text, size_t size) except -1:
        cdef uint8_t* data
        cdef uint64_t* ends
        cdef uint64_t room
        if self.size + size > self.room:
            room = (self.size + size) * 3 // 2 + 64
            data = <uint8_t*>realloc(self.data, room)
            if data == NULL:
                raise MemoryError
            self.data, self.room = data, room
        if self.count + 2 > self.ends_room:
            room = self.count * 3 // 2 + 64
            ends = <uint64_t*>realloc(self.ends, room * sizeof(uint64_t))
            if ends == NULL:
                raise MemoryError
            self.ends, self.ends_room = ends, room
        self.ends[0] = 0
        if size:
            memcpy(self.data + self.size, text, size)
        self.size += size
        self.count += 1
        self.ends[self.count] = self.size
        return 0

    cdef int widen(self) except -1:
        cdef size_t mask = 2 * self.mask + 1 if self.mask else SLOTS - 1
        cdef size_t i, at
        cdef uint32_t* slots = <uint32_t*>calloc(mask + 1, sizeof(uint32_t))
        if slots == NULL:
            raise MemoryError
        for i in range(1, self.count + 1):
            at = text_place(self.data + self.ends[i - 1], self.ends[i] - self.ends[i - 1]) & mask
            while slots[at]:
                at = (at + 1) & mask
            slots[at] = <uint32_t>i
        free(self.slots)
        self.slots, self.mask = slots, mask
        return 0


def put_numbers(
    const Number[::1] numbers, const int32_t[::1] places, const uint8_t[::1] there, Py_ssize_t offset, Number[::1] made
):
    """Write the number for each row into `made`. places: each row's index in `numbers`. there: a validity bitmap, from
    bit `offset` on; rows without a bit get 0; None: all rows are valid. Raises IndexError for an index beyond the
    numbers.
    """
    cdef Py_ssize_t i, bit
    cdef size_t count = numbers.shape[0]
    for i in range(places.shape[0]):
        bit = i + offset
        if there is not None and not there[bit >> 3] >> (bit & 7) & 1:
            made[i] = 0
        elif <size_t>places[i] < count:
            made[i] = numbers[places[i]]
        else:
            raise IndexError(places[i])
