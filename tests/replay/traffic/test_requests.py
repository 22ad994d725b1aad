"""Captured requests as live ones."""

from types import SimpleNamespace
from typing import Any

from kcli.replay.traffic.mapping import Mapper
from kcli.replay.traffic.positions import LivePositions
from kcli.replay.traffic.producers import Producers
from kcli.replay.traffic.replayed_connection import Requests
from kcli.schemas.apikeys import JOIN_GROUP
from tests.replay.traffic.test_identities import identities
from tests.replay.traffic.test_rounds import ITEMS


def test_a_member_that_joins_again_has_the_id_that_it_was_given() -> None:
    known = identities()
    learnt: Any = SimpleNamespace(suffix="-2", mapper=Mapper(known), producers=Producers(known), destinations=None)
    session: Any = SimpleNamespace(dialect=None, connection=SimpleNamespace(next_correlation=lambda: 9))
    made = Requests(learnt, LivePositions(known.topics))
    before = made.again(b"", ITEMS[0], 2, session)
    known.members["a"] = "given"
    after = made.again(b"", ITEMS[0], 2, session)
    assert b"given" not in before
    assert len(after) == len(before) + len("given")
    assert b"\0\5given" in after and b"\0\3c-2" in after
    assert after[:8] == JOIN_GROUP.to_bytes(2, "big") + b"\0\2\0\0\0\x09"
