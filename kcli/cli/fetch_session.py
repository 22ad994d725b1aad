"""`kcli fetch-session explain` and `lint`: the fetch sessions (KIP-227) of captures, and the rules they break."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from kcli.cli.captured import holds_rows, rows
from kcli.cli.console import is_terminal, progress, warn
from kcli.cli.inputs import dialect_option, format_option, memory_option, port_option, quiet_option
from kcli.cli.lines import print_line
from kcli.errors import InputError
from kcli.jsontext import dumps
from kcli.sessions.explain import session_dict, sessionless_dict, when
from kcli.sessions.feeder import Feeder
from kcli.sessions.findings import SessionFinding
from kcli.sessions.session import ObservedSession
from kcli.sessions.state import new_kernel
from kcli.sessions.tracker import Tracker

__all__ = ["explain", "lint"]

FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...")
QUIET = quiet_option("No progress, no summary.")


@click.command()
@FILES
@port_option
@format_option(("table", "jsonl"), "Default: table on a terminal.")
@click.option(
    "--session",
    "session_ids",
    type=int,
    multiple=True,
    metavar="ID",
    help="Only this session; may be given more than once.",
)
@click.option("--client-id", metavar="ID", help="Only sessions of this client.")
@dialect_option
@memory_option
@QUIET
def explain(
    files: tuple[str, ...],
    format_: str | None,
    session_ids: tuple[int, ...],
    client_id: str | None,
    **options: Any,
) -> int:
    """Explain the fetch sessions of captures: who, which partitions, how many bytes they saved, why they ended.

    FILE: a capture (pcap, pcapng, either in gzip or zstd), or the lines that `kcli decode pcap --format jsonl` or a
    broker's request log printed; - is standard input. Several captures are read as one.
    """
    table = format_ == "table" or (format_ is None and is_terminal(sys.stdout))

    def is_wanted(client: str, session_id: int) -> bool:
        return (client_id is None or client == client_id) and (not session_ids or session_id in session_ids)

    ended: list[ObservedSession] = []

    def end(session: ObservedSession) -> None:
        if not is_wanted(session.client_id, session.session_id):
            return
        if table:
            ended.append(session)
        else:
            print_line(dumps(session_dict(session, tracker.offsets.names)))

    tracker = Tracker(on_end=end, kernel=new_kernel(options["dialect"]))
    problems = follow(files, tracker, **options)
    sessionless = [it for it in tracker.sessionless.values() if is_wanted(it.client_id, 0)]
    if table:
        from kcli.cli.fetch_session_view import show

        show(ended, sessionless, tracker, files)
    else:
        for it in sessionless:
            print_line(dumps(sessionless_dict(it)))
    return conclude(problems)


@click.command()
@FILES
@port_option
@format_option(("text", "jsonl"), "Findings to read, or one JSON object a line.", default="text")
@click.option(
    "--notes/--no-notes", default=True, help="Report wasteful behaviour, too; it does not change the exit code."
)
@dialect_option
@memory_option
@QUIET
def lint(files: tuple[str, ...], format_: str, notes: bool, **options: Any) -> int:
    """Judge both sides of each fetch session of captures; exit 1 when a rule of KIP-227 is broken.

    One line for each finding: the frame (time, connection, correlation id), the session, the rule and who broke it.
    What a capture does not show (its beginning, gaps) is not judged. FILE: as for `explain`.
    """
    counts = {"error": 0, "note": 0}

    def find(finding: SessionFinding) -> None:
        severity = finding.verdict.severity
        counts[severity] += 1
        if severity == "error" or notes:
            print_line(line_of(finding, tracker, format_))

    tracker = Tracker(on_finding=find, kernel=new_kernel(options["dialect"]))
    problems = follow(files, tracker, **options)
    if not options["quiet"]:
        warn(summary(tracker, counts))
    conclude(problems)
    return 1 if counts["error"] else 0


def line_of(finding: SessionFinding, tracker: Tracker, format_: str) -> str:
    names = tracker.offsets.names
    if format_ == "jsonl":
        return dumps(finding.as_dict(when(finding.ns), names))
    who = f"{finding.client_id} " if finding.client_id else ""
    return (
        f"{when(finding.ns) or '-'} {finding.connection} #{finding.correlation_id} {who}session {finding.session_id}: "
        f"{finding.rule} ({finding.verdict.side}{'' if finding.verdict.severity == 'error' else ', note'}): "
        f"{finding.message(names)}"
    )


def summary(tracker: Tracker, counts: dict[str, int]) -> str:
    found = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items() if count)
    return f"{tracker.fetches:,} fetches, {tracker.opened:,} sessions: {found or 'nothing to find fault with'}"


def follow(
    files: Sequence[str], tracker: Tracker, *, ports: Sequence[int], dialect: str | None, memory: int, quiet: bool
) -> list[InputError]:
    """Feed the tracker everything that can be read; what could not be."""
    feeder = Feeder(tracker)
    problems: list[InputError] = []
    captures = []
    for file in files:
        if holds_rows(file):
            problems += follow_rows(file, feeder, ports)
        else:
            captures.append(file)
    if captures:
        try:
            follow_captures(captures, feeder, ports, dialect, memory, quiet)
        except InputError as error:
            problems.append(error)
    tracker.close()
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
    """Whether the server's end of a row's connection has one of these ports."""
    server = str(row.get("connection")).partition("-")[0]
    return server.rpartition(":")[2] in {str(port) for port in ports}


def follow_captures(
    files: Sequence[str], feeder: Feeder, ports: Sequence[int], dialect: str | None, memory: int, quiet: bool
) -> None:
    from kcli.sessions.source import SessionDecoder

    total = None if "-" in files else sum(Path(file).stat().st_size for file in files)
    done = 0
    with progress(total, "reading", quiet) as update:

        def moved(count: int) -> None:
            nonlocal done
            done += count
            update(done)

        SessionDecoder(files, feeder, ports=ports, dialect=dialect, memory=memory).run(moved)


def conclude(problems: Sequence[InputError]) -> int:
    """Name what could not be read, the last as the command's own error (exit 3)."""
    for problem in problems[:-1]:
        warn(str(problem))
    if problems:
        raise problems[-1]
    return 0
