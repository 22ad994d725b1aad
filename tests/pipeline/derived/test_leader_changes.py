"""Leader changes, from rows made by hand."""

from typing import Any

from kcli.pipeline.derived.leader_changes import changes
from tests.pipeline.outputs import named

MS = 1_000_000


def outcome(at: int, error: int, server: str = "a:1", hint: int = -1, answers: int = 1) -> dict[str, Any]:
    return {
        "first_ns": at * MS, "first_request_ns": at * MS - 2 * MS, "last_ns": at * MS, "error": error, "server": server,
        "answers": answers, "hint_leader": hint, "hint_server": "b:1" if hint >= 0 else None, "client_id": "c",
        "client_address": "h", "api": "PRODUCE", "topic": "t", "partition": 0,
    }  # fmt: skip


def test_a_change_is_from_the_first_error_to_the_next_good_answer() -> None:
    rows = [outcome(1, 0), outcome(10, 6, answers=3), outcome(60, 6, "b:1"), outcome(100, 0, "c:1"), outcome(120, 0)]
    (row,) = named("leader_changes", changes(iter(rows)))
    assert (row["error_answers"], row["from_server"], row["to_server"], row["lost_ms"]) == (4, "a:1", "c:1", 90.0)
    assert (row["hint_sent"], row["hint_saves_ms"]) == (False, 88.0)


def test_a_hint_has_nothing_left_to_save() -> None:
    (row,) = named("leader_changes", changes(iter([outcome(10, 74, hint=2), outcome(15, 0, "b:1")])))
    assert (row["hint_sent"], row["hint_leader"], row["hint_server"], row["hint_saves_ms"]) == (True, 2, "b:1", 0.0)
    assert row["error"] == "FENCED_LEADER_EPOCH"


def test_a_change_without_an_end() -> None:
    (row,) = named("leader_changes", changes(iter([outcome(10, 6)])))
    assert (row["to_server"], row["recovered"], row["lost_ms"]) == (None, None, None)
