"""How each rule of `findings` is judged, fetch by fetch, and how a fetch changes what is known of its session.

Only what a capture shows for certain is judged: an unknown epoch, position or told offset breaks no rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.sessions.draft_trace import UUID_MISMATCH, error_name
from kcli.sessions.epochs import EPOCH_MISMATCH, FINAL_EPOCH, ID_NOT_FOUND, NO_SESSION, TOPIC_ID_MISMATCH
from kcli.sessions.session import ObservedSession
from kcli.sessions.state import Seat
from kcli.sessions.trace import SESSIONS_SINCE, TOPIC_IDS_SINCE, FetchExchange, Key

if TYPE_CHECKING:
    from kcli.sessions.tracker import Tracker

__all__ = [
    "asked_twice",
    "closed_used",
    "dropped",
    "epoch",
    "error_response",
    "full_request",
    "full_response",
    "id_taken",
    "no_session",
    "refused",
    "same_client",
    "take_in",
    "tell",
]

SESSION_ERRORS = (ID_NOT_FOUND, EPOCH_MISMATCH, TOPIC_ID_MISMATCH, UUID_MISMATCH)
PATIENCE = 3  # answers without records that are to come, until that is worth a finding
BIG_BATCH = 1 << 20  # no batch is bigger than this unless a topic is configured so


def session_error(code: int) -> str:
    """The name of an error that is about sessions; any other stays a number."""
    return error_name(code) if code in SESSION_ERRORS else f"error {code}"


# Full fetches.


def full_request(tracker: Tracker, x: FetchExchange, held: int) -> None:
    """held: the session that this client was granted on this connection and has not ended."""
    if x.version < SESSIONS_SINCE:
        return
    if x.session_epoch < FINAL_EPOCH:
        tracker.find(x, "epoch-invalid", x.session_id, f"epoch {x.session_epoch}")
    if x.forgotten:
        text = f"a full fetch forgets {len(x.forgotten)} partitions"
        tracker.find(x, "forgotten-in-full", x.session_id, text, x.forgotten)
    if len(x.asked) > 1:
        asked_twice(tracker, x)
    if held and held != x.session_id and (x.server, held) in tracker.sessions:
        with_ = f"closes session {x.session_id}" if x.session_id else "names no session"
        text = f"a full fetch that {with_}, though session {held} was granted and is good"
        tracker.find(x, "session-unused", held, text)


def full_response(tracker: Tracker, x: FetchExchange) -> None:
    """Rules for the response to a full fetch: complete, no foreign partition, a new session id."""
    if len(x.told) > 1:
        answered_twice(tracker, x, x.session_id)
    throttled = x.throttle_ms > 0 and not x.told
    if not throttled:
        compare_full(tracker, x)
    if x.session_epoch == FINAL_EPOCH and x.granted:
        tracker.find(x, "session-not-wanted", x.granted, f"session {x.granted} granted to a fetch with epoch -1")
    elif x.granted and x.granted == x.session_id:
        tracker.find(x, "session-id-kept", x.granted, f"the new session has the id of the closed one, {x.granted}")


def compare_full(tracker: Tracker, x: FetchExchange) -> None:
    if [key for key, _ in x.asked] == [key for key, _ in x.told]:
        return
    asked = {key for key, _ in x.asked}
    told = {key for key, _ in x.told}
    number = x.granted or x.session_id
    missing = [key for key, _ in x.asked if key not in told]
    if missing:
        text = f"a full fetch of {len(asked)} partitions is answered without {len(missing)}"
        tracker.find(x, "full-incomplete", number, text, missing)
    foreign = [key for key, _ in x.told if key not in asked]
    if foreign:
        text = f"a full fetch is answered with {len(foreign)} partitions that it did not ask for"
        tracker.find(x, "not-asked-answered", number, text, foreign)


def id_taken(tracker: Tracker, x: FetchExchange, former: ObservedSession) -> None:
    """Rule: a granted session id is not that of another client's live session."""
    if former.complete and x.granted != x.session_id:
        text = f"session id {x.granted} granted, which {former.client_id} on {former.connection} has"
        tracker.find(x, "session-id-taken", x.granted, text)


