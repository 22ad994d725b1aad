"""Captured fetch sessions (KIP-227) as sessions of the live broker: ids, epochs, and what is opened anew.

A session that began before the capture, or that the live broker has dropped, is opened by the next request of it, with
the partitions that this one names. Its epochs count from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kcli.sessions.epochs import FINAL_EPOCH, FULL_EPOCH, NO_SESSION

LOST = frozenset(["FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH"])
Body = Mapping[str, Any]


class LiveSession(NamedTuple):
    """begun: the captured epoch of the request that opened it."""

    id: int
    begun: int


class FetchSessions:
    """The sessions of one client, by captured broker and captured id."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], LiveSession] = {}

    def request(self, server: str, body: Body) -> dict[str, Any]:
        """Return a copy of a captured Fetch request's body, in a live session."""
        made = dict(body)
        captured, epoch = body.get("sessionId", NO_SESSION), body.get("sessionEpoch", FINAL_EPOCH)
        if captured == NO_SESSION:
            return made
        live = self.known.get((server, captured))
        if live is not None:
            made["sessionId"] = live.id
            made["sessionEpoch"] = epoch - live.begun if epoch > live.begun else epoch
        else:
            made["sessionId"] = NO_SESSION
            made["sessionEpoch"] = FINAL_EPOCH if epoch == FINAL_EPOCH else FULL_EPOCH
            made["forgottenTopicsData"] = []
        return made

    def learn(self, server: str, request: Body, captured: Body, live: Body) -> None:
        """Take in the session that the live broker granted where the captured one has one."""
        granted, epoch = captured.get("sessionId", NO_SESSION), request.get("sessionEpoch", FINAL_EPOCH)
        if granted == NO_SESSION or live.get("errorCode") or live.get("sessionId", NO_SESSION) == NO_SESSION:
            return
        is_new = request.get("sessionId") != granted
        if is_new or (server, granted) not in self.known:
            self.known[server, granted] = LiveSession(live["sessionId"], FULL_EPOCH if is_new else epoch)

    def lose(self, server: str, request: Body) -> None:
        """Forget the live session of a captured request: the broker does not know it any more."""
        self.known.pop((server, request.get("sessionId", NO_SESSION)), None)
