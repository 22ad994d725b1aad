"""Names and ids of topics in the capture and in the live cluster, and the user's mapping between them."""

from collections.abc import Iterable, Mapping
from typing import Any

from kcli.errors import UsageError
from kcli.schemas.apikeys import FETCH, METADATA
from kcli.schemas.definition import ZERO_UUID
from kcli.topic_names import lawful_name, name_fault

# {api key: field of its response with topics by name and id}
TOPIC_LISTS = {METADATA: "topics", 19: "topics", 20: "responses", 75: "topics"}


class TopicNames:
    """{topic id: name}, learned from the exchanges of a capture in any order."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def learn(self, api_key: int, request: Mapping[str, Any] | None, response: Mapping[str, Any] | None) -> None:
        """Learn names from a response with names and ids, or from `_topicName` in a line of `decode pcap`. Raises
        TypeError if a name or id is no text.
        """
        listed = TOPIC_LISTS.get(api_key)
        if response is not None and listed is not None:
            for topic in response.get(listed) or ():
                self._put(topic.get("topicId"), topic.get("name"))
        elif api_key == FETCH:
            for message, field in ((request, "topics"), (response, "responses")):
                for topic in (message or {}).get(field) or ():
                    self._put(topic.get("topicId"), topic.get("_topicName"))

    def _put(self, topic_id: str | None, name: str | None) -> None:
        for stray in {type(each) for each in (topic_id, name) if each} - {str}:
            raise TypeError(f"a {stray.__name__} where a topic's id or name is expected")
        if topic_id and name and topic_id != ZERO_UUID:
            self.names[topic_id] = name

    def live_name(self, captured: str, mapping: Mapping[str, str]) -> str:
        """Return the live topic for a captured id or name: the mapped one, else the topic's name. An id without a name
        is returned as it is, and a name that Kafka refuses is replaced by a valid one.
        """
        name = self.names.get(captured, captured)
        return mapping.get(captured) or mapping.get(name) or lawful_name(name)


class LiveTopics:
    """Live names and ids of topics. Live ids are added with `put`, from the cluster's metadata before a run and from
    its responses.

    captured: names of captured ids; mapping: {captured name or id: live name}, from the user
    """

    def __init__(self, captured: TopicNames, mapping: Mapping[str, str]) -> None:
        self.captured, self.mapping = captured, mapping
        self.ids: dict[str, str] = {}
        self.names: dict[str, str] = {}

    def put(self, name: str, topic_id: str) -> None:
        """Add a live topic's id."""
        if name and topic_id and topic_id != ZERO_UUID:
            self.ids[name] = topic_id
            self.names[topic_id] = name

    def captured_name(self, topic: str) -> str:
        """Return the name of a captured topic by name or id; an id without a name in the capture is returned as it
        is.
        """
        return self.captured.names.get(topic, topic)

    def live_name(self, captured: str) -> str:
        """Return the live topic's name for a captured name."""
        return self.mapping.get(captured, captured)

    def live_id(self, captured: str) -> str:
        """Return the live topic's id for a captured id; the captured id if there is no such topic."""
        if captured == ZERO_UUID:
            return captured
        if captured in self.captured.names:
            name = self.mapping.get(captured) or self.live_name(self.captured.names[captured])
        else:
            name = self.captured.live_name(captured, self.mapping)
        return self.ids.get(name, captured)


def parse_topic_map(texts: Iterable[str]) -> dict[str, str]:
    """Parse `--topic-map CAPTURED=LIVE`. Returns {captured name or id: live name}. Raises UsageError."""
    mapping: dict[str, str] = {}
    for text in texts:
        for pair in text.split(","):
            captured, equals, live = pair.strip().partition("=")
            if not equals or not captured or name_fault(live):
                raise UsageError(f"--topic-map {pair.strip()!r}: CAPTURED=LIVE expected, LIVE a topic's name")
            mapping[captured] = live
    return mapping
