"""What there is to say about a session once it is over, as `kcli fetch-session explain --format jsonl` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.capture.clock import instant
from kcli.sessions.draft_trace import error_name
from kcli.sessions.findings import name_of
from kcli.sessions.ledger import Loose
from kcli.sessions.watched import Tally, Watched

__all__ = ["ending", "loose_dict", "session_dict", "when"]


def when(ns: int) -> str | None:
    """A time of the capture as text; None where it has none."""
    return instant(ns) if ns else None


def ending(session: Watched) -> str:
    """Why it ended, as a person would say it."""
    if session.end in ("evicted", "error"):
        by = f" by session {session.evictor}" if session.evictor else ""
        return f"{session.end}{by} ({error_name(session.end_error)})"
    if session.end == "emptied":
        return "its last partition was forgotten"
    return session.end or ""


def session_dict(session: Watched, names: Mapping[str, str]) -> dict[str, Any]:
    """Bytes as on the wire, times as in the capture, latencies in ms.

    opened is null for a session that was there before the capture: then `partitions` counts those that were seen.
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
        **tally_dict(session),
        "neverDelivered": [name_of(key, names) for key in session.silent_keys],
        "neverDeliveredCount": session.silent_count,
        "findings": session.findings,
    }


def loose_dict(loose: Loose) -> dict[str, Any]:
    """Fetches outside any session, of one client of one server."""
    return {
        "sessionId": 0,
        "server": loose.server,
        "clientId": loose.client_id,
        "replicaId": loose.replica_id,
        "apiVersion": loose.version,
        "firstSeen": when(loose.first_ns),
        "ended": when(loose.last_ns),
        "notGranted": loose.not_granted,
        "notWanted": loose.not_wanted,
        **tally_dict(loose),
    }


def tally_dict(tally: Tally) -> dict[str, Any]:
    full_bytes = tally.full_request_bytes + tally.full_response_bytes
    wire_bytes = tally.request_bytes + tally.response_bytes
    made: dict[str, Any] = {
        "fetches": tally.fetches,
        "full": tally.full,
        "incremental": tally.fetches - tally.full,
        "emptyPolls": tally.empty,
        "unanswered": tally.unanswered,
        "throttled": tally.throttled,
        "requestBytes": tally.request_bytes,
        "responseBytes": tally.response_bytes,
        "recordsBytes": tally.records_bytes,
    }
    if full_bytes:
        made |= {
            "fullRequestBytes": tally.full_request_bytes,
            "fullResponseBytes": tally.full_response_bytes,
            "saved": round(full_bytes / wire_bytes, 2) if wire_bytes else None,
        }
    errors = {error_name(code): count for code, count in sorted(tally.errors.items())}
    return {**made, "errors": errors, "latencyMs": tally.latencies.summary()}
