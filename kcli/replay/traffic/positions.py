"""The positions of a replay's fetches: after the records of live responses, like a consumer's.

A live response may have more records than the captured one, so that a fetch at the captured offset would read some
again. So a partition is fetched from the end of its latest live records, unless the captured client changed the
position itself. In a fetch session this may add partitions that the captured client did not have to name.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcli.replay.produced_batches import batches_of
from kcli.replay.topic_mapping import LiveTopics
from kcli.sessions.epochs import FINAL_EPOCH, FULL_EPOCH
from kcli.sessions.fetch_exchange import Key

Body = Mapping[str, Any]
NAMES = ("topic", "topicId")


class LivePositions:
    """The positions of one connection, by live topic and partition: of the captured client and of the live one.

    requested: partitions of the fetch session, or of the latest fetch without one, each with its topic's names;
    may_lag: do not skip records that the live cluster has not returned yet
    """

    def __init__(self, topics: LiveTopics, *, may_lag: bool = False) -> None:
        self.topics, self.may_lag = topics, may_lag
        self.captured: dict[Key, int] = {}
        self.live: dict[Key, int] = {}
        self.requested: dict[Key, tuple[dict[str, Any], dict[str, Any]]] = {}

    def request(self, captured: Body, live: dict[str, Any]) -> None:
        """Set the offsets of a live Fetch. Its partitions are those of the captured one in the same order."""
        goes_on = live.get("sessionEpoch", FINAL_EPOCH) > FULL_EPOCH
        if not goes_on:
            self.requested.clear()
        for topic in live.get("forgottenTopicsData") or ():
            for index in topic["partitions"]:
                self.requested.pop((self.live_name(topic), index), None)
        named = set()
        for one, topic in zip(captured["topics"], live["topics"], strict=True):
            names = {name: topic[name] for name in NAMES if name in topic}
            for before, part in zip(one["partitions"], topic["partitions"], strict=True):
                key = self.live_name(topic), part["partition"]
                if key in self.live and self.captured.get(key) == before["fetchOffset"]:
                    part["fetchOffset"] = self.live[key] if self.may_lag else max(self.live[key], part["fetchOffset"])
                self.captured[key], self.live[key] = before["fetchOffset"], part["fetchOffset"]
                self.requested[key] = names, part
                named.add(key)
        for key, (names, part) in self.requested.items() if goes_on else ():
            if key not in named and self.live[key] != part["fetchOffset"]:
                self.requested[key] = names, (moved := part | {"fetchOffset": self.live[key]})
                live["topics"].append(names | {"partitions": [moved]})

    def answer(self, captured: Body | None, live: Body) -> None:
        """Move the positions after the records of both responses to a Fetch."""
        for key, end in ends_in(captured or {}, self.captured_name):
            self.captured[key] = end
        for key, end in ends_in(live, self.live_name):
            self.live[key] = end

    def captured_name(self, topic: Body) -> str:
        """Return the live name of a captured topic."""
        return self.topics.live_name(self.topics.captured_name(topic.get("topic") or topic.get("topicId") or ""))

    def live_name(self, topic: Body) -> str:
        """Return the name of a live topic."""
        topic_id: str = topic.get("topicId") or ""
        return topic.get("topic") or self.topics.names.get(topic_id, topic_id)


def ends_in(answer: Body, name_of: Callable[[Body], str]) -> Iterator[tuple[Key, int]]:
    """Yield (partition, end offset of its records) for partitions with records. Those of magic 0 and 1 are left out,
    because their batches do not have the end.
    """
    for topic in answer.get("responses", ()):
        for part in topic["partitions"]:
            batches = batches_of(part["records"]) if part.get("records") else []
            if batches and batches[-1].magic >= 2:
                yield (name_of(topic), part["partitionIndex"]), batches[-1].next_offset
