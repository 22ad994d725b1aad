"""Topics as the capture and as the live cluster name them, by name and by id."""

from __future__ import annotations

from collections.abc import Mapping

from kcli.client.replay.names import TopicNames
from kcli.sessions.trace import NO_UUID


class LiveTopics:
    """captured: names of captured ids. mapping: captured name or id to live name, as the user wants it.

    Live ids are learnt with `put`, from the cluster's metadata before a run and from its answers.
    """

    def __init__(self, captured: TopicNames, mapping: Mapping[str, str]) -> None:
        self.captured, self.mapping = captured, mapping
        self.ids: dict[str, str] = {}
        self.names: dict[str, str] = {}

    def put(self, name: str, topic_id: str) -> None:
        """A live topic's id."""
        if name and topic_id and topic_id != NO_UUID:
            self.ids[name] = topic_id
            self.names[topic_id] = name

    def captured_name(self, topic: str) -> str:
        """The name of a captured topic by name or id; an id that the capture does not name stands for itself."""
        return self.captured.names.get(topic, topic)

    def live_name(self, captured: str) -> str:
        """The live topic's name for a captured name."""
        return self.mapping.get(captured, captured)

    def live_id(self, captured: str) -> str:
        """The live topic's id for a captured id; the same where there is no such topic."""
        if captured == NO_UUID:
            return captured
        if captured in self.captured.names:
            name = self.mapping.get(captured) or self.live_name(self.captured.names[captured])
        else:
            name = self.captured.live_name(captured, self.mapping)
        return self.ids.get(name, captured)
