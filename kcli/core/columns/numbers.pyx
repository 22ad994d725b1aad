"""Numbers of a dictionary's texts, by row."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t

ctypedef fused Number:
    uint16_t
    uint32_t


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
