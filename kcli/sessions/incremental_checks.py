"""Checks incremental fetches one by one, and updates the known state of their session. Only certain facts are judged:
an unknown epoch, position or offset breaks no rule.
"""

from kcli.core.sessions.fetches import PartitionState
from kcli.counting import counted
from kcli.sessions.epochs import EPOCH_MISMATCH, NO_SESSION, TOPIC_ID_MISMATCH
from kcli.sessions.fetch_exchange import TOPIC_IDS_SINCE, FetchExchange, Key
from kcli.sessions.full_checks import answered_twice, asked_twice, session_error
from kcli.sessions.registry import SessionRegistry
from kcli.sessions.session import ObservedSession
from kcli.sessions.session_findings import name_of

PATIENCE = 3  # after so many responses in a row that lack records which the broker has, these are late
BIG_BATCH = 1 << 20  # the largest batch by default, in bytes; topics may allow more


def no_session(registry: SessionRegistry, x: FetchExchange) -> None:
    """Report a fetch with an epoch above 0 without a session id, or with one that no broker assigns."""
    session = "without a session id" if x.session_id == NO_SESSION else f"in session {x.session_id}"
    registry.find(x, "epoch-invalid", x.session_id, f"epoch {x.session_epoch} {session}")


def closed_used(registry: SessionRegistry, ended: ObservedSession, x: FetchExchange) -> None:
    """Check that a session that has ended is neither used nor answered any more."""
    if ended.end in ("not used any more", "left behind") or not ended.since_start:
        return
    if 0 < x.ns < ended.end_ns and ended.end not in ("evicted", "error"):
        return  # it was sent before the client ended the session
    why = f"was {ended.end}" if ended.end != "error" else f"ended with {session_error(ended.end_error)}"
    text = f"{'the uuid' if x.draft else f'epoch {x.session_epoch}'} of a session that {why}"
    registry.find(x, "closed-session-used", x.session_id, text)
    if x.answered and not x.error and ended.end != "error":
        registry.find(x, "closed-session-answered", x.session_id, f"{text} is answered without an error")


def same_client(registry: SessionRegistry, session: ObservedSession, x: FetchExchange) -> None:
    """Check that only the client that was granted a session uses it."""
    if (session.client_id, session.replica_id) != (x.client_id, x.replica_id):
        text = f"session of {session.client_id} on {session.connection} used by {x.client_id}"
        registry.find(x, "session-shared", x.session_id, text)


def epoch(registry: SessionRegistry, session: ObservedSession, x: FetchExchange) -> None:
    """Check that the epoch is the one after the session's last (KIP-227), and that topics are named as in the
    session.
    """
    expected = session.next_epoch
    if expected >= 0 and x.session_epoch != expected:
        text = f"epoch {x.session_epoch} where {expected} is due"
        registry.find(x, "epoch-jump", x.session_id, text)
        if x.answered and not x.error:
            registry.find(x, "epoch-accepted", x.session_id, f"{text} is answered without an error")
    if expected >= 0:
        one_under_way(registry, session, x)
    if session.topic_ids != (x.version >= TOPIC_IDS_SINCE):
        text = f"Fetch v{x.version} in a session that began with v{session.version}"
        registry.find(x, "naming-switched", x.session_id, text)
        if x.answered and not x.error:
            registry.find(x, "naming-accepted", x.session_id, f"{text} is answered without an error")


def one_under_way(registry: SessionRegistry, session: ObservedSession, x: FetchExchange) -> None:
    """Check that the previous fetch was answered before this one was sent."""
    if x.ns and x.ns < session.answered_ns:
        ms = (session.answered_ns - x.ns) / 1e6
        registry.find(x, "two-in-flight", x.session_id, f"sent {ms:.3f} ms before the fetch before it was answered")


