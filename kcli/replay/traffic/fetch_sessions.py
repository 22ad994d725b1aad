"""Captured fetch sessions (KIP-227) as sessions of the live broker: their ids and epochs.

If a session began before the capture, or the live broker has dropped it, its next request opens a new one with the
partitions that this request names. Its epochs count from there.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kcli.sessions.epochs import FINAL_EPOCH, FULL_EPOCH, NO_SESSION

LOST = frozenset(["FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH"])
Body = Mapping[str, Any]


class LiveSession(NamedTuple):
    """A live session. begun: the captured epoch of the request that opened it."""

    id: int
    begun: int


class FetchSessions:
    """The sessions of one client, by captured broker and captured id."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], LiveSession] = {}

    def request(self, server: str, body: Body) -> dict[str, Any]:
        """Return a copy of a captured Fetch request's body, with the ids of a live session."""
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
        """Remember the session that the live broker granted, if the captured broker granted one."""
        granted, epoch = captured.get("sessionId", NO_SESSION), request.get("sessionEpoch", FINAL_EPOCH)
        if granted == NO_SESSION or live.get("errorCode") or live.get("sessionId", NO_SESSION) == NO_SESSION:
            return
        is_new = request.get("sessionId") != granted
        if is_new or (server, granted) not in self.known:
            self.known[server, granted] = LiveSession(live["sessionId"], FULL_EPOCH if is_new else epoch)

    def lose(self, server: str, request: Body) -> None:
        """Forget the live session of a captured request, because the broker has dropped it."""
        self.known.pop((server, request.get("sessionId", NO_SESSION)), None)