# Incremental fetches: the request.


def no_session(tracker: Tracker, x: FetchExchange) -> None:
    """Rule: a fetch with an epoch above 0 names a session."""
    tracker.find(x, "epoch-invalid", NO_SESSION, f"epoch {x.session_epoch} without a session id")


def closed_used(tracker: Tracker, ended: ObservedSession, x: FetchExchange) -> None:
    """A session that was seen to end is used again."""
    if ended.end in ("not used any more", "left behind") or not ended.since_start:
        return
    why = f"was {ended.end}" if ended.end != "error" else f"ended with {session_error(ended.end_error)}"
    text = f"{'the uuid' if x.draft else f'epoch {x.session_epoch}'} of a session that {why}"
    tracker.find(x, "closed-session-used", x.session_id, text)
    if x.answered and not x.error and ended.end != "error":
        tracker.find(x, "closed-session-answered", x.session_id, f"{text} is answered without an error")


def same_client(tracker: Tracker, session: ObservedSession, x: FetchExchange) -> None:
    """Rule: a session is used only by the client that it was granted to."""
    if (session.client_id, session.replica_id) != (x.client_id, x.replica_id):
        text = f"session of {session.client_id} on {session.connection} used by {x.client_id}"
        tracker.find(x, "session-shared", x.session_id, text)


def epoch(tracker: Tracker, session: ObservedSession, x: FetchExchange) -> None:
    """Rule: the epoch is the one behind the session's last (KIP-227)."""
    expected = session.next_epoch
    if expected >= 0 and x.session_epoch != expected:
        text = f"epoch {x.session_epoch} where {expected} is due"
        tracker.find(x, "epoch-jump", x.session_id, text)
        if x.answered and not x.error:
            tracker.find(x, "epoch-accepted", x.session_id, f"{text} is answered without an error")
    if x.ns and x.ns < session.answered_ns and expected >= 0:
        ms = (session.answered_ns - x.ns) / 1e6
        tracker.find(x, "two-in-flight", x.session_id, f"sent {ms:.3f} ms before the fetch before it was answered")
    if session.topic_ids != (x.version >= TOPIC_IDS_SINCE):
        text = f"Fetch v{x.version} in a session that began with v{session.version}"
        tracker.find(x, "naming-switched", x.session_id, text)
        if x.answered and not x.error:
            tracker.find(x, "naming-accepted", x.session_id, f"{text} is answered without an error")


def take_in(tracker: Tracker, session: ObservedSession, x: FetchExchange) -> None:
    """The request's positions and forgotten partitions, as the broker takes them in."""
    added = 0
    if len(x.asked) > 1:
        asked_twice(tracker, x)
    for key, asked in x.asked:
        seat = session.seats.get(key)
        if seat is None:
            added += session.complete or key in session.forgotten
            session.add(key, asked, session.complete or key in session.forgotten)
            continue
        session.changed += 1
        if seat.asked is not None:
            moved(tracker, session, x, key, seat, asked[0])
            if seat.asked == asked:
                text = f"names {name_of(tracker, key)} though nothing about it changed"
                tracker.find(x, "asked-again", x.session_id, text)
        seat.asked = asked
        seat.delivered = False
        seat.skipped = 0
        follow(session, x, seat)
    if x.forgotten:
        forget(tracker, session, x)
    if added or x.forgotten:
        session.note_change(x.ns, added, len(x.forgotten))


def moved(tracker: Tracker, session: ObservedSession, x: FetchExchange, key: Key, seat: Seat, offset: int) -> None:
    """A position may only move on over records that were delivered, unless the client had word of the offset."""
    before = seat.asked[0] if seat.asked is not None else offset
    if offset <= before or seat.delivered or not seat.informed:
        return
    if session.privileged:
        if seat.start >= offset or seat.high < 0:
            return
    elif not seat.skipped and (offset <= seat.high or tracker.offsets.explains(key, offset, session.used_ns)):
        return
    text = f"{name_of(tracker, key)} moves from {before} to {offset} though no answer had records of it"
    tracker.find(x, "position-jump", x.session_id, text)


