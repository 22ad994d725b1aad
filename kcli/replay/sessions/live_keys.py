"""Which live partition a captured one is, and back: topics of the live cluster have other ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcli.replay.sessions.target import Target
from kcli.sessions.trace import Captured, Key


class LiveKeys:
    """Remembers the captured partition of each live one that was asked for."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.captured: dict[Key, Key] = {}

    def live(self, key: Key, version: int) -> Key:
        """The live partition of a captured one, as Fetch of this version names it."""
        live = self.target.live_key(key, version)
        self.captured[live] = key
        return live

    def parts_of(self, response: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Key]]:
        """Each partition of a live response, with its key in the capture."""
        for topic in response["responses"]:
            name = topic.get("topicId") or topic.get("topic")
            for part in topic["partitions"]:
                key = self.captured.get((name, part["partitionIndex"]))
                if key is not None:
                    yield part, key

    def translate(self, live: Captured) -> None:
        """Put captured partitions in the place of live ones."""
        keys = self.captured
        live.asked = [(keys.get(key, key), asked) for key, asked in live.asked]
        live.reported = [(keys.get(key, key), reported) for key, reported in live.reported]
        live.forgotten = [keys.get(key, key) for key in live.forgotten]
