"""The state of a partition in a captured node, as far as a Fetch response shows it.

* A response with records came from the leader of the requested epoch. FENCED_LEADER_EPOCH means that the node knew a
  newer epoch, UNKNOWN_LEADER_EPOCH an older one. If the capture has no leader of such an epoch, the next number is
  assumed.
* OFFSET_OUT_OF_RANGE means that the offset was below the log's start or above its end; the start or end is assumed to
  be next to it.
* The causes of other errors (an unknown topic, a missing permission, a failed log directory) are not in the capture.
  The node returns these errors as long as the captured node did.
"""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from kcli.broker.partition import FENCED, NOT_LEADER, UNKNOWN_EPOCH, VisibleOffsets
from kcli.broker.rebuilt.captured_topics import SeenPartition
from kcli.schemas.errors import error_code
from kcli.sessions.fetch_exchange import Reported

OUT_OF_RANGE = error_code("OFFSET_OUT_OF_RANGE")
OF_EPOCHS = frozenset([FENCED, UNKNOWN_EPOCH, NOT_LEADER])
# Different from any real offsets, so that the next response counts as a change.
NOTHING_YET = VisibleOffsets(-1, -1, -1, -1)


class PartitionState(NamedTuple):
    """The state of a partition in one node. replicas: node ids; refused: the error code of each fetch, 0 for none."""

    epoch: int
    leader: int
    replicas: tuple[int, ...]
    shown: VisibleOffsets
    refused: int = 0


class Fetched(NamedTuple):
    """A fetcher's request for a partition: the leader epoch (-1 for none), the offset (-1 if unknown) and the max bytes
    (0 if unknown).
    """

    epoch: int = -1
    offset: int = -1
    most: int = 0


def state_behind(
    reported: Reported,
    requested: Fetched,
    end: int,
    before: PartitionState | None,
    seen: SeenPartition,
    node: int | None,
    nodes: tuple[int, ...],
) -> PartitionState:
    """Return the partition's state in the node (None if unknown) that sent this response.

    end: the offset after the records of the response, -1 without records. before: the state that the fetcher knew.
    nodes: all node ids, the replicas if the capture does not show them.
    """
    error, high, stable, start = reported[:4]
    epoch = requested.epoch if requested.epoch >= 0 else before.epoch if before is not None else seen.epoch
    shown = before.shown if before is not None else NOTHING_YET
    leader = node if node is not None else seen.leaders.get(epoch, seen.leader)
    replicas = seen.replicas or nodes
    if error in OF_EPOCHS:
        epoch, hosted = epoch_behind(error, epoch, seen, node)
        leader = seen.leaders.get(epoch, -1)
        leader = -1 if leader == node else leader
        return PartitionState(epoch, leader, replicas if hosted else (leader,), shown)
    if error == OUT_OF_RANGE:
        return PartitionState(epoch, leader, replicas, range_without(requested.offset, shown, seen))
    if error:
        return PartitionState(epoch, leader, replicas, shown, error)
    shown = VisibleOffsets(high, stable if stable >= 0 else high, max(start, 0), max(high, end, requested.offset))
    return PartitionState(epoch, leader, replicas, shown)


def moved(state: PartitionState, requested: Fetched, node: int | None) -> PartitionState:
    """Return the state of a partition after a fetch without an error."""
    epoch = requested.epoch if requested.epoch >= 0 else state.epoch
    leader = state.leader if node is None else node
    shown = state.shown
    if 0 <= shown.end < requested.offset:
        shown = shown._replace(end=requested.offset)
    return state._replace(epoch=epoch, leader=leader, shown=shown)


def range_without(offset: int, shown: VisibleOffsets, seen: SeenPartition) -> VisibleOffsets:
    """Return offsets of a log without this offset: the log ends before it or begins after it, by what else was
    captured.
    """
    if offset > max(shown.end, 0) and offset >= seen.start:
        end = max(min(seen.end, offset - 1), 0)
        return VisibleOffsets(min(shown.high, end), min(shown.stable, end), min(shown.start, end), end)
    start = max(seen.start, offset + 1)
    return VisibleOffsets(shown.high, shown.stable, start, max(shown.end, start))


def epoch_behind(error: int, requested: int, seen: SeenPartition, node: int | None) -> tuple[int, bool]:
    """Return the leader epoch that a node knew when it returned this error for the epoch `requested`, and whether the
    node had a replica.
    """
    if error == FENCED:
        at = bisect_right(seen.epochs, requested)
        return seen.epochs[at] if at < len(seen.epochs) else requested + 1, True
    if error == UNKNOWN_EPOCH:
        at = bisect_left(seen.epochs, requested)
        return seen.epochs[at - 1] if at else requested - 1, True
    # A node that should lead this epoch has not begun to, so that it counts as one without a replica.
    return requested, not (error == NOT_LEADER and seen.leaders.get(requested) == node)
