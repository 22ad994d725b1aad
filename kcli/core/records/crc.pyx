"""The two checksums of record batches: CRC-32 (magic 0 and 1) and CRC-32C (magic 2)."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t, uint32_t


cdef extern from "crc.h" nogil:
    int kc_crc_level
    void kc_crc_setup(int most)
    uint32_t kc_crc32(uint32_t crc, const uint8_t* data, size_t size)
    uint32_t kc_crc32c(uint32_t crc, const uint8_t* data, size_t size)


kc_crc_setup(3)


def crc32(data, uint32_t value=0):
    """Compute the CRC-32 of a buffer; value: the checksum of the bytes before."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            value = kc_crc32(value, <const uint8_t*> view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    return value


def crc32c(data, uint32_t value=0):
    """Compute the CRC-32C of a buffer; value: the checksum of the bytes before."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            value = kc_crc32c(value, <const uint8_t*> view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    return value


def use_level(int most):
    """Use at most tables (0), folds of 16 bytes (1), of 32 (2) or the highest level (3); return the level in use. For
    tests.
    """
    kc_crc_setup(most)
    return kc_crc_level
