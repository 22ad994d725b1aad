"""The checksum of IP and TCP (RFC 1071). Reference: kcli.capture.io.packet_writing."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy


def sum_of(data):
    """Return the sum of the big-endian 16-bit words modulo 2^16 - 1 (RFC 1071); an odd last byte is padded with a zero.
    """
    cdef Py_buffer view
    cdef uint64_t total
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            total = words_of(<const uint8_t*> view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    return total


cdef uint64_t words_of(const uint8_t* data, size_t size) noexcept nogil:
    """Return the sum of words in the machine's byte order, four bytes at a time, swapped at the end (RFC 1071,
    2(B)).
    """
    cdef uint64_t total = 0
    cdef uint32_t word
    cdef uint8_t last[4]
    cdef size_t at = 0
    while at + 4 <= size:
        memcpy(&word, data + at, 4)
        total += word
        at += 4
    if at < size:
        last[0] = last[1] = last[2] = last[3] = 0
        memcpy(last, data + at, size - at)
        memcpy(&word, last, 4)
        total += word
    total %= 0xFFFF
    word = 1
    if (<uint8_t*> &word)[0]:
        total = (total << 8 | total >> 8) & 0xFFFF
    return total % 0xFFFF
