"""The findings of `kcli fetch-session lint`: the rules of KIP-227 that can be checked in a capture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kcli.counting import few_of
from kcli.sessions.fetch_exchange import FetchExchange, Key


class SessionRule(NamedTuple):
    """A rule: the side that breaks it, whether that is an error or only wasteful (a note), and its text."""

    side: str
    severity: str
    text: str


CLIENT, BROKER, ERROR, NOTE = "client", "broker", "error", "note"

RULES: Mapping[str, SessionRule] = {
    "epoch-jump": SessionRule(CLIENT, ERROR, "each fetch of a session has the epoch after the last one answered"),
    "epoch-invalid": SessionRule(CLIENT, ERROR, "an epoch is -1, 0, or positive with a session id"),
    "two-in-flight": SessionRule(CLIENT, ERROR, "a session has one fetch under way at a time"),
    "session-unused": SessionRule(CLIENT, ERROR, "a session that was granted is used or closed, not abandoned"),
    "closed-session-used": SessionRule(CLIENT, ERROR, "after its end a session is not used; a full fetch follows"),
    "session-shared": SessionRule(CLIENT, ERROR, "a session belongs to one client, consumer or follower"),
    "naming-switched": SessionRule(
        CLIENT, ERROR, "a session goes by topic names (before v13) or by topic ids, not both"
    ),
    "asked-twice": SessionRule(CLIENT, ERROR, "a request names a partition once"),
    "asked-and-forgotten": SessionRule(CLIENT, ERROR, "a partition is not requested and forgotten in one request"),
    "forgotten-unknown": SessionRule(CLIENT, ERROR, "only partitions of the session are forgotten"),
    "forgotten-in-full": SessionRule(CLIENT, ERROR, "a full fetch has nothing to forget"),
    "set-changed": SessionRule(
        CLIENT, ERROR, "in the draft a full fetch brings another set of partitions, and nothing else"
    ),
    "not-begun-anew": SessionRule(CLIENT, ERROR, "in the draft a full fetch follows a fetch without a response"),
    "asked-again": SessionRule(CLIENT, NOTE, "an incremental fetch names only what changed"),
    "position-jump": SessionRule(CLIENT, ERROR, "a position moves over records that were delivered"),
    "epoch-accepted": SessionRule(BROKER, ERROR, "a wrong epoch is refused with INVALID_FETCH_SESSION_EPOCH"),
    "epoch-refused": SessionRule(BROKER, ERROR, "the right epoch is not refused"),
    "naming-accepted": SessionRule(BROKER, ERROR, "such a switch is refused with FETCH_SESSION_TOPIC_ID_ERROR"),
    "naming-refused": SessionRule(BROKER, ERROR, "FETCH_SESSION_TOPIC_ID_ERROR answers only such a switch"),
    "closed-session-answered": SessionRule(BROKER, ERROR, "a session that has ended is refused"),
    "session-not-wanted": SessionRule(BROKER, ERROR, "a fetch with epoch -1 is granted no session"),
    "session-id-kept": SessionRule(
        BROKER, ERROR, "the session that a full fetch names is closed; the new one has another id"
    ),
    "session-id-taken": SessionRule(BROKER, ERROR, "no two sessions have one id"),
    "session-id-changed": SessionRule(BROKER, ERROR, "a response in a session carries its id"),
    "session-dropped": SessionRule(BROKER, ERROR, "a session ends with session id 0 only when no partition is left"),
    "full-incomplete": SessionRule(BROKER, ERROR, "a full fetch is answered for each of its partitions"),
    "not-asked-answered": SessionRule(BROKER, ERROR, "only requested partitions are in a response"),
    "forgotten-answered": SessionRule(BROKER, ERROR, "forgotten partitions are answered no more"),
    "answered-twice": SessionRule(BROKER, ERROR, "a response names a partition once"),
    "unchanged-answered": SessionRule(BROKER, ERROR, "an incremental response leaves out what did not change"),
    "added-unanswered": SessionRule(BROKER, ERROR, "a partition added to a session is in the response"),
    "records-withheld": SessionRule(
        BROKER, ERROR, "records below the high watermark are delivered; responses are not empty again and again"
    ),
    "change-untold": SessionRule(BROKER, ERROR, "a high watermark that moved is in the next response"),
    "set-accepted": SessionRule(BROKER, ERROR, "in the draft a partition that the full fetch did not name is refused"),
    "error-with-partitions": SessionRule(BROKER, ERROR, "an error response has no partitions"),
}


def name_of(key: Key, names: Mapping[str, str]) -> str:
    """Return a partition as "topic[index]"; an unknown topic name is replaced by the id."""
    return f"{names.get(key[0], key[0])}[{key[1]}]"


class SessionFinding(NamedTuple):
    """A rule that an exchange breaks, with its connection and correlation id. ns: since 1970, 0 if unknown."""

    rule: str
    connection: str
    correlation_id: int
    ns: int
    client_id: str
    session_id: int
    text: str
    partitions: tuple[Key, ...] = ()

    @classmethod
    def at(
        cls, exchange: FetchExchange, rule: str, session_id: int, text: str, partitions: tuple[Key, ...] = ()
    ) -> SessionFinding:
        """Return a finding on this exchange. Its time is that of the message that breaks the rule."""
        ns = exchange.ns
        if RULES[rule].side == BROKER and exchange.response_ns:
            ns = exchange.response_ns
        client_id = exchange.client_id
        return cls(rule, exchange.connection, exchange.correlation_id, ns, client_id, session_id, text, partitions)

    @property
    def verdict(self) -> SessionRule:
        """The rule that was broken."""
        return RULES[self.rule]

    def message(self, names: Mapping[str, str]) -> str:
        """Return the text, followed by the names of its first partitions."""
        if not self.partitions:
            return self.text
        return f"{self.text}: {few_of([name_of(key, names) for key in self.partitions])}"

    def as_dict(self, timestamp: str | None, names: Mapping[str, str]) -> dict[str, Any]:
        """Return the finding as an object of `lint --format jsonl`."""
        return {
            "severity": self.verdict.severity,
            "rule": self.rule,
            "side": self.verdict.side,
            "connection": self.connection,
            "correlationId": self.correlation_id,
            "timestamp": timestamp,
            "clientId": self.client_id,
            "sessionId": self.session_id,
            "partitions": [name_of(key, names) for key in self.partitions],
            "message": self.message(names),
        }
