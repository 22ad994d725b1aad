"""Real captures as rows, and what the tracker finds in rows."""

import copy
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from kcli.sessions.feeder import Feeder
from kcli.sessions.session import ObservedSession
from kcli.sessions.session_findings import SessionFinding
from kcli.sessions.tracker import Tracker

DATA = Path(__file__).parent / "data"
CAPTURES = sorted(path.name.removesuffix(".jsonl.gz") for path in DATA.glob("*.jsonl.gz"))

Row = dict[str, Any]


@cache
def _rows(name: str) -> list[Row]:
    with gzip.open(DATA / f"{name}.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def rows_of(name: str) -> list[Row]:
    """A copy to change."""
    return copy.deepcopy(_rows(name))


def follow(rows: list[Row]) -> tuple[list[SessionFinding], list[ObservedSession], Tracker]:
    found: list[SessionFinding] = []
    ended: list[ObservedSession] = []
    tracker = Tracker(on_finding=found.append, on_end=ended.append)
    feeder = Feeder(tracker)
    for row in rows:
        feeder.row(row)
    tracker.close()
    return found, ended, tracker


def is_fetch(row: Row) -> bool:
    return "event" not in row and row["requestHeader"]["requestApiKey"] == 1


def fetches(rows: list[Row]) -> list[Row]:
    return [row for row in rows if is_fetch(row)]


def partitions(topics: list[Row]) -> int:
    return sum(len(topic["partitions"]) for topic in topics)
