"""A terminal's view of fetch sessions: who, how long, which partitions, a strip of bytes over time, how it ended."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kcli.cli.terminal.console import console, is_terminal
from kcli.cli.terminal.lines import print_line
from kcli.core.sessions.fetches import Timeline
from kcli.counting import counted, rounded_bytes
from kcli.legible import legible
from kcli.sessions.draft_exchange import error_name
from kcli.sessions.explain import when
from kcli.sessions.registry import SessionlessFetches
from kcli.sessions.session import FetchStatistics, ObservedSession
from kcli.sessions.session_findings import name_of
from kcli.sessions.tracker import Tracker

BLOCKS = "▁▂▃▄▅▆▇█"
NAMED = 4  # partitions, or changes of the set, that are listed one by one
DIGITS = 2  # of sizes

Line = tuple[tuple[str, str], ...]  # its parts, each with one of rich's styles


def show(
    ended: Sequence[ObservedSession],
    sessionless: Sequence[SessionlessFetches],
    tracker: Tracker,
    findings: int,
    files: str,
) -> None:
    """Print all sessions by their beginning, then fetches without one, then how many findings `lint` has.

    files: as words of a command.
    """
    lines = all_lines(ended, sessionless, tracker.offsets.names, findings, files)
    if is_terminal(sys.stdout):
        print_styled(lines)
        return
    for line in lines:
        print_line("".join(text for text, _ in line))


def print_styled(lines: Iterable[Line]) -> None:
    from rich.text import Text

    screen = console()
    for line in lines:
        screen.print(Text.assemble(*((legible(text), style) for text, style in line)))


NO_FETCH = "no Fetch: there is no session to check"


def all_lines(
    ended: Sequence[ObservedSession],
    sessionless: Sequence[SessionlessFetches],
    names: Mapping[str, str],
    findings: int,
    files: str,
) -> Iterator[Line]:
    for session in sorted(ended, key=lambda session: (session.opened_ns, session.session_id)):
        yield from session_lines(session, names)
    for client in sessionless:
        yield from sessionless_lines(client)
    if ended or sessionless:
        yield from closing_lines(findings, losses_text(ended, sessionless), files)
    else:
        yield ((NO_FETCH, ""),)


def session_lines(session: ObservedSession, names: Mapping[str, str]) -> Iterator[Line]:
    fetches = f"{counted(session.fetches, 'fetch', 'fetches')} ({session.full:,} full)"
    yield (
        (f"session {session.session_id}", "bold"),
        (f"  {client_text(session.client_id, session.replica_id)} -> {session.server}", "cyan"),
        (f"   {span(session)}   {fetches}   {partitions(session)}", ""),
    )
    full, size = strips(session.strip)
    yield (f"  full  {full}  ended: ", ""), (ending(session), colour(session))
    yield ((f"  bytes {size}  {price(session)}", ""),)
    yield ((f"  {polls(session)}", "dim"),)
    for line in details(session, names):
        yield ((f"  {line}", ""),)
    yield ()


def sessionless_lines(client: SessionlessFetches) -> Iterator[Line]:
    fetches = f"{counted(client.fetches, 'full fetch', 'full fetches')}, Fetch v{client.version}"
    yield (
        ("no session", "bold"),
        (f"  {client_text(client.client_id, client.replica_id)} -> {client.server}", "cyan"),
        (f"   {span(client)}   {fetches}: {why_sessionless(client)}", ""),
    )
    yield ((f"  {polls(client)}", "dim"),)
    yield ()


def closing_lines(findings: int, losses: str, files: str) -> Iterator[Line]:
    """Yield the broken rules, and what is wasted although none was."""
    if losses:
        yield ((f"{losses}. kcli diagnose {files}", "yellow"),)
    command = f"kcli fetch-session lint {files}"
    if findings:
        yield ((f"findings: {findings:,}. {command}", "red"),)
    else:
        yield ((f"no rule of KIP-227 is broken. ({command})", ""),)


def losses_text(ended: Iterable[ObservedSession], sessionless: Iterable[SessionlessFetches]) -> str:
    """Describe what fetches lose by sessions that a broker did not grant, or evicted; "": nothing."""
    refused, evicted = sum(it.not_granted for it in sessionless), sum(it.end == "evicted" for it in ended)
    parts = [f"{counted(refused, 'session')} requested and not granted"] * (refused > 0)
    return ", ".join([*parts, *[f"{counted(evicted, 'session')} evicted"] * (evicted > 0)])


def client_text(client_id: str, replica_id: int) -> str:
    name = legible(client_id) or "(no client id)"
    return f"follower {replica_id} ({name})" if replica_id >= 0 else name


def span(statistics: FetchStatistics) -> str:
    first, last = when(statistics.first_ns), when(statistics.last_ns)
    return f"{first[11:19]} - {last[11:19]}" if first and last else "(no times)"


def partitions(session: ObservedSession) -> str:
    """Format how many there were at the beginning and at the end, and what changed."""
    began = f"{session.first:,}" if session.since_start else "?"
    known = f"{session.last:,}" if session.complete else f"{session.last:,} seen"
    text = f"partitions {began} -> {known}"
    if not session.changes:
        return text
    if len(session.changes) > NAMED:
        return f"{text} ({session.added:,} added, {session.dropped:,} forgotten)"
    return f"{text} ({', '.join(change_text(session, at) for at in range(len(session.changes)))})"


def change_text(session: ObservedSession, at: int) -> str:
    change = session.changes[at]
    parts = [f"{change.added:,} added"] * (change.added > 0) + [f"{change.forgotten:,} forgotten"] * (
        change.forgotten > 0
    )
    time = (when(change.ns) or " " * 19)[11:19].strip()
    return " ".join([" and ".join(parts), time]).strip()


def strips(strip: Timeline) -> tuple[str, str]:
    """Draw full fetches and bytes over time, a character for each cell."""
    most = max(strip.bytes) or 1
    marks = "".join("█" if cell else "·" for cell in strip.full)
    # A cell with any byte at all shows, however small it is beside the greatest.
    bars = "".join(BLOCKS[(cell * 7 + most - 1) // most] if cell else " " for cell in strip.bytes)
    return marks, bars


def ending(session: ObservedSession) -> str:
    text = {
        "evicted": "evicted",
        "error": "by an error",
        "emptied": "its last partition was forgotten",
        "closed": "closed by the client",
        "replaced": "closed by a full fetch",
        "left behind": "left in the broker's cache",
        "connection lost": "its connection was lost",
        "capture end": "still open at the capture's end",
    }.get(session.end or "", session.end or "")
    if session.evictor:
        text += f" by session {session.evictor} at {clock(session.evicted_ns)}"
    if session.end_error:
        text += f", seen at {clock(session.end_ns)} ({error_name(session.end_error)})"
    if session.successor:
        text += f", new session {session.successor[0]} after {session.successor[1] / 1e6:,.0f} ms"
    return text


def clock(ns: int) -> str:
    return (when(ns) or " " * 23)[11:23].strip() or "an unknown time"


def colour(session: ObservedSession) -> str:
    if session.end in ("evicted", "error", "left behind"):
        return "yellow"
    return "" if session.end != "connection lost" else "magenta"


def price(session: ObservedSession) -> str:
    wire = session.request_bytes + session.response_bytes
    full = session.full_request_bytes + session.full_response_bytes
    if not wire or not full:
        return ""
    sizes = f"{rounded_bytes(wire, DIGITS)} on the wire; as full fetches {rounded_bytes(full, DIGITS)}"
    return f"{sizes} ({full / wire:,.1f}x)"


def polls(statistics: FetchStatistics) -> str:
    p50, p99 = statistics.latencies.percentile(0.5), statistics.latencies.percentile(0.99)
    parts = [f"{rounded_bytes(statistics.records_bytes, DIGITS)} of records", counted(statistics.empty, "empty poll")]
    if p50 is not None and p99 is not None:
        parts.append(f"answers after {p50:,.1f} ms (p99 {p99:,.1f})")
    parts += [f"{number:,} x {error_name(code)}" for code, number in sorted(statistics.errors.items())]
    if statistics.throttled:
        parts.append(f"{statistics.throttled:,} throttled")
    if statistics.unanswered:
        parts.append(f"{statistics.unanswered:,} without a response")
    return ", ".join(parts)


def details(session: ObservedSession, names: Mapping[str, str]) -> list[str]:
    lines = []
    if not session.since_start:
        lines.append("began before the capture, or where it has a gap: partitions that never changed are not known")
    if session.silent_count:
        named = ", ".join(name_of(key, names) for key in sorted(session.silent_keys)[:NAMED])
        rest = ", ..." if session.silent_count > NAMED else ""
        lines.append(f"{counted(session.silent_count, 'partition', 'partitions')} never delivered: {named}{rest}")
    if session.findings:
        lines.append(f"{counted(session.findings, 'finding', 'findings')}")
    return lines


def why_sessionless(client: SessionlessFetches) -> str:
    if client.version < 7:
        return "this version has no sessions"
    if client.not_granted:
        return f"a session was requested and not granted {counted(client.not_granted, 'time', 'times')}"
    return "no session is wanted"
