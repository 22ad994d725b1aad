"""The tables themselves: complete, and with the numbers of KIP-227."""

import pytest

from kcli.sessions.rules import (
    BROKER,
    CLIENT,
    INCLUDE,
    RULES,
    Action,
    Came,
    Found,
    Kind,
    Reported,
    SessionState,
    kind_of,
)
from kcli.sessions.values import Result


def test_a_client_knows_what_to_do_with_whatever_comes() -> None:
    full = {Came.GRANTED, Came.NOT_GRANTED, Came.THROTTLED, Came.MALFORMED, Came.NOT_FOUND, Came.FAILED, Came.LOST}
    live = {Came.CONTINUED, Came.ENDED, Came.MALFORMED, Came.NOT_FOUND, Came.FAILED, Came.LOST}
    expected = {(state, came) for state in (SessionState.OPENING, SessionState.REOPENING) for came in full}
    assert set(CLIENT) == expected | {(SessionState.LIVE, came) for came in live}


def test_a_broker_knows_what_to_do_with_every_request() -> None:
    incremental = {(Kind.INCREMENTAL, found) for found in Found}
    full = {(kind, found) for kind in (Kind.FULL, Kind.FINAL) for found in (Found.NOTHING, Found.CURRENT)}
    assert set(BROKER) == incremental | full


@pytest.mark.parametrize(("action", "code"), [("REFUSE_ID", 70), ("REFUSE_EPOCH", 71), ("REFUSE_NAMING", 106)])
def test_refusals_are_kafkas_errors(action: str, code: int) -> None:
    """KIP-227: errors 70, 71 and 106."""
    assert Action[action].value == code


@pytest.mark.parametrize(("epoch", "kind"), [(0, Kind.FULL), (-1, Kind.FINAL), (1, Kind.INCREMENTAL)])
def test_epochs_say_what_a_request_is(epoch: int, kind: Kind) -> None:
    """KIP-227: epoch 0 asks for a session, -1 ends it, any other goes on in it."""
    assert kind_of(epoch) is kind


@pytest.mark.parametrize(
    ("result", "reasons"),
    [
        (Result(5, 5, 0), []),
        (Result(5, 4, 0), []),
        (Result(6, 6, 0), ["high watermark"]),
        (Result(5, 5, 2), ["log start offset"]),
        (Result(5, 5, 0, records_size=1), ["records"]),
        (Result(5, 5, 0, error=6), ["error"]),
        (Result(5, 5, 0, preferred_replica=0), ["preferred replica"]),
        (Result(5, 5, 0, diverging=True), ["diverging epoch"]),
        (Result(-1, -1, -1, error=3), ["error", "high watermark", "log start offset"]),
    ],
)
def test_what_a_response_has_to_say(result: Result, reasons: list[str]) -> None:
    """KIP-227: what puts a partition into an incremental response."""
    assert RULES.reasons(Reported(5, 0), result) == reasons
    assert set(INCLUDE) >= set(reasons)
