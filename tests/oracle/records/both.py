"""The same bytes through both kinds of kernels."""

import random
from collections.abc import Iterator

from tests.records.vectors import bad, good

__all__ = ["damaged", "inputs"]


def inputs() -> list[bytes]:
    cases = [case.data for case in (*good(), *bad())]
    old = [case.converted[1] for case in good() if isinstance(case.converted[1], bytes)]
    return [data for data in (*cases, *old) if data and len(data) < 6000]


def damaged(seed: int, count: int) -> Iterator[bytes]:
    chance, segments = random.Random(seed), inputs()
    for _ in range(count):
        data = bytearray(chance.choice(segments))
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        for _ in range(chance.choice((1, 1, 2, 5))):
            if data:
                data[chance.randrange(len(data))] = chance.choice((0, 127, 128, 255, chance.randrange(256)))
        yield bytes(data)
