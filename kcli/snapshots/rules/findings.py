"""Findings of `verify`, and the registry of its rules.

A rule is a function that yields findings on the evidence, registered under a name. An error: Kafka would refuse the
file, misread it, or load another state than was written. A note is unusual but valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from kcli.snapshots.rules.evidence import Evidence, Noted


@dataclass(frozen=True, slots=True)
class SnapshotFinding:
    """offset: byte position in the file, or with `record` a record's offset; None: the file as a whole."""

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
    """Make a decorator that puts a rule among `rules`."""

    def named(name: str) -> Callable[[R], R]:
        """Register a rule under the name that its findings carry."""
        return lambda function: rules.setdefault(name, function)

    return named


rule = registering(RULES)


def more(noted: Noted, shown: int = 5) -> str:
    """Return " (and 12 more like it)" for the findings not shown."""
    return f" (and {noted.count - shown:,} more like it)" if noted.count > shown else ""
