"""The JSON of an ended session, as `kcli fetch-session explain --format jsonl` prints it."""

from collections.abc import Mapping
from typing import Any

from kcli.capture.kafka.clock import instant
from kcli.sessions.draft_exchange import error_name
from kcli.sessions.registry import SessionlessFetches
from kcli.sessions.session import FetchStatistics, ObservedSession
from kcli.sessions.session_findings import name_of


def when(ns: int) -> str | None:
    """Return a time of the capture as text; None for 0."""
    return instant(ns) if ns else None


def ending(session: ObservedSession) -> str:
    """Return why the session ended, as a text."""
    if session.end in ("evicted", "error"):
        by = f" by session {session.evictor}" if session.evictor else ""
        return f"{session.end}{by} ({error_name(session.end_error)})"
    if session.end == "emptied":
        return "its last partition was forgotten"
    return session.end or ""


def session_dict(session: ObservedSession, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a session as JSON: bytes as on the wire, times as in the capture, latencies in ms.

    `opened` is null for a session from before the capture; then `partitions` counts only those that were seen.
    """
    successor = session.successor
    return {
        "sessionId": session.session_id,
        "server": session.server,
        "connection": session.connection,
        "clientId": session.client_id,
        "replicaId": session.replica_id,
        "apiVersion": session.version,
        "opened": when(session.opened_ns) if session.since_start else None,
        "firstSeen": when(session.first_ns),
        "ended": when(session.end_ns),
        "end": session.end,
        "endError": error_name(session.end_error) if session.end_error else None,
        "evictedBy": session.evictor or None,
        "evictedAt": when(session.evicted_ns),
        "next": {"sessionId": successor[0], "afterMs": round(successor[1] / 1e6, 3)} if successor else None,
        "complete": session.complete,
        "partitions": {
            "first": session.first,
            "most": session.most,
            "last": session.last,
            "added": session.added,
            "changed": session.changed,
            "forgotten": session.dropped,
        },
        "changes": [
            {"timestamp": when(c.ns), "added": c.added, "forgotten": c.forgotten, "partitions": c.partitions}
            for c in session.changes
        ],
        **statistics_dict(session),
        "neverDelivered": [name_of(key, names) for key in session.silent_keys],
        "neverDeliveredCount": session.silent_count,
        "findings": session.findings,
    }


def sessionless_dict(sessionless: SessionlessFetches) -> dict[str, Any]:
    """Return the fetches of one client of one server outside any session as JSON."""
    return {
        "sessionId": 0,
        "server": sessionless.server,
        "clientId": sessionless.client_id,
        "replicaId": sessionless.replica_id,
        "apiVersion": sessionless.version,
        "firstSeen": when(sessionless.first_ns),
        "ended": when(sessionless.last_ns),
        "notGranted": sessionless.not_granted,
        "notWanted": sessionless.not_wanted,
        **statistics_dict(sessionless),
    }


def statistics_dict(statistics: FetchStatistics) -> dict[str, Any]:
    full_bytes = statistics.full_request_bytes + statistics.full_response_bytes
    wire_bytes = statistics.request_bytes + statistics.response_bytes
    made: dict[str, Any] = {
        "fetches": statistics.fetches,
        "full": statistics.full,
        "incremental": statistics.fetches - statistics.full,
        "emptyPolls": statistics.empty,
        "unanswered": statistics.unanswered,
        "throttled": statistics.throttled,
        "requestBytes": statistics.request_bytes,
        "responseBytes": statistics.response_bytes,
        "recordsBytes": statistics.records_bytes,
    }
    if full_bytes:
        made |= {
            "fullRequestBytes": statistics.full_request_bytes,
            "fullResponseBytes": statistics.full_response_bytes,
            "saved": round(full_bytes / wire_bytes, 2) if wire_bytes else None,
        }
    errors = {error_name(code): count for code, count in sorted(statistics.errors.items())}
    return {**made, "errors": errors, "latencyMs": statistics.latencies.summary()}
