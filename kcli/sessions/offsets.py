"""Offsets that a client may have learned outside its session: from other sessions, ListOffsets, OffsetFetch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kcli.schemas.apikeys import LIST_OFFSETS, METADATA, OFFSET_FETCH
from kcli.schemas.definition import ZERO_UUID
from kcli.sessions.fetch_exchange import TOPIC_IDS_SINCE, FetchExchange, Key

if TYPE_CHECKING:
    from kcli.core.sessions.fetches import HighWatermarks

OFFSET_APIS = (LIST_OFFSETS, METADATA, OFFSET_FETCH)  # APIs with offsets and names of topics
SESSIONLESS = -1  # stands for a session id in fetches outside any session


class Offsets:
    """Offsets outside a session.

    marks: high watermarks by server and partition; names: {topic id: name}
    elsewhere: {partition, by topic name: greatest offset that a client could have learned from ListOffsets or
      OffsetFetch}
    missed_ns: when bytes were last missing from the capture (-1: never), from which a client may have learned anything
    """

    def __init__(self, marks: HighWatermarks) -> None:
        self.marks = marks
        self.names: dict[str, str] = {}
        self.elsewhere: dict[Key, int] = {}
        self.missed_ns = -1

    def learn(self, x: FetchExchange) -> None:
        """Note the high watermarks of a response."""
        if x.response_ns:
            owner = x.granted or x.session_id or SESSIONLESS
            self.marks.learn_all(x.server, x.reported, x.version >= TOPIC_IDS_SINCE, owner, x.response_ns)

    def miss(self, ns: int) -> None:
        """Note that bytes are missing from the capture. ns: the time; 0 if unknown."""
        self.missed_ns = max(self.missed_ns, ns)

    def explains(self, key: Key, offset: int, since: int) -> bool:
        """Return whether a client can have learned this offset outside of its session.

        since: when the session's last fetch was sent (ns); offsets known before then were reported in the session
        """
        if self.missed_ns >= since:
            return True
        name = self.names.get(key[0], key[0])
        return self.elsewhere.get((name, key[1]), -1) >= offset

    def hear(self, api_key: int, response: Mapping[str, Any]) -> None:
        """Learn names of topic ids and offsets of partitions from the response of another API."""
        if api_key == METADATA:
            self._learn_names(response.get("topics", ()))
        elif api_key == LIST_OFFSETS:
            self._learn_listed(response.get("topics", ()))
        elif api_key == OFFSET_FETCH:
            for group in [response, *response.get("groups", ())]:
                self._learn_committed(group.get("topics", ()))

    def _learn_names(self, topics: Iterable[Mapping[str, Any]]) -> None:
        for topic in topics:
            if topic.get("topicId", ZERO_UUID) != ZERO_UUID and isinstance(topic.get("name"), str):
                self.names[topic["topicId"]] = topic["name"]

    def _learn_listed(self, topics: Iterable[Mapping[str, Any]]) -> None:
        for topic in topics:
            for part in topic["partitions"]:
                offsets = [part.get("offset", -1), *(part.get("oldStyleOffsets") or ())]
                self._hear_of((topic["name"], part["partitionIndex"]), max(offsets))

    def _learn_committed(self, topics: Iterable[Mapping[str, Any]]) -> None:
        for topic in topics:
            name = topic.get("name") or self.names.get(topic.get("topicId", ""), "")
            for part in topic["partitions"]:
                self._hear_of((name, part["partitionIndex"]), part["committedOffset"])

    def _hear_of(self, key: Key, offset: int) -> None:
        if offset > self.elsewhere.get(key, -1):
            self.elsewhere[key] = offset
