"""Sessions of which a capture has a part, and when a request that ends one was taken in."""

from typing import Any

from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.broker.rebuilt.captured_sessions import CapturedSessions
from kcli.broker.rebuilt.rebuild import RebuiltBroker
from kcli.broker.rebuilt.session_capacity import FetchKey, SessionCapacity
from kcli.sessions.fetch_exchange import Captured
from tests.broker.talk import run, talking
from tests.replay.sessions.made import fetch

WIDTH = (2**31 - 1) // 8
MS = 10**6


def asked(captured: Captured, granted: int, answered_ms: int) -> tuple[FetchKey, int, Any, Any]:
    place = FetchKey(captured.connection, captured.correlation_id, captured.ns)
    head = {"sessionId": captured.session_id, "sessionEpoch": captured.session_epoch}
    return place, captured.ns + answered_ms * MS, head, {"errorCode": 0, "sessionId": granted, "responses": [{}]}


def test_a_slot_is_not_free_before_who_was_refused_at_the_same_time() -> None:
    async def work() -> None:
        history = CaptureHistory()
        slots = history.sessions.by_server["s:1"] = SessionCapacity()
        first, refused = fetch(0, {("t", 0): 0}), fetch(1, {("t", 0): 0}, connection="s:1-c:2")
        close = fetch(1.1, session=(5, -1), granted=0)
        refused.response_ns = refused.ns + 400 * MS
        close.response_ns = close.ns + 100 * MS
        for each, granted, late in ((first, 5, 1), (refused, 0, 400), (close, 0, 100)):
            slots.take(*asked(each, granted, late))
        slots.shards = 1
        history.settle()
        slots.shards = 1
        async with talking(RebuiltBroker(history, staged=True)) as talk:
            sessions = CapturedSessions(talk.broker, history)
            assert sessions.arrival(first) == first.ns
            assert sessions.arrival(close) == refused.response_ns + 1
            gone = fetch(3, session=(5, 7), error=70)
            assert sessions.arrival(gone) == gone.response_ns
            assert sessions.unknown(refused) == "the order of requests that were sent at the same time"
            assert sessions.unknown(refused) == "consequences of other facts that it does not show"

    run(work())
