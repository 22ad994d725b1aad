"""What `verify` reports, and the registry of its rules.

A rule is a function of the evidence that yields findings, registered under a name. Errors are what Kafka would refuse,
misread, or load as something else than was written; notes are unusual, and lawful.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kcli.snapshots.evidence import Evidence, Noted

__all__ = ["RULES", "SnapshotFinding", "more", "rule"]


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
        """Whether it is an error, and not a note."""
        return self.severity == "error"


Judged = tuple[str, int | None, str]  # severity, offset, message
Rule = Callable[[Evidence], Iterator[Judged]]
RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Register a rule under the name that its findings carry."""

    def register(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return register


def more(noted: Noted, shown: int = 5) -> str:
    """ " (and 12 more)" behind the last one shown."""
    return f" (and {noted.count - shown:,} more like it)" if noted.count > shown else ""
