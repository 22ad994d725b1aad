"""A finding of diagnose or of `snapshot doctor`: the fault, its subject, its evidence, and advice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from kcli.jsontext import loads

CRITICAL, WARNING, INFO = "critical", "warning", "info"
SEVERITIES = (CRITICAL, WARNING, INFO)


@dataclass(slots=True)
class Finding:
    """finding: its id; subject: {"node": id, ...}; evidence: figures by name; advice: what to do, with commands.

    weight: sorts findings of one severity, the heaviest first. cause: the finding that explains this one. spares: ids
    of findings that this one does not explain, though others with its id do. stands: ids of findings that do not
    explain this one, though they explain others with its id. explains: ids of findings that were reported before, in
    live traffic, and that this one explains.
    """

    finding: str
    severity: str
    subject: dict[str, Any]
    evidence: dict[str, Any]
    advice: str
    text: str = field(default="", compare=False)
    ruled_out: str = ""
    see: str = ""
    source: str = ""
    weight: float = 0.0
    cause: Finding | None = field(default=None, compare=False, repr=False)
    spares: tuple[str, ...] = ()
    stands: tuple[str, ...] = ()
    explains: Sequence[str] = field(default=(), compare=False)

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Finding:
        """Return the finding in a row of the pipeline's table `findings`."""
        values = {each.name: row[each.name] for each in fields(cls) if row.get(each.name) is not None}
        return cls(**values | {name: loads(row[name]) for name in ("subject", "evidence")})

    @property
    def explained_by(self) -> str | None:
        """The id of the finding that explains this one."""
        return None if self.cause is None else self.cause.finding

    @property
    def first_cause(self) -> Finding:
        """The first of the chain of findings that explain this one, each the next; this one if none does."""
        chain = [self]
        while (cause := chain[-1].cause) is not None and all(cause is not each for each in chain):
            chain.append(cause)
        return chain[-1]

    def names(self, kind: str) -> list[str]:
        """Return the names of a kind in the subject."""
        named = self.subject.get(kind, [])
        return [*map(str, named if isinstance(named, list) else [named])]

    def row(self) -> dict[str, Any]:
        """Return the finding as a JSON object, without its text."""
        return self.members("finding", "severity", "subject", "evidence", "advice")

    def as_json(self) -> dict[str, Any]:
        """Return the finding as a JSON object, with its text and source."""
        more = self.members("ruled_out", "see", "source") | {"explains": [*self.explains]}
        return self.members("finding", "severity", "subject", "evidence", "text", "advice") | {
            name: value for name, value in more.items() if value
        }

    def members(self, *names: str) -> dict[str, Any]:
        """Return these attributes by name."""
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A part of captures that no rule can judge. what: in words, with counts. remedy: what to do about it. see: a
    command that shows more; "": none. unread: it has exchanges that could not be read.
    """

    what: str
    remedy: str
    see: str = ""
    unread: bool = False


def gravest_first(found: Iterable[Finding]) -> list[Finding]:
    """Sort findings by severity, and keep the order within one severity."""
    return sorted(found, key=lambda each: SEVERITIES.index(each.severity))
