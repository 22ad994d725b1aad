"""Compares a replay with its capture: a report for each fetcher and run, and their differences."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kcli.replay.sessions.live_fetch import LiveFetch
from kcli.replay.sessions.plan import Fetcher
from kcli.replay.sessions.runner import Replayed
from kcli.sessions.comparison import Level, SessionDifference, compare, is_internal
from kcli.sessions.fetch_exchange import Captured
from kcli.sessions.fetch_statistics import Recorder, SessionReport


@dataclass(frozen=True)
class Pair:
    """One fetcher in one run (from 1 on).

    differences: of the live responses from the captured ones; unknown: those for which the capture does not show the
    right response; problems: (index of the fetch, text); fetches: both sides of each fetch
    """

    run: int
    captured: SessionReport
    live: SessionReport
    differences: list[SessionDifference]
    problems: list[tuple[int, str]]
    fetches: list[LiveFetch] = field(default_factory=list)
    unknown: list[SessionDifference] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return both sides in the same form, for JSON."""
        captured, live = self.captured.as_dict(), self.live.as_dict()
        return {
            "session": captured.pop("session"),
            "run": self.run,
            "captured": captured,
            "live": {name: value for name, value in live.items() if name != "session"},
            "differences": [each.as_dict() for each in self.differences],
            "notInTheCapture": [each.as_dict() for each in self.unknown],
            "problems": [{"fetch": number, "problem": text} for number, text in self.problems],
        }


def pairs(replayed: Replayed, names: Mapping[str, str], level: Level) -> Iterator[Pair]:
    """Yield a Pair for each fetcher of each run. names: {captured id: topic}; level: see
    `kcli.sessions.comparison.compare`.
    """
    runs: dict[int, int] = {}
    for fetcher, fetches in replayed.fetchers:
        run = runs[id(fetcher)] = runs.get(id(fetcher), 0) + 1
        yield pair(fetcher, fetches, names, level, run)


def pair(fetcher: Fetcher, fetches: list[LiveFetch], names: Mapping[str, str], level: Level, run: int) -> Pair:
    strict = level == "strict"
    captured, live = (Recorder(fetcher.label, client_id=fetcher.client_id, keep=strict) for _ in range(2))
    for each in fetches:
        captured.add(each.step.captured, names)
        live.add(each.live, names)
    problems = [(number, each.problem) for number, each in enumerate(fetches) if each.problem]
    captured_report, live_report = captured.report(), live.report()
    return Pair(run, captured_report, live_report, compare(captured_report, live_report, level), problems, fetches)


def set_apart(found: Sequence[Pair], reason: Callable[[Captured, Sequence[str]], str]) -> None:
    """Move differences from `differences` to `unknown` if the capture does not show the right value.

    reason: returns why the capture does not show it, for a captured fetch and names of partitions ([] for its session),
    "" if it does. It is called in the order of the capture.
    """
    places = [(pair, each) for pair in found for each in pair.differences if each.fetch is not None]
    named: dict[int, str] = {}
    for pair, each in sorted(places, key=lambda place: (place[0].run, fetch_of(*place).ns)):
        named[id(each)] = reason(fetch_of(pair, each), each.partitions)
    for pair in found:
        inner = [named[id(each)] for each in pair.differences if each.fetch is not None]
        whole = inner[0] if inner and all(inner) else ""
        kept, apart = [], []
        for each in pair.differences:
            why = whole if each.fetch is None else named[id(each)]
            if why:
                apart.append(replace(each, unknown=why))
            else:
                kept.append(each)
        pair.differences[:], pair.unknown[:] = kept, apart


def take_out_internal(found: Sequence[Pair]) -> list[str]:
    """Remove the differences in topics that only brokers write to, and return the names of those partitions.

    A live cluster writes these topics itself, and no client can fill them.
    """
    names: set[str] = set()
    for pair in found:
        own = [each for each in pair.differences if each.partitions and all(map(is_internal, each.partitions))]
        names.update(name for each in own for name in each.partitions)
        pair.differences[:] = [each for each in pair.differences if each not in own]
    return sorted(names)


def fetch_of(pair: Pair, difference: SessionDifference) -> Captured:
    """Return the captured fetch of a difference that has one."""
    assert difference.fetch is not None
    return pair.fetches[difference.fetch].step.captured
