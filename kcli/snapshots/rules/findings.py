"""Findings of `verify`, and the registry of its rules.

A rule is a function that yields findings on the evidence, registered under a name. A finding is an error if Kafka would
refuse the file, misread it, or load another state than was written. A note is unusual but valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from kcli.snapshots.rules.evidence import Evidence, Noted


@dataclass(frozen=True, slots=True)
class SnapshotFinding:
    """A finding of `verify`. offset: byte position in the file; None: the finding is about the file as a whole or a
    record, which the message names.
    """

    severity: str
    rule: str
    message: str
    offset: int | None = None
    file: str = ""

    @property
    def is_error(self) -> bool:
        """Return whether the finding is an error, and not a note."""
        return self.severity == "error"


Judged = tuple[str, int | None, str]  # severity, offset, message
Rule = Callable[[Evidence], Iterator[Judged]]
RULES: dict[str, Rule] = {}
R = TypeVar("R")


def registering(rules: dict[str, R]) -> Callable[[str], Callable[[R], R]]:
    """Return a decorator factory: `rule(name)` registers the function as a rule in `rules`."""

    def named(name: str) -> Callable[[R], R]:
        """Return a decorator that registers a rule under the name that its findings have."""
        return lambda function: rules.setdefault(name, function)

    return named


rule = registering(RULES)


def more(noted: Noted, shown: int = 5) -> str:
    """Return " (and 12 more like it)" if more than `shown` were noted, else ""."""
    return f" (and {noted.count - shown:,} more like it)" if noted.count > shown else ""
