"""Damage: bytes flipped, put in, taken out, repeated, cut off; from a seed, so that a finding can be had again."""

import random

__all__ = ["damaged"]

TELLING = (0, 1, 2, 0x7F, 0x80, 0x81, 0xFF)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data with one to four wounds."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if made:
            rng.choice(WOUNDS)(made, rng.randrange(len(made)), rng)
    return bytes(made)


def flip(data: bytearray, at: int, rng: random.Random) -> None:
    data[at] = rng.choice((*TELLING, rng.randrange(256)))


def put_in(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = bytes(rng.choice(TELLING) for _ in range(rng.randint(1, 4)))


def take_out(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at : at + rng.randint(1, 8)]


def repeat(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = data[at : at + rng.randint(1, 64)]


def overwrite(data: bytearray, at: int, rng: random.Random) -> None:
    """Four bytes that read as a length: huge, negative, or a little off."""
    value = rng.choice((0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, len(data), len(data) * 2, 0))
    data[at : at + 4] = value.to_bytes(4, "big")


def cut(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at:]


WOUNDS = (flip, flip, flip, put_in, take_out, repeat, overwrite, cut)
