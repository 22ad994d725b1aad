"""The positions of a replay's fetches: after the records of live responses, as a consumer's.

A live answer may bring more than the captured one: a fetch at the captured offset would read that again. So a partition
is fetched where its latest live records end, unless the captured client went elsewhere itself; in a fetch session also
one that the captured client had no reason to name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcli.replay.produced_batches import batches_of
from kcli.replay.topic_mapping import LiveTopics
from kcli.sessions.epochs import FINAL_EPOCH, FULL_EPOCH
from kcli.sessions.trace import Key

Body = Mapping[str, Any]
NAMES = ("topic", "topicId")


class LivePositions:
    """Of one connection, by live topic and partition: where the captured client goes on, and where the live one does.

    asked: partitions of the fetch session, or of the latest fetch without one, each with its topic's names. may_lag: a
    partition that returned fewer records than in the capture is not fetched after the missing ones.
    """

    def __init__(self, topics: LiveTopics, *, may_lag: bool = False) -> None:
        self.topics, self.may_lag = topics, may_lag
        self.captured: dict[Key, int] = {}
        self.live: dict[Key, int] = {}
        self.asked: dict[Key, tuple[dict[str, Any], dict[str, Any]]] = {}

    def request(self, captured: Body, live: dict[str, Any]) -> None:
        """Set the offsets of a live Fetch, whose partitions are those of the captured one in the same order."""
        goes_on = live.get("sessionEpoch", FINAL_EPOCH) > FULL_EPOCH
        if not goes_on:
            self.asked.clear()
        for topic in live.get("forgottenTopicsData") or ():
            for index in topic["partitions"]:
                self.asked.pop((self.live_name(topic), index), None)
        named = set()
        for one, topic in zip(captured["topics"], live["topics"], strict=True):
            names = {name: topic[name] for name in NAMES if name in topic}
            for before, part in zip(one["partitions"], topic["partitions"], strict=True):
                key = self.live_name(topic), part["partition"]
                if key in self.live and self.captured.get(key) == before["fetchOffset"]:
                    part["fetchOffset"] = self.live[key] if self.may_lag else max(self.live[key], part["fetchOffset"])
                self.captured[key], self.live[key] = before["fetchOffset"], part["fetchOffset"]
                self.asked[key] = names, part
                named.add(key)
        for key, (names, part) in self.asked.items() if goes_on else ():
            if key not in named and self.live[key] != part["fetchOffset"]:
                self.asked[key] = names, (moved := part | {"fetchOffset": self.live[key]})
                live["topics"].append(names | {"partitions": [moved]})

    def answer(self, captured: Body | None, live: Body) -> None:
        """Take in what both answers to a Fetch brought."""
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
    """Yield where the records of each partition end that brought some; of magic 0 and 1 a batch does not say it."""
    for topic in answer.get("responses", ()):
        for part in topic["partitions"]:
            batches = batches_of(part["records"]) if part.get("records") else []
            if batches and batches[-1].magic >= 2:
                yield (name_of(topic), part["partitionIndex"]), batches[-1].next_offset
