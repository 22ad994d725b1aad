"""Findings of traffic that still goes on, each when it first appears."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from kcli.diagnose.diagnosis import Scope, judge
from kcli.diagnose.facts.source import FactSource
from kcli.diagnose.rule import Finding
from kcli.diagnose.store import FactStore
from kcli.errors import InputError

EVERY_S = 5.0  # between two judgements, or so many times as long as the last one took
SHARE = 10
KEPT_S = 900.0  # facts of exchanges are judged for so long, and then go


def follow(paths: Sequence[str], scope: Scope, every: float = EVERY_S, **options: Any) -> Iterator[Finding]:
    """Yield each finding of files that are still being written when it first appears, and what the end shows.

    every: seconds between two judgements. options: of DecodeOptions. InputError at the end for damaged files.
    """
    told: set[tuple[Any, ...]] = set()
    with FactStore() as store:
        source = FactSource(paths, store, **options)
        due = time.monotonic() + every
        emptied = time.monotonic()
        damage: InputError | None = None
        try:
            for _ in source.read():
                began = time.monotonic()
                if began < due:
                    continue
                source.put_all()
                yield from news(store, paths, scope, told)
                if began - emptied > KEPT_S:
                    store.empty()
                    emptied = began
                due = time.monotonic() + max(every, SHARE * (time.monotonic() - began))
        except InputError as error:
            damage = error
        yield from news(store, paths, scope, told)
        if damage is not None:
            raise damage


def news(store: FactStore, paths: Sequence[str], scope: Scope, told: set[tuple[Any, ...]]) -> Iterator[Finding]:
    """Yield the findings that were not told before."""
    found = judge(store, paths, scope, None).findings
    store.forget()
    for each in found:
        key = each.finding, *((kind, one_of(name)) for kind, name in sorted(each.subject.items()))
        if key not in told:
            told.add(key)
            yield each


def one_of(name: Any) -> str:
    """A name, of several the first: more clients of one trouble are no other finding."""
    return str(name[0] if isinstance(name, list) else name)
