"""Findings as text: about three lines each, and a line on the checks at the end."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from typing import IO, TYPE_CHECKING

from kcli.capture.nothing import NothingReadError
from kcli.cli.terminal.cells import broken
from kcli.cli.terminal.commands import ShownCommand
from kcli.cli.terminal.console import is_terminal
from kcli.cli.terminal.lines import joined, paint
from kcli.counting import counted
from kcli.diagnose.finding_text import (
    ANY_TIME,
    Detail,
    Period,
    by_kind,
    checked_text,
    finding_text,
    period_of,
    unjudged_text,
)

if TYPE_CHECKING:
    from kcli.diagnose import Diagnosis, Finding
    from kcli.diagnose.overview import Overview

COLOURS = {"critical": "red", "warning": "yellow", "info": "cyan"}
SHOWN = 8  # kinds of findings that are shown in full; findings of other kinds have only their first line
WIDTH = len("CRITICAL")


def text_lines(found: Diagnosis, room: int | None, *, colour: bool) -> Iterator[str]:
    """Yield the lines of a diagnosis, with findings of one kind together. room: cells of a line; None: as long as it
    is.
    """
    period = period_of(found)
    kinds = by_kind(found.findings)
    for number, group in enumerate(kinds):
        details: set[Detail] = set()
        for each in group:
            yield from finding_lines(each, room, colour=colour, whole=number < SHOWN, period=period, known=details)
            details.update(finding_text(each).details)
    yield from checked_lines(found, room)
    if short := sum(map(len, kinds[SHOWN:])):
        yield f"The last {short} in full: --format jsonl"


def finding_lines(
    each: Finding, room: int | None, *, colour: bool, whole: bool, period: Period = ANY_TIME,
    known: Collection[Detail] = (), also: str = "",
) -> Iterator[str]:  # fmt: skip
    """Yield the lines of one finding: sentence and time, advice, ruled-out causes, and the next command.

    known: details that stand above, with a finding of the same kind; if it has no others, neither they nor the command
    are repeated. also: subjects of more findings of the kind.
    """
    found = finding_text(each, period)
    word = found.severity.upper() if found.severity == "critical" else found.severity
    indent = " " * (WIDTH + 2)
    head = f"{word:{WIDTH}}  "
    first, *rest = broken(f"{found.finding}  {found.text}", None if room is None else room - len(head))
    style = {"fg": COLOURS[found.severity], "bold": found.severity == "critical"}
    yield joined(paint(head, colour, **style), first)
    yield from (indent + line for line in rest)
    details = [detail for detail in found.details if detail not in known]
    if not whole or not details:
        return
    if also:
        details.insert(0, ("also", also))
    for name, text in details:
        yield from broken(f"{name}: {text}", room, indent)
    if found.see:
        yield from ShownCommand("see:", found.see).lines(room, indent)


def checked_lines(found: Diagnosis, room: int | None) -> Iterator[str]:
    """Yield lines on the checks, and on parts that could not be judged."""
    yield from broken(f"{checked_text(found)}.", room)
    for part in found.unjudged:
        yield from broken(f"not judged: {unjudged_text(part)}", room, "  ")
        if part.see:
            yield from ShownCommand("see:", part.see).lines(room, "  ")


def says_why(found: Diagnosis, out: IO[str] | None) -> bool:
    """Return whether the lines printed on a terminal say already why nothing could be judged. out: where; None: to a
    file.
    """
    is_said = isinstance(found.damage, NothingReadError) and bool(found.unjudged)
    return is_said and out is not None and is_terminal(out) and is_terminal(sys.stderr)


def servers_texts(size: Overview) -> Iterator[str]:
    """Yield the counts of brokers and of KRaft controllers."""
    if size.brokers or not size.controllers:
        yield counted(size.brokers, "broker")
    if size.controllers:
        yield counted(size.controllers, "controller")


def clients_text(size: Overview) -> str:
    """Count clients, and the brokers among them."""
    brokers = f" ({size.broker_clients:,} of them the brokers' own)" if size.broker_clients else ""
    return counted(size.clients, "client") + brokers