def check_request(registry: SessionRegistry, session: ObservedSession, x: FetchExchange) -> None:
    """Judge the request's positions and forgotten partitions, and update the session as the broker does."""
    added = 0
    if len(x.asked) > 1:
        asked_twice(registry, x)
    for key, asked in x.asked:
        seat = session.seats.get(key)
        if seat is None:
            added += session.complete or key in session.forgotten
            session.add(key, asked, session.complete or key in session.forgotten)
            continue
        session.changed += 1
        if seat.asked is not None:
            moved(registry, session, x, key, seat, asked[0])
            if seat.asked == asked:
                text = f"names {name_of(key, registry.offsets.names)} though nothing about it changed"
                registry.find(x, "asked-again", x.session_id, text)
        seat.asked = asked
        seat.delivered = False
        seat.skipped = 0
        follow(session, x, seat)
    if x.forgotten:
        forget(registry, session, x)
    if added or x.forgotten:
        session.note_change(x.ns, added, len(x.forgotten))


def moved(
    registry: SessionRegistry, session: ObservedSession, x: FetchExchange, key: Key, seat: PartitionState, offset: int
) -> None:
    """Check that a position moves only over returned records, or to an offset that the client learned elsewhere."""
    before = seat.asked[0] if seat.asked is not None else offset
    if offset <= before or seat.delivered or not seat.informed:
        return
    if session.privileged:
        if seat.start >= offset or seat.high < 0:
            return
    elif not seat.skipped and (offset <= seat.high or registry.offsets.explains(key, offset, session.used_ns)):
        return
    text = (
        f"{name_of(key, registry.offsets.names)} moves from {before} to {offset} though no response had records of it"
    )
    registry.find(x, "position-jump", x.session_id, text)


def forget(registry: SessionRegistry, session: ObservedSession, x: FetchExchange) -> None:
    both = {key for key, _ in x.asked}.intersection(x.forgotten) if x.asked else ()
    if both:
        text = f"{counted(len(both), 'partition is', 'partitions are')} requested and forgotten at once"
        registry.find(x, "asked-and-forgotten", x.session_id, text, sorted(both))
    unknown = [key for key in x.forgotten if not session.drop(key)]
    if unknown and session.complete:
        text = f"forgets {counted(len(unknown), 'partition that is', 'partitions that are')} not in the session"
        registry.find(x, "forgotten-unknown", x.session_id, text, unknown)


def check_response(registry: SessionRegistry, session: ObservedSession, x: FetchExchange) -> None:
    """Judge the response's partitions against the earlier reports to the fetcher, and update the session."""
    number = session.fetches
    total = late_answered = 0
    foreign: list[Key] = []
    unchanged: list[Key] = []
    seats = session.seats
    check_whole(registry, x)
    for key, reported in x.reported:
        seat = seats.get(key)
        total += reported[4]
        if seat is None:
            foreign.append(key)
            continue
        late_answered += seat.late
        if seat.informed:
            if not seat.is_news(reported):
                unchanged.append(key)
            elif reported[1] > seat.high >= 0 and not reported[0] and seat.answered != number - 1:
                late_watermark(registry, session, x, key, seat)
        seat.note(reported, number)
    check_odd(registry, session, x, foreign, unchanged)
    if not x.throttle_ms:
        added_unanswered(registry, session, x)
        if session.late > late_answered:
            withheld(registry, session, x, total)
        session.quiet_since = x.ns
    for key, _ in x.reported:
        seat = seats.get(key)
        if seat is not None:
            follow(session, x, seat)


def check_whole(registry: SessionRegistry, x: FetchExchange) -> None:
    """Check the response's session id, and that it has no partition twice."""
    if x.granted not in (NO_SESSION, x.session_id):
        text = f"session {x.granted} in a response in session {x.session_id}"
        registry.find(x, "session-id-changed", x.session_id, text)
    if len(x.reported) > 1:
        answered_twice(registry, x, x.session_id)


def check_odd(
    registry: SessionRegistry, session: ObservedSession, x: FetchExchange, foreign: list[Key], unchanged: list[Key]
) -> None:
    if foreign:
        unasked(registry, session, x, foreign)
    if unchanged:
        text = f"answers {counted(len(unchanged), 'partition')} that did not change"
        registry.find(x, "unchanged-answered", x.session_id, text, unchanged)


