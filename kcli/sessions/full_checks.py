"""Checks of full fetches, and those of any fetch; each finding is of one of `session_findings.RULES`."""

from collections import Counter

from kcli.counting import counted
from kcli.sessions.draft_exchange import UUID_MISMATCH, error_name
from kcli.sessions.epochs import EPOCH_MISMATCH, FINAL_EPOCH, ID_NOT_FOUND, TOPIC_ID_MISMATCH
from kcli.sessions.fetch_exchange import SESSIONS_SINCE, FetchExchange, Key
from kcli.sessions.registry import SessionRegistry
from kcli.sessions.session import ObservedSession

SESSION_ERRORS = (ID_NOT_FOUND, EPOCH_MISMATCH, TOPIC_ID_MISMATCH, UUID_MISMATCH)


def session_error(code: int) -> str:
    """Return the name of an error that is about sessions; "error N" for any other."""
    return error_name(code) if code in SESSION_ERRORS else f"error {code}"


def full_request(registry: SessionRegistry, x: FetchExchange, held: int) -> None:
    """Check a full request. held: the session that this client was granted on this connection and has not ended, 0
    without one.
    """
    if x.version < SESSIONS_SINCE:
        return
    if x.session_epoch < FINAL_EPOCH:
        registry.find(x, "epoch-invalid", x.session_id, f"epoch {x.session_epoch}")
    if x.forgotten:
        text = f"a full fetch forgets {counted(len(x.forgotten), 'partition')}"
        registry.find(x, "forgotten-in-full", x.session_id, text, x.forgotten)
    if len(x.asked) > 1:
        asked_twice(registry, x)
    if held and held != x.session_id and (x.server, held) in registry.sessions:
        with_ = f"closes session {x.session_id}" if x.session_id else "names no session"
        text = f"a full fetch that {with_}, though session {held} was granted and is good"
        registry.find(x, "session-unused", held, text)


def full_response(registry: SessionRegistry, x: FetchExchange) -> None:
    """Check that the response to a full fetch has all its partitions and no other, and a new session id."""
    if len(x.reported) > 1:
        answered_twice(registry, x, x.session_id)
    throttled = x.throttle_ms > 0 and not x.reported
    if not throttled:
        compare_full(registry, x)
    if x.session_epoch == FINAL_EPOCH and x.granted:
        registry.find(x, "session-not-wanted", x.granted, f"session {x.granted} granted to a fetch with epoch -1")
    elif x.granted and x.granted == x.session_id:
        registry.find(x, "session-id-kept", x.granted, f"the new session has the id of the closed one, {x.granted}")


def compare_full(registry: SessionRegistry, x: FetchExchange) -> None:
    if [key for key, _ in x.asked] == [key for key, _ in x.reported]:
        return
    asked = {key for key, _ in x.asked}
    reported = {key for key, _ in x.reported}
    number = x.granted or x.session_id
    missing = [key for key, _ in x.asked if key not in reported]
    if missing:
        text = f"a full fetch of {counted(len(asked), 'partition')} is answered without {len(missing)}"
        registry.find(x, "full-incomplete", number, text, missing)
    foreign = [key for key, _ in x.reported if key not in asked]
    if foreign:
        text = f"a full fetch is answered with {counted(len(foreign), 'partition')} that it did not ask for"
        registry.find(x, "not-asked-answered", number, text, foreign)


def id_taken(registry: SessionRegistry, x: FetchExchange, former: ObservedSession) -> None:
    """Check that a granted session id is not that of another client's live session."""
    if former.complete and x.granted != x.session_id:
        text = f"session id {x.granted} granted, which {former.client_id} on {former.connection} has"
        registry.find(x, "session-id-taken", x.granted, text)


def error_response(registry: SessionRegistry, x: FetchExchange) -> None:
    """Check that a response with a session error has no partitions."""
    if x.error and x.reported:
        text = f"{session_error(x.error)} with {counted(len(x.reported), 'partition')}"
        registry.find(x, "error-with-partitions", x.session_id, text)


def asked_twice(registry: SessionRegistry, x: FetchExchange) -> None:
    """Check that a request names no partition twice."""
    keys = [key for key, _ in x.asked]
    if len(set(keys)) < len(keys):
        registry.find(x, "asked-twice", x.session_id, "names partitions twice", doubles(keys))


def answered_twice(registry: SessionRegistry, x: FetchExchange, session_id: int) -> None:
    """Check that a response answers no partition twice."""
    keys = [key for key, _ in x.reported]
    if len(set(keys)) < len(keys):
        registry.find(x, "answered-twice", session_id, "answers partitions twice", doubles(keys))


def doubles(keys: list[Key]) -> list[Key]:
    return sorted(key for key, count in Counter(keys).items() if count > 1)
