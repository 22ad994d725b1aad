"""The fields of a Fetch that the kernel selects: lists of paths, in the order of its rows' slots
(core/sessions/interning.pxi).
"""

from functools import cache

from kcli.core.codec.messages import Node
from kcli.core.codec.messages import Selection as Compiled
from kcli.core.sessions.fetches import Kernel
from kcli.errors import SchemaError, UsageError
from kcli.grammar import messages
from kcli.schemas.apikeys import FETCH, INCREMENTAL_FETCH
from kcli.sessions.offsets import OFFSET_APIS

TOPICS = ("topics[].topicId|topic", "responses[].topicId|topic")
# Rows of the message, the topics and the partitions; fields that a version lacks are -1.
REQUEST = (
    *("sessionId", "sessionEpoch", "maxBytes", "isolationLevel", "replicaId?", "replicaState.replicaId?", "_tags?"),
    *("topics[].partitions[]", TOPICS[0]),
    *(f"topics[].partitions[].{name}" for name in ("partition", "fetchOffset", "logStartOffset", "partitionMaxBytes")),
    *("topics[].partitions[].currentLeaderEpoch?", "topics[].partitions[].lastFetchedEpoch?"),
    "forgottenTopicsData[]",
)
ANSWERED = (
    "partitionIndex",
    "errorCode",
    "highWatermark",
    "lastStableOffset",
    "logStartOffset",
    "preferredReadReplica?",
)
BEHIND = ("records", "_tags?", "divergingEpoch.epoch?", "abortedTransactions[]")
RESPONSE = (
    *("sessionId", "errorCode", "throttleTimeMs", "_tags?"),
    *("responses[].partitions[]", TOPICS[1]),
    *(f"responses[].partitions[].{name}" for name in (*ANSWERED, *BEHIND)),
)

# Versions with a diverging epoch have a last slot that says whether it was sent. For the others this path makes an
# empty slot.
NOTHING = "responses[].partitions[].divergingEpoch.endOffset?"
WIDTHS = (3, 6, 3, 12)  # slots of topics and partitions, on each side

Side = tuple["Node", "Compiled"]
# (header and body of the request, those of the response, whether topics are named by ids)
Layout = tuple[Side, Side, bool]


@cache
def layout(version: int, dialect: str | None = None) -> Layout | None:
    """Return the kernel's layout of a Fetch version; None if the kernel can't read it."""
    try:
        request, response = messages.request(FETCH, version, dialect), messages.response(FETCH, version, dialect)
        asked, answered = request.select(REQUEST, missing=-1), response.select(RESPONSE, missing=-1)
        if len(answered.levels[2].template) < WIDTHS[3]:
            answered = response.select((*RESPONSE, NOTHING), missing=-1)
    except (SchemaError, UsageError):
        return None
    headers = messages.request_header(FETCH, version, dialect), messages.response_header(FETCH, version, dialect)
    by_ids = {side.place(topic).type == "uuid" for side, topic in zip((asked, answered), TOPICS, strict=True)}
    widths = tuple(len(side.levels[level].template) for side in (asked, answered) for level in (1, 2))
    sliced = (*TOPICS, "responses[].partitions[].records")
    if widths != WIDTHS or len(by_ids) != 1 or not (asked.slices_only(sliced) and answered.slices_only(sliced)):
        return None
    if request.variants or response.variants or not (asked.compiled and answered.compiled):
        return None
    assert headers[0].node and headers[1].node
    return (headers[0].node, asked.compiled), (headers[1].node, answered.compiled), by_ids.pop()


def new_kernel(dialect: str | None = None) -> Kernel:
    """Return a new kernel, which follows steady sessions by itself."""
    return Kernel(lambda version: layout(version, dialect), (*OFFSET_APIS, INCREMENTAL_FETCH))