def follow(session: ObservedSession, x: FetchExchange, seat: PartitionState) -> None:
    """Note whether a consumer's partition has more records to deliver."""
    late = not session.privileged and seat.is_behind(x.isolation)
    session.late += late - seat.late
    seat.late = late


def unasked(registry: SessionRegistry, session: ObservedSession, x: FetchExchange, keys: list[Key]) -> None:
    """Check for partitions outside the session: forgotten ones or, if the whole set is known, unknown ones."""
    forgotten = [key for key in keys if key in session.forgotten]
    if forgotten:
        text = f"answers {counted(len(forgotten), 'partition that was', 'partitions that were')} forgotten"
        registry.find(x, "forgotten-answered", x.session_id, text, forgotten)
    strange = [key for key in keys if key not in session.forgotten]
    if not strange:
        return
    if session.complete:
        text = f"answers {counted(len(strange), 'partition that is', 'partitions that are')} not in the session"
        registry.find(x, "not-asked-answered", x.session_id, text, strange)
        return
    for key, reported in x.reported:
        if key in strange and key not in session.seats:
            session.add(key, None, True).note(reported, session.fetches)


def added_unanswered(registry: SessionRegistry, session: ObservedSession, x: FetchExchange) -> None:
    """Check that the response has each partition that the request added, because none of these was reported before."""
    if not x.asked:
        return
    missing = []
    for key, _ in x.asked:
        seat = session.seats.get(key)
        if seat is not None and seat.informed and seat.answered < 0:
            missing.append(key)
            seat.informed = False
    if missing and x.granted:
        text = f"answers nothing about {counted(len(missing), 'partition that was', 'partitions that were')} just added"
        registry.find(x, "added-unanswered", x.session_id, text, missing)


def withheld(registry: SessionRegistry, session: ObservedSession, x: FetchExchange, total: int) -> None:
    """Check that a consumer's partitions with more records are in the response while there is room for a batch."""
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
        # Others had records. Tiered storage serves one partition at a time, so that this may repeat. Empty responses
        # may not.
        seat.skipped = 1 if total else seat.skipped + 1
        if seat.skipped == PATIENCE:
            late.append(key)
    if late:
        these = counted(len(late), "partition has some and is", "partitions have some and are")
        text = f"responses without any records, though {these} requested"
        registry.find(x, "records-withheld", x.session_id, text, sorted(late))


def late_watermark(
    registry: SessionRegistry, session: ObservedSession, x: FetchExchange, key: Key, seat: PartitionState
) -> None:
    """Check that a high watermark that changed is reported at once, not left out of the previous response."""
    if not session.quiet_since:
        return
    mark = registry.offsets.marks.moved_past(x.server, key, session.topic_ids, seat.high, session.quiet_since)
    if mark is not None:
        name = name_of(key, registry.offsets.names)
        text = f"the response before left out {name}: high watermark {seat.high} here, {mark} already sent to others"
        registry.find(x, "change-untold", x.session_id, text)


def dropped(registry: SessionRegistry, session: ObservedSession, x: FetchExchange) -> None:
    """Check that the broker ends no session that has partitions left."""
    if session.complete and session.size:
        text = f"session id 0, though {counted(session.size, 'partition is', 'partitions are')} left"
        registry.find(x, "session-dropped", x.session_id, text)


def refused(registry: SessionRegistry, session: ObservedSession, x: FetchExchange) -> None:
    """Check that an error response has a reason. The request's positions still show the client's state."""
    for key, asked in x.asked:
        seat = session.seats.get(key)
        if seat is not None:
            moved(registry, session, x, key, seat, asked[0])
    if x.error == EPOCH_MISMATCH and session.next_epoch == x.session_epoch:
        text = f"epoch {x.session_epoch} refused, which was due"
        registry.find(x, "epoch-refused", x.session_id, text)
    if x.error == TOPIC_ID_MISMATCH and session.topic_ids == (x.version >= TOPIC_IDS_SINCE) and session.since_start:
        text = f"Fetch v{x.version} refused in a session that began with v{session.version}"
        registry.find(x, "naming-refused", x.session_id, text)
