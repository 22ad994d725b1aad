"""Any traffic, read in two ways that say the same; every byte is accounted for."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError
from kcli.pipeline.rows import sayings
from tests.fuzz.tls import folder
from tests.fuzz.traffic import traffic
from tests.oracle.captures import by_oracle, lines_of
from tests.oracle.odd import make_all_odd

__all__ = ["engines", "facts"]


def written(rng: random.Random) -> tuple[Path, bytes]:
    """A file of traffic, and its bytes."""
    data = traffic(rng)
    path = folder() / "traffic.pcap"
    path.write_bytes(data)
    return path, data


def engines(rng: random.Random) -> bytes:
    """The core and the oracle make the same lines of it."""
    path, data = written(rng)
    memory = rng.choice((1 << 28, 1 << 28, 1 << 14))
    made = lines_of([path], memory=memory)
    with by_oracle():
        expected = lines_of([path], memory=memory)
    differ(made, expected)
    return data


def differ(made: tuple[list[bytes], dict[str, int]], expected: tuple[list[bytes], dict[str, int]]) -> None:
    for pair in zip_longest(made[0], expected[0]):
        assert pair[0] == pair[1], pair
    assert made[1] == expected[1]


def facts(rng: random.Random) -> bytes:
    """The core makes the same rows of facts as Python does."""
    path, data = written(rng)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sayings, "RANDOM", 0)
        made = rows(path)
        make_all_odd(patched)
        expected = rows(path)
    for name in made | expected:
        assert made.get(name) == expected.get(name), name
    return data


def rows(path: Path) -> dict[str, list[str]]:
    """The rows of each table."""
    from kcli.diagnose.fact_source import FactSource
    from kcli.pipeline.fact_tables import FACTS
    from kcli.pipeline.tables import TABLES

    kept = Kept()
    source = FactSource([str(path)], kept, wanted=frozenset(FACTS) | frozenset(TABLES))
    with suppress(InputError):
        for _ in source.read():
            pass
    return {name: sorted(each) for name, each in kept.tables.items()}


class Kept:
    """Takes rows."""

    def __init__(self) -> None:
        self.tables: dict[str, list[str]] = {}

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        self.tables.setdefault(table, []).append(repr(row))

    def put_batch(self, table: str, batch: Any) -> None:
        if table == "fetch_frames":  # the core alone leaves records out of responses
            batch = batch.drop_columns(["response", "cuts"])
        self.tables.setdefault(table, []).extend(map(repr, batch.to_pylist()))

    def put_late(self, tables: Any) -> None:
        for name, make in tables.items():
            self.tables[name] = [*map(repr, make())]

    def flush(self) -> None:
        pass
