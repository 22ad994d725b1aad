"""Finds the number of a protected record (see record_numbers.pyx)."""

from collections.abc import Callable

def likely_numbers(
    encrypt: Callable[[bytes], bytes], iv: bytes, first: int, count: int, counter: int, at: int, known: bytes
) -> list[int]:
    """Return those of `count` numbers, from `first` on, with which a byte of a record decrypts to a possible value; see
    the core.
    """