def forget(tracker: Tracker, session: ObservedSession, x: FetchExchange) -> None:
    both = {key for key, _ in x.asked}.intersection(x.forgotten) if x.asked else ()
    if both:
        text = f"{len(both)} partitions are asked for and forgotten at once"
        tracker.find(x, "asked-and-forgotten", x.session_id, text, sorted(both))
    unknown = [key for key in x.forgotten if not session.drop(key)]
    if unknown and session.complete:
        text = f"forgets {len(unknown)} partitions that are not in the session"
        tracker.find(x, "forgotten-unknown", x.session_id, text, unknown)


# Incremental fetches: the response.


def tell(tracker: Tracker, session: ObservedSession, x: FetchExchange) -> None:
    """The response's partitions, judged against what the fetcher had been told."""
    number = session.fetches
    total = told_late = 0
    foreign: list[Key] = []
    unchanged: list[Key] = []
    seats = session.seats
    tell_whole(tracker, x)
    for key, told in x.told:
        seat = seats.get(key)
        total += told[4]
        if seat is None:
            foreign.append(key)
            continue
        told_late += seat.late
        if seat.informed:
            if not seat.is_news(told):
                unchanged.append(key)
            elif told[1] > seat.high >= 0 and not told[0] and seat.answered != number - 1:
                untold(tracker, session, x, key, seat)
        seat.tell(told, number)
    tell_odd(tracker, session, x, foreign, unchanged)
    if not x.throttle_ms:
        added_unanswered(tracker, session, x)
        if session.late > told_late:
            withheld(tracker, session, x, total)
        session.quiet_since = x.ns
    for key, _ in x.told:
        seat = seats.get(key)
        if seat is not None:
            follow(session, x, seat)


def tell_whole(tracker: Tracker, x: FetchExchange) -> None:
    """The response as a whole."""
    if x.granted not in (NO_SESSION, x.session_id):
        text = f"session {x.granted} in an answer in session {x.session_id}"
        tracker.find(x, "session-id-changed", x.session_id, text)
    if len(x.told) > 1:
        answered_twice(tracker, x, x.session_id)


def tell_odd(
    tracker: Tracker, session: ObservedSession, x: FetchExchange, foreign: list[Key], unchanged: list[Key]
) -> None:
    if foreign:
        unasked(tracker, session, x, foreign)
    if unchanged:
        text = f"answers {len(unchanged)} partitions that did not change"
        tracker.find(x, "unchanged-answered", x.session_id, text, unchanged)


def follow(session: ObservedSession, x: FetchExchange, seat: Seat) -> None:
    """Whether a consumer's partition has records to come."""
    late = not session.privileged and seat.is_behind(x.isolation)
    session.late += late - seat.late
    seat.late = late


def unasked(tracker: Tracker, session: ObservedSession, x: FetchExchange, keys: list[Key]) -> None:
    """Partitions outside the session: forgotten ones, or, when the whole set is known, ones nobody asked for."""
    gone = [key for key in keys if key in session.forgotten]
    if gone:
        text = f"answers {len(gone)} partitions that were forgotten"
        tracker.find(x, "forgotten-answered", x.session_id, text, gone)
    strange = [key for key in keys if key not in session.forgotten]
    if not strange:
        return
    if session.complete:
        text = f"answers {len(strange)} partitions that are not in the session"
        tracker.find(x, "not-asked-answered", x.session_id, text, strange)
        return
    for key, told in x.told:
        if key in strange and key not in session.seats:
            session.add(key, None, True).tell(told, session.fetches)


def added_unanswered(tracker: Tracker, session: ObservedSession, x: FetchExchange) -> None:
    """What was just added has never been told, so the answer must have it."""
    if not x.asked:
        return
    missing = []
    for key, _ in x.asked:
        seat = session.seats.get(key)
        if seat is not None and seat.informed and seat.answered < 0:
            missing.append(key)
            seat.informed = False
    if missing and x.granted:
        text = f"answers nothing about {len(missing)} partitions that were just added"
        tracker.find(x, "added-unanswered", x.session_id, text, missing)


