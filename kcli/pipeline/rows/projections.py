"""The fields that the core selects from Fetch, Produce and OffsetCommit for the tables: paths for each side, in the
order of its columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kcli.errors import UsageError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.selection.plan import SLICED
from kcli.schemas.apikeys import FETCH, PRODUCE

if TYPE_CHECKING:
    from kcli.capture.kafka.bodies import Bodies
    from kcli.core.codec.messages import Node, Selection
    from kcli.core.columns.exchange_columns import Layout, Side

LEADER = "currentLeader.leaderId?"
# The fields of an endpoint (KIP-951).
ENDPOINTS = ("nodeEndpoints[].nodeId?", "nodeEndpoints[].port?", "nodeEndpoints[].host?")


class Paths(NamedTuple):
    """The fields selected from one side. own: of the message itself. partitions: the path of its partitions. columns:
    the core's column for each field of a partition; if `records`, the records follow them. beside: other fields of the
    message. texts: those of `own` that are texts.
    """

    own: tuple[str, ...]
    partitions: str
    columns: Mapping[str, int]
    records: bool = False
    beside: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def topic(self) -> str:
        """The path of the topics' ids or names."""
        return self.partitions.partition(".")[0] + ".topicId|topic|name"

    @property
    def all(self) -> list[str]:
        """All paths of the selection, in the order of its columns."""
        fields = [*self.columns, *(["records"] if self.records else [])]
        return [*self.own, self.partitions, self.topic, *(f"{self.partitions}.{each}" for each in fields), *self.beside]

    @property
    def sliced(self) -> set[str]:
        """The paths whose values are positions in the bytes; all others are numbers."""
        return {self.topic, f"{self.partitions}.records", ENDPOINTS[2], *self.texts}


COLUMNS = 8  # the core's columns for a partition
REQUESTED = {"partition": 0, "fetchOffset": 1, "partitionMaxBytes": 2}
FETCHED = {
    "partitionIndex": 0,
    "errorCode": 3,
    "highWatermark": 4,
    "lastStableOffset?": 5,
    "logStartOffset?": 6,
    LEADER: 7,
}
PRODUCED = {
    "index": 0,
    "errorCode": 3,
    "baseOffset": 4,
    "logAppendTimeMs?": 5,
    "logStartOffset?": 6,
    LEADER: 7,
}
MEMBER = ("groupId", "memberId?", "groupInstanceId?")
COMMITTED = Paths(
    (*MEMBER, "generationIdOrMemberEpoch?"), "topics[].partitions[]", {"partitionIndex": 0, "committedOffset": 1},
    texts=MEMBER,
)  # fmt: skip
SESSION, ACKS, RESPONSE = ("sessionId?", "sessionEpoch?"), ("acks", "timeoutMs"), ("errorCode?",)

# By API: the fields of the request and of the response.
SIDES: dict[int, tuple[Paths, Paths]] = {
    FETCH: (
        Paths(SESSION, "topics[].partitions[]", REQUESTED),
        Paths(RESPONSE, "responses[].partitions[]", FETCHED, True, ENDPOINTS),
    ),
    PRODUCE: (
        Paths(ACKS, "topicData[].partitionData[]", {"index": 0}, True),
        Paths(RESPONSE, "responses[].partitionResponses[]", PRODUCED, False, ENDPOINTS),
    ),
}


def layout(bodies: Bodies, api_key: int, version: int) -> Layout | None:
    """Return the layout of Fetch or Produce; None if the core can't read that version, for example one of a dialect
    that lacks a needed field.
    """
    from kcli.core.columns.exchange_columns import Layout

    requested, returned = SIDES[api_key]
    request = side(messages.request(api_key, version, bodies.dialect), requested)
    response = side(messages.response(api_key, version, bodies.dialect), returned)
    return Layout(request, response) if request and response else None


def commit_layout(bodies: Bodies, api_key: int, version: int) -> tuple[Node, Selection, list[int]] | None:
    """Return (header, selection, slots of texts) of an OffsetCommit request; None if the core can't read it."""
    request = messages.request(api_key, version, bodies.dialect)
    header, body = bodies.exchange_nodes(api_key, version)[0], side(request, COMMITTED)
    if header is None or body is None:
        return None
    places = [request.select(COMMITTED.all).place(each) for each in MEMBER]
    return header, body[0], [place.slot for place in places if place.type in SLICED]


def side(message: MessageCodec, paths: Paths) -> Side | None:
    """Return (selection, columns by slot, whether records follow them, whether topics are given by id); None if the
    core can't read the message.
    """
    try:
        selection = message.select(paths.all)
    except UsageError:
        return None
    if message.variants or selection.compiled is None or not selection.slices_only(paths.sliced):
        return None
    by_ids = selection.place(paths.topic).type == "uuid"
    return selection.compiled, list(paths.columns.values()), paths.records, by_ids
