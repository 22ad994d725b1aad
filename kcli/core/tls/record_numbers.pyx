"""Finds the numbers that a protected record may have, by one byte of known contents."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    BLOCK = 16
    NONCE = 12


def likely_numbers(
    encrypt, const uint8_t[::1] iv, uint64_t first, uint32_t count, uint32_t counter, uint32_t at,
    const uint8_t[::1] known
):
    """Return those of `count` numbers with which a byte of a record decrypts to a possible value, in AES-GCM (RFC 8446,
    5.3).

    encrypt: AES of whole blocks. counter: of the block that has the byte, at `at`. known: the byte's possible values,
    each XOR the captured byte.
    """
    cdef uint8_t fits[256]
    cdef bytes blocks = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>count * BLOCK)
    cdef uint8_t* block = <uint8_t*>PyBytes_AS_STRING(blocks)
    cdef const uint8_t* stream
    cdef uint64_t base = 0, number
    cdef uint32_t i
    cdef int k
    cdef bytes made
    cdef list found = []
    memset(fits, 0, sizeof(fits))
    for i in range(known.shape[0]):
        fits[known[i]] = 1
    if iv.shape[0] != NONCE or at >= BLOCK:
        raise ValueError("a nonce of 12 bytes, and a place within a block")
    for k in range(4, NONCE):
        base = base << 8 | iv[k]
    for i in range(count):
        number = base ^ (first + i)
        memcpy(block, &iv[0], 4)
        for k in range(8):
            block[4 + k] = <uint8_t>(number >> 8 * (7 - k))
        for k in range(4):
            block[NONCE + k] = <uint8_t>(counter >> 8 * (3 - k))
        block += BLOCK
    made = encrypt(blocks)
    if len(made) != len(blocks):
        raise ValueError("whole blocks")
    stream = <const uint8_t*>PyBytes_AS_STRING(made) + at
    for i in range(count):
        if fits[stream[<size_t>i * BLOCK]]:
            found.append(first + i)
    return found