def withheld(tracker: Tracker, session: ObservedSession, x: FetchExchange, total: int) -> None:
    """A consumer's partitions that have records to come are answered while there is room for a batch."""
    if total and total + BIG_BATCH > x.max_bytes:
        return
    number = session.fetches
    late = []
    for key, seat in session.seats.items():
        if not seat.late:
            continue
        small = seat.asked is None or seat.asked[2] < BIG_BATCH
        if seat.answered == number or (total and small):
            continue
        # Others had records: tiered storage serves one partition at a time, so this may go on. Empty answers may not.
        seat.skipped = 1 if total else seat.skipped + 1
        if seat.skipped == PATIENCE:
            late.append(key)
    if late:
        text = f"answers without any records, though {len(late)} partitions have some and are asked for"
        tracker.find(x, "records-withheld", x.session_id, text, sorted(late))


def untold(tracker: Tracker, session: ObservedSession, x: FetchExchange, key: Key, seat: Seat) -> None:
    """The answer before this one left the partition out: had its high watermark moved already then?"""
    if not session.quiet_since:
        return
    mark = tracker.offsets.marks.moved_past(x.server, key, session.topic_ids, seat.high, session.quiet_since)
    if mark is not None:
        text = f"the answer before this one left out {name_of(tracker, key)}: it was told {seat.high}, others {mark}"
        tracker.find(x, "change-untold", x.session_id, text)


def dropped(tracker: Tracker, session: ObservedSession, x: FetchExchange) -> None:
    """Rule: a broker drops no session that has partitions left."""
    if session.complete and session.size:
        text = f"session id 0, though {session.size} partitions are left"
        tracker.find(x, "session-dropped", x.session_id, text)


def refused(tracker: Tracker, session: ObservedSession, x: FetchExchange) -> None:
    """An error in answer to a session: was there a reason? The positions say what the client believes all the same."""
    for key, asked in x.asked:
        seat = session.seats.get(key)
        if seat is not None:
            moved(tracker, session, x, key, seat, asked[0])
    if x.error == EPOCH_MISMATCH and session.next_epoch == x.session_epoch:
        text = f"epoch {x.session_epoch} refused, which was due"
        tracker.find(x, "epoch-refused", x.session_id, text)
    if x.error == TOPIC_ID_MISMATCH and session.topic_ids == (x.version >= TOPIC_IDS_SINCE) and session.since_start:
        text = f"Fetch v{x.version} refused in a session that began with v{session.version}"
        tracker.find(x, "naming-refused", x.session_id, text)


# Both.


def error_response(tracker: Tracker, x: FetchExchange) -> None:
    """Rule: a response with a session error has no partitions."""
    if x.error and x.told:
        text = f"{session_error(x.error)} with {len(x.told)} partitions"
        tracker.find(x, "error-with-partitions", x.session_id, text)


def asked_twice(tracker: Tracker, x: FetchExchange) -> None:
    """Rule: a request names no partition twice."""
    keys = [key for key, _ in x.asked]
    if len(set(keys)) < len(keys):
        tracker.find(x, "asked-twice", x.session_id, "names partitions twice", doubles(keys))


def answered_twice(tracker: Tracker, x: FetchExchange, session_id: int) -> None:
    keys = [key for key, _ in x.told]
    if len(set(keys)) < len(keys):
        tracker.find(x, "answered-twice", session_id, "answers partitions twice", doubles(keys))


def doubles(keys: list[Key]) -> list[Key]:
    seen: set[Key] = set()
    return sorted({key for key in keys if key in seen or seen.add(key)})  # type: ignore[func-returns-value]


def name_of(tracker: Tracker, key: Key) -> str:
    return f"{tracker.offsets.names.get(key[0], key[0])}[{key[1]}]"
