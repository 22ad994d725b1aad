"""Compares the reports of two sessions, one from a capture and one from a live broker."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kcli.counting import few_of
from kcli.errors import UsageError
from kcli.sessions.fetch_statistics import ResponseReport, SessionReport
from kcli.topic_names import INTERNAL

Level = Literal["strict", "shape", "none"]
LEVELS: tuple[Level, ...] = ("strict", "shape", "none")


@dataclass(frozen=True, slots=True)
class SessionDifference:
    """A difference between a live session and the captured one. fetch: its index, None for the whole session.

    partitions: names of those with other records or errors; () if the session differs
    unknown: why the capture does not show the right response; "" if it does
    """

    session: str
    what: str
    captured: Any
    live: Any
    fetch: int | None = None
    partitions: tuple[str, ...] = ()
    unknown: str = ""

    def __str__(self) -> str:
        at = f", fetch {self.fetch}" if self.fetch is not None else ""
        return f"{self.session}{at}: {self.what}: captured {self.captured}, live {self.live}"

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as a line of JSON."""
        return {
            "session": self.session,
            "fetch": self.fetch,
            "what": self.what,
            "captured": self.captured,
            "live": self.live,
            **({"reason": self.unknown} if self.unknown else {}),
        }


def compare(captured: SessionReport, live: SessionReport, level: Level = "shape") -> list[SessionDifference]:
    """Return the differences of a live session from the captured one. Raises UsageError for an unknown level.

    shape: both have the same kinds of fetches over the same partitions, a session where there was one, records of each
      partition that had any, and no error or session fault that the capture does not have. Sizes, timing, the number of
      partitions in a response and the effects of a full session cache (no session, error 70) may differ.
    strict: each response also has the same error, and the same partitions with the same errors and bytes
    none: nothing is compared
    """
    if level not in LEVELS:
        raise UsageError(f"{level}: no level of comparison (there are: {', '.join(LEVELS)})")
    if level == "none":
        return []
    found = list(compare_shape(captured, live))
    if level == "strict":
        found += compare_responses(captured, live)
    return found


def compare_shape(captured: SessionReport, live: SessionReport) -> Iterable[SessionDifference]:
    """Yield the differences in shape: kinds of fetches, errors, requested partitions, partitions without records. A
    better live session is no difference.
    """
    label = captured.label
    for kind in ("full", "incremental", "close"):
        if captured.kinds[kind] != live.kinds[kind]:
            yield SessionDifference(label, f"{kind} fetches", captured.kinds[kind], live.kinds[kind])
    if captured.granted and not live.granted:
        yield SessionDifference(label, "sessions granted", captured.granted, live.granted)
    for name in sorted(live.errors.keys() - captured.errors.keys()):
        yield SessionDifference(label, f"responses with {name}", 0, live.errors[name])
    for partition, name in sorted(live.partition_errors.keys() - captured.partition_errors.keys()):
        yield SessionDifference(label, f"{name} of {partition}", 0, live.partition_errors[partition, name])
    if captured.wanted != live.wanted:
        only = sorted(captured.wanted - live.wanted), sorted(live.wanted - captured.wanted)
        yield SessionDifference(label, "partitions requested by one side only", shown(only[0]), shown(only[1]))
    silent = sorted(captured.delivered.keys() - live.delivered.keys())
    internal = [name for name in silent if is_internal(name)]
    for names in ([name for name in silent if name not in internal], internal):
        if names:
            size = sum(captured.delivered[name] for name in names)
            yield SessionDifference(label, f"records of {shown(names)}", size, 0, partitions=tuple(names))
    if live.lost > captured.lost:
        yield SessionDifference(label, "fetches without a response", captured.lost, live.lost)


def compare_responses(captured: SessionReport, live: SessionReport) -> Iterable[SessionDifference]:
    for number, (one, other) in enumerate(zip(captured.responses, live.responses, strict=False)):
        if (one.kind, one.error) != (other.kind, other.error):
            yield SessionDifference(
                captured.label, "kind and error", (one.kind, one.error), (other.kind, other.error), number
            )
        elif one.in_session != other.in_session:
            yield SessionDifference(captured.label, "in a session", one.in_session, other.in_session, number)
        else:
            yield from compare_partitions(captured.label, number, one, other)


def compare_partitions(
    label: str, number: int, one: ResponseReport, other: ResponseReport
) -> Iterable[SessionDifference]:
    ones = {part.name: (part.error, part.records_bytes) for part in one.partitions}
    others = {part.name: (part.error, part.records_bytes) for part in other.partitions}
    if ones.keys() != others.keys():
        only = sorted(ones.keys() - others.keys()), sorted(others.keys() - ones.keys())
        names = (*only[0], *only[1])
        yield SessionDifference(label, "partitions of one response only", shown(only[0]), shown(only[1]), number, names)
    for name in sorted(ones.keys() & others.keys()):
        if ones[name] != others[name]:
            yield SessionDifference(label, f"error and bytes of {name}", ones[name], others[name], number, (name,))


def is_internal(partition: str) -> bool:
    """Return whether a partition, by its name ("orders[0]"), is of a topic that only brokers write to."""
    return partition.rpartition("[")[0] in INTERNAL


def shown(names: Sequence[str]) -> str:
    """Return the first names as a text; "none" for an empty list."""
    return few_of(names) if names else "none"
