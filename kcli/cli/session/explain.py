"""`kcli fetch-session explain` and `lint`: the fetch sessions (KIP-227) of captures, and the rules they break."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from kcli.capture.filters import Filter
from kcli.capture.io.capture_files import captures_in
from kcli.capture.nothing import require_exchanges
from kcli.cli.options.exchange_sources import holds_rows, rows
from kcli.cli.options.filter import FilterCommand, filter_of, filter_options, note_no_match
from kcli.cli.options.inputs import (
    files_argument,
    format_option,
    port_option,
    quiet_option,
    read_of,
    reading_options,
    text_format_option,
)
from kcli.cli.terminal.console import is_terminal, reading_progress, warn
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_line
from kcli.counting import counted, few_of
from kcli.errors import InputError, UsageError
from kcli.jsontext import dumps
from kcli.sessions.draft_exchange import FETCHES
from kcli.sessions.explain import session_dict, sessionless_dict, when
from kcli.sessions.feeder import Feeder
from kcli.sessions.fetch_paths import new_kernel
from kcli.sessions.registry import SessionlessFetches
from kcli.sessions.session import ObservedSession
from kcli.sessions.session_findings import SessionFinding
from kcli.sessions.tracker import Tracker
from kcli.shell import file_words

FILES = files_argument("FILE|DIR...", expand=captures_in)
MOST_IDS = 1000  # that are remembered, to name some where none fits
QUIET = quiet_option("No progress, no summary.")


@click.command(cls=FilterCommand)
@FILES
@port_option
@format_option(("table", "jsonl"), "A table, or an object for each session.", default="table")
@click.option(
    "--session",
    "session_ids",
    type=int,
    multiple=True,
    metavar="ID",
    help="Only this session; repeatable.",
)
@filter_options
@reading_options
@QUIET
def explain(
    files: tuple[str, ...],
    format_: str,
    session_ids: tuple[int, ...],
    **options: Any,
) -> int:
    """Explain the fetch sessions in captures: client, partitions, bytes saved, and how they ended.

    FILE: a capture (pcap, pcapng, either in gzip or zstd), or the lines that `kcli decode pcap --format jsonl` or a
    broker's request log printed; - is standard input; DIR: a directory with captures. Several captures are read as one.
    kcli follows all sessions by all their fetches. The options that choose exchanges only choose the sessions that are
    shown: those with a fetch among these exchanges (--topic: sessions that fetched the topic; --slower-than: sessions
    with a slow response). Exit code 1: there is none.

    \b
    kcli fetch-session explain night.pcap
    kcli fetch-session explain night.pcap --session 118273 --format jsonl
    """
    choice = SessionChoice(options, files, session_ids)
    table = format_ == "table"
    ended: list[ObservedSession] = []
    findings = 0

    def find(finding: SessionFinding) -> None:
        nonlocal findings
        findings += feeder.choosing and (not session_ids or finding.session_id in session_ids)

    def end(session: ObservedSession) -> None:
        if not choice.matches(session):
            return
        if table:
            ended.append(session)
        else:
            print_line(dumps(session_dict(session, tracker.offsets.names)))

    tracker = Tracker(on_finding=find, on_end=end, kernel=new_kernel(options["dialect"]))
    feeder = Feeder(tracker, choice.filter)
    problems = follow(files, feeder, choice.rows, **read_options(options, prints=not table))
    sessionless = [it for it in tracker.sessionless.values() if choice.matches(it)]
    if table and (choice.found or choice.takes_all):
        from kcli.cli.session.view import show

        show(ended, sessionless, tracker, findings, file_words(files, options["key_logs"]))
    elif not table:
        for it in sessionless:
            print_line(dumps(sessionless_dict(it)))
    conclude(problems, options["quiet"])
    return choice.conclude()


@click.command(cls=FilterCommand)
@FILES
@port_option
@text_format_option()
@click.option(
    "--notes/--no-notes", default=True, help="Also report wasteful behaviour; it does not change the exit code."
)
@filter_options
@reading_options
@QUIET
def lint(files: tuple[str, ...], form: str, notes: bool, **options: Any) -> int:
    """Check both sides of each fetch session in captures against the rules of KIP-227.

    A finding is one line: the frame (time, connection, correlation id), the session, the rule, and the side that broke
    it. Sessions are not checked where the capture lacks traffic (before its beginning, in gaps). FILE, DIR: as for
    `explain`. kcli checks all fetches; the options that choose exchanges only choose the findings that are shown. Exit
    code 1: a rule is broken, or the options choose no fetch of a session.

    \b
    kcli fetch-session lint night.pcap
    kcli fetch-session lint captures/ --no-notes --format jsonl
    """
    choice = SessionChoice(options, files)
    counts = {"error": 0, "note": 0}

    def find(finding: SessionFinding) -> None:
        if not feeder.choosing:
            return
        severity = finding.verdict.severity
        counts[severity] += 1
        if severity == "error" or notes:
            print_line(line_of(finding, tracker, form))

    evicted: list[ObservedSession] = []

    def end(session: ObservedSession) -> None:
        if choice.matches(session) and session.end == "evicted":
            evicted.append(session)

    tracker = Tracker(on_finding=find, on_end=end, kernel=new_kernel(options["dialect"]))
    feeder = Feeder(tracker, choice.filter)
    problems = follow(files, feeder, choice.rows, **read_options(options, prints=True))
    sessionless = [it for it in tracker.sessionless.values() if choice.matches(it)]
    if tracker.fetches or not problems:
        from kcli.cli.session.view import NO_FETCH, losses_text

        said = summary(feeder, counts, choice, losses_text(evicted, sessionless)) if tracker.fetches else NO_FETCH
        warn(said, options["quiet"])
    conclude(problems, options["quiet"])
    return 1 if counts["error"] else choice.conclude()


def read_options(options: dict[str, Any], *, prints: bool) -> dict[str, Any]:
    """Return the options for reading captures. prints: findings are printed meanwhile, so a terminal has no bar."""
    chosen = read_of(options)
    return chosen | {"quiet": options["quiet"] or (prints and is_terminal(sys.stdout))}


def line_of(finding: SessionFinding, tracker: Tracker, form: str) -> str:
    names = tracker.offsets.names
    if form == "jsonl":
        return dumps(finding.as_dict(when(finding.ns), names))
    client = f"{finding.client_id} " if finding.client_id else ""
    return (
        f"{when(finding.ns) or '-'} {finding.connection} #{finding.correlation_id} {client}session "
        f"{finding.session_id}: {finding.rule} "
        f"({finding.verdict.side}{'' if finding.verdict.severity == 'error' else ', note'}): "
        f"{finding.message(names)}"
    )


def summary(feeder: Feeder, counts: dict[str, int], choice: SessionChoice, losses: str) -> str:
    """Return a line on how much was judged, and on the findings. losses: faults that break no rule."""
    found = ", ".join(counted(number, kind) for kind, number in counts.items() if number)
    if losses:
        found = f"{found or 'no rule broken'}; {losses}"
    fetches = counted(feeder.tracker.fetches, "fetch", "fetches")
    sessions = counted(feeder.tracker.opened, "session")
    if not choice.takes_all:
        fetches, sessions = f"{feeder.chosen_fetches:,} of {fetches}", f"{choice.sessions:,} of {sessions}"
    return f"{fetches}, {sessions}: {found or 'nothing to find fault with'}"


def follow(
    files: Sequence[str], feeder: Feeder, with_rows: Container[str], *, quiet: bool, **options: Any
) -> list[InputError]:
    """Feed all readable items to the tracker. Returns the problems of reading. with_rows: files with lines of JSON."""
    problems: list[InputError] = []
    captures = []
    for file in files:
        if file in with_rows:
            problems += follow_rows(file, feeder, options["ports"])
        else:
            captures.append(file)
    if captures:
        try:
            follow_captures(captures, feeder, quiet, **options)
        except InputError as error:
            problems.append(error)
    feeder.tracker.close()
    return problems


def follow_rows(file: str, feeder: Feeder, ports: Sequence[int]) -> Iterator[InputError]:
    for number, row in rows(file):
        if isinstance(row, InputError):
            feeder.tracker.blur(None)
            yield row
            continue
        if ports and not serves(row, ports):
            continue
        try:
            feeder.row(row)
        except InputError as error:
            yield InputError(f"line {number}: {error.text}", file=file)


def serves(row: dict[str, Any], ports: Sequence[int]) -> bool:
    """Return whether the server's end of a row's connection has one of these ports."""
    server = str(row.get("connection")).partition("-")[0]
    return server.rpartition(":")[2] in {str(port) for port in ports}


def follow_captures(files: Sequence[str], feeder: Feeder, quiet: bool, **options: Any) -> None:
    from kcli.sessions.session_sink import follow

    total = None if "-" in files else sum(Path(file).stat().st_size for file in files)
    with reading_progress(total, quiet) as moved:
        source = follow(files, feeder, moved, **options)
    require_exchanges(source)


class SessionChoice:
    """Sessions with a fetch that the options choose, of the ids that they name. `sessions`: how many there were;
    `found`: with the clients without one."""

    def __init__(self, options: dict[str, Any], files: Sequence[str], ids: Sequence[int] = ()) -> None:
        """Choose sessions. Raises UsageError for invalid options, or a condition on lines of JSON."""
        self.files, self.options, self.ids = files, options, frozenset(ids)
        self.filter = filter_of(options, files)
        self.rows = frozenset(file for file in files if holds_rows(file))
        if self.filter.where is not None and self.rows:
            raise UsageError(f"--where: {min(self.rows)} has lines of JSON without columns (a capture expected)")
        self.takes_all = self.filter.takes_all and not self.ids
        self.found = self.sessions = 0
        self.seen: dict[int, None] = {}

    def matches(self, session: ObservedSession | SessionlessFetches) -> bool:
        """Return whether a session, or a client's fetches without one, is chosen."""
        number = session.session_id if isinstance(session, ObservedSession) else 0
        if number and len(self.seen) < MOST_IDS:
            self.seen[number] = None
        wanted = (not self.ids or number in self.ids) and (session.chosen or self.filter.takes_all)
        self.found += wanted
        self.sessions += wanted and number != 0
        return wanted

    def conclude(self) -> int:
        """Return the exit code: 1 where nothing was chosen, with a line that names what there is."""
        if self.takes_all or self.found:
            return 0
        if not self.filter.takes_all:
            captures = [file for file in self.files if file not in self.rows]
            note_no_match(captures or ["-"], self.filter, self.options, Filter(frozenset(FETCHES)))
        else:
            warn(f"nothing matches; sessions here: {few_of([*map(str, self.seen)])}", self.options["quiet"])
        return 1
