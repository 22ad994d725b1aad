"""Captured partitions stand for live ones in what is compared."""

from typing import Any, cast

from kcli.replay.sessions.target import LiveKeys, Target
from kcli.sessions.fetch_exchange import Key
from tests.replay.sessions.made import fetch


class Renamed:
    """A target whose topics have other ids from Fetch v13 on."""

    def live_key(self, key: Key, version: int) -> Key:
        return (f"live-{key[0]}" if version >= 13 else key[0]), key[1]


def test_a_live_partition_is_translated_to_the_captured_one() -> None:
    keys = LiveKeys(cast(Target, Renamed()))
    assert keys.live(("t", 0), 13) == ("live-t", 0) and keys.live(("t", 1), 12) == ("t", 1)
    live = fetch(0, {("live-t", 0): 1, ("t", 1): 2, ("u", 2): 3}, {("live-t", 0): 5}, granted=3)
    live.forgotten = [("live-t", 0)]
    keys.translate(live)
    assert [key for key, _ in live.asked] == [("t", 0), ("t", 1), ("u", 2)]
    assert [key for key, _ in live.reported] == [("t", 0)] and live.forgotten == [("t", 0)]


def test_only_partitions_that_were_asked_for_are_of_interest() -> None:
    keys = LiveKeys(cast(Target, Renamed()))
    keys.live(("t", 0), 13)
    known: dict[str, Any] = {"partitionIndex": 0}
    response = {"responses": [{"topicId": "live-t", "partitions": [known, {"partitionIndex": 9}]}]}
    assert list(keys.parts_of(response)) == [(known, ("t", 0))]
