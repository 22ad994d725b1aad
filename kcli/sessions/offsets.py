"""Offsets that a client may have learnt outside its session: other sessions, ListOffsets, OffsetFetch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kcli.schemas.apikeys import LIST_OFFSETS, METADATA, OFFSET_FETCH
from kcli.schemas.definition import ZERO_UUID
from kcli.sessions.trace import TOPIC_IDS_SINCE, FetchExchange, Key

if TYPE_CHECKING:
    from kcli.core.sessions.fetches import HighWatermarks

HEARD = (LIST_OFFSETS, METADATA, OFFSET_FETCH)  # they have offsets and names
SESSIONLESS = -1  # no session's id: of fetches outside any


class Offsets:
    """marks: high watermarks by server and partition; names: of topic ids.

    elsewhere: the greatest offset of a partition (by name) that a client could have learnt from ListOffsets or
        OffsetFetch
    missed_ns: when something was last missing from the capture (-1: never): a client may have learnt anything from it
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
        """Note that bytes are missing from the capture. ns: when; 0: unknown."""
        self.missed_ns = max(self.missed_ns, ns)

    def explains(self, key: Key, offset: int, since: int) -> bool:
        """Return whether a client can have learnt this offset outside of its session.

        since: when the session's last fetch was sent (ns). Offsets known before then were reported in the session.
        """
        if self.missed_ns >= since:
            return True
        name = self.names.get(key[0], key[0])
        return self.elsewhere.get((name, key[1]), -1) >= offset

    def hear(self, api_key: int, response: Mapping[str, Any]) -> None:
        """Learn from an exchange of another API: names of topic ids, offsets of partitions."""
        if api_key == METADATA:
            for topic in response.get("topics", ()):
                if topic.get("topicId", ZERO_UUID) != ZERO_UUID and isinstance(topic.get("name"), str):
                    self.names[topic["topicId"]] = topic["name"]
        elif api_key == LIST_OFFSETS:
            for topic in response.get("topics", ()):
                for part in topic["partitions"]:
                    offsets = [part.get("offset", -1), *(part.get("oldStyleOffsets") or ())]
                    self._hear_of((topic["name"], part["partitionIndex"]), max(offsets))
        elif api_key == OFFSET_FETCH:
            for group in [response, *response.get("groups", ())]:
                for topic in group.get("topics", ()):
                    name = topic.get("name") or self.names.get(topic.get("topicId", ""), "")
                    for part in topic["partitions"]:
                        self._hear_of((name, part["partitionIndex"]), part["committedOffset"])

    def _hear_of(self, key: Key, offset: int) -> None:
        if offset > self.elsewhere.get(key, -1):
            self.elsewhere[key] = offset
