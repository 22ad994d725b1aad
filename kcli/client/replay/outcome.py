"""Compares a replay with its capture: a report for each fetcher and run, and their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kcli.client.replay.live_fetch import LiveFetch
from kcli.client.replay.plan import Fetcher
from kcli.client.replay.runner import Replayed
from kcli.sessions.comparison import Difference, Level, compare
from kcli.sessions.report import Recorder, SessionReport

__all__ = ["Pair", "pairs"]


@dataclass(frozen=True)
class Pair:
    """One fetcher in one run (from 1). problems: what went wrong, as (number of the fetch from 0, words)."""

    run: int
    captured: SessionReport
    live: SessionReport
    differences: list[Difference]
    problems: list[tuple[int, str]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: both sides in the same form."""
        captured, live = self.captured.as_dict(), self.live.as_dict()
        return {
            "session": captured.pop("session"),
            "run": self.run,
            "captured": captured,
            "live": {name: value for name, value in live.items() if name != "session"},
            "differences": [each.as_dict() for each in self.differences],
            "problems": [{"fetch": number, "problem": text} for number, text in self.problems],
        }


def pairs(replayed: Replayed, names: Mapping[str, str], level: Level) -> Iterator[Pair]:
    """Each fetcher of each run. names: of topics, by captured id. level: see `kcli.sessions.comparison.compare`."""
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
    one, other = captured.report(), live.report()
    return Pair(run, one, other, compare(one, other, level), problems)
