"""The screen for captures: their contents, the first findings, the busiest clients, and the next commands."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from kcli.capture.io.capture_files import captures_in
from kcli.cli.decode.pcap.command import reading
from kcli.cli.diagnose.text import checked_lines, clients_text, finding_lines, says_why, servers_texts
from kcli.cli.front.screens import NEXT, next_lines
from kcli.cli.options.inputs import read_of
from kcli.cli.stats.table import rate_text, time_text
from kcli.cli.terminal.cells import GAP, broken, cut_middle, fit, line_size, without_spared
from kcli.cli.terminal.cells import width as cell_width
from kcli.cli.terminal.columns import left_out_lines
from kcli.cli.terminal.commands import ShownCommand
from kcli.cli.terminal.console import shows_colour, terminal_room
from kcli.cli.terminal.lines import print_line
from kcli.counting import counted, span_text
from kcli.diagnose.finding_text import by_kind, others_text, period_of
from kcli.errors import InputError
from kcli.extras import require
from kcli.filelike import name_of
from kcli.legible import legible
from kcli.shell import file_words

if TYPE_CHECKING:
    from kcli.diagnose import Diagnosis
    from kcli.diagnose.overview import Overview

NEXT_OF_INPUT = "Next, with the same on standard input:"
SHORTEST = 12  # cells of a client's name
NAMED = 4  # errors
FINDINGS = 4  # kinds of findings that fit on the screen
HEADINGS = ("client", "requests/s", "records/request", "errors", "p99 ms*", "connections")
SPARED = ("connections", "records/request")  # columns that go first where there is little room
NOTE = "* without the time for which a request may wait, such as a Fetch for records (kcli stats: with it)"


def captures_screen(files: Sequence[str], options: dict[str, Any]) -> int:
    """Diagnose captures, read as one, and print the result on one screen. Returns the exit code."""
    require("kcli FILE of a capture", "sql")
    from kcli.diagnose import diagnose

    paths = captures_in(tuple(files))
    with reading(paths, options["quiet"]) as moved:
        read = read_of(options)
        found = diagnose(paths, moved=moved, named=files, **read)
    title = f"{name_of(PurePath(paths[0]).name)}  capture" if len(paths) == 1 else counted(len(paths), "capture")
    words = file_words(files, options["key_logs"])
    shown = {"colour": shows_colour(sys.stdout), "read_once": any(map(is_read_once, files))}
    for line in screen(found, title, words, terminal_room(None), **shown):
        print_line(line)
    if found.damage is not None and not says_why(found, sys.stdout):
        raise found.damage
    return 1 if found.is_grave else 0 if found.judged else InputError.exit_code


def is_read_once(file: str) -> bool:
    """Return whether a file is standard input, or another stream that can be read only once."""
    return file == "-" or file.startswith(("/dev/", "/proc/"))


def screen(
    found: Diagnosis, title: str, words: str, room: int | None, *, colour: bool, read_once: bool = False
) -> Iterator[str]:
    """Yield the lines of the screen. words: the files, as the next commands take them. read_once: they were a pipe."""
    yield from broken(f"{title}, {', '.join(size_of(found))}", room)
    if found.findings:
        yield ""
    period = period_of(found)
    kinds = by_kind(found.findings)
    for group in kinds[:FINDINGS]:
        also = others_text(group)
        yield from finding_lines(group[0], room, colour=colour, whole=True, period=period, also=also)
    if len(kinds) > FINDINGS:
        more = counted(sum(map(len, kinds[FINDINGS:])), "more finding")
        yield from ShownCommand(f"and {more}:", f"kcli diagnose {words}").lines(room)
    if found.overview.busiest:
        yield from ("", *client_lines(found.overview.busiest, room))
        others = found.overview.clients - found.overview.broker_clients - len(found.overview.busiest)
        if others > 0:
            more = counted(others, "more client")
            yield from ShownCommand(f"and {more}:", f"kcli stats {words} --by client").lines(room)
        yield from broken(NOTE, room)
        yield from broken(errors_text(found.overview), room)
    yield ""
    yield from checked_lines(found, room)
    yield from next_lines(next_of(found, words), room, NEXT_OF_INPUT if read_once else NEXT)


def size_of(found: Diagnosis) -> Iterator[str]:
    """Yield the size and time of the captures."""
    size = found.overview
    if size.time.first_ns is not None:
        start = datetime.datetime.fromtimestamp(size.time.first_ns / 1e9, datetime.UTC)
        yield f"{span_text(size.time.seconds())} from {start:%Y-%m-%d %H:%M:%S}Z"
    yield counted(size.exchanges, "exchange")
    yield from servers_texts(size)
    yield clients_text(size)


def errors_text(size: Overview) -> str:
    """Return errors by name, with those of normal operation apart."""
    from kcli.rules.prepared import ROUTINE_ERRORS

    kinds = {
        "errors": [f"{name} {count:,}" for name, count in size.errors.items() if name not in ROUTINE_ERRORS],
        "usual": [f"{name} {count:,}" for name, count in size.errors.items() if name in ROUTINE_ERRORS],
    }
    for kind, named in kinds.items():
        if len(named) > NAMED:
            kinds[kind] = [*named[:NAMED], f"and {counted(len(named) - NAMED, 'more name')}"]
    if kinds["usual"] and not kinds["errors"]:
        kinds = {"errors: only usual ones": kinds["usual"]}  # the table above counts them, too
    text = "; ".join(f"{kind}: {', '.join(named)}" for kind, named in kinds.items() if named) or "errors: none"
    return f"{text} (brokers as clients counted, too)" if size.broker_clients and size.errors else text


def client_lines(rows: Sequence[dict[str, Any]], room: int | None) -> Iterator[str]:
    """Yield a table of clients with the columns that fit, and the names of the others."""
    table = [HEADINGS, *map(cells_of, rows)]
    widths = {name: max(cell_width(legible(row[at])) for row in table) for at, name in enumerate(HEADINGS)}
    if room is not None:
        widths = without_spared(widths, SPARED, room)
        # A long name is cut; figures never are.
        excess = max(line_size(widths.values()) - room, 0)
        widths["client"] = min(widths["client"], max(widths["client"] - excess, SHORTEST))
    for row in table:
        cells = dict(zip(HEADINGS, row, strict=True))
        numbers = (f"{cells[name]:>{width}}" for name, width in widths.items() if name != "client")
        yield (" " * GAP).join([fit(cut_middle(row[0], widths["client"]), widths["client"]), *numbers])
    yield from left_out_lines([name for name in HEADINGS if name not in widths], room)


def cells_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of one client. A latency of 0 is none beyond the waits, which no clock measured."""
    return (
        row["client_id"] or "(no client id)",
        "-" if row["rate"] is None else rate_text(row["rate"]),
        "-" if row["records"] is None else rate_text(row["records"]),
        f"{row['errors']:,}",
        "-" if row["p99_ms"] is None else time_text(row["p99_ms"]) if row["p99_ms"] else "0",
        f"{row['connections']:,}",
    )


def next_of(found: Diagnosis, words: str) -> list[str]:
    """Return the commands that show more of this capture."""
    from kcli.rules.prepared import ROUTINE_ERRORS

    if not found.judged or not found.overview.exchanges:  # the other commands count exchanges
        return [f"kcli decode pcap {words}"]
    if len(found.findings) > FINDINGS:
        more = f"kcli diagnose {words}"
    elif found.overview.errors.keys() - ROUTINE_ERRORS:
        more = f"kcli decode pcap {words} --errors"
    else:
        more = f"kcli decode pcap {words}"
    return [f"kcli stats {words} --by client", f"kcli report {words} -o report.html", more]
