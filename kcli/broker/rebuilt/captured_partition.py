"""The state of a partition in a captured node, as far as an answer to a fetch shows it.

* Who got records asked a leader, by the epoch that was named; FENCED_LEADER_EPOCH went to an older epoch than the
  node's, UNKNOWN_LEADER_EPOCH to a newer. Epochs that the capture has no leader of lie next to the one that was named.
* OFFSET_OUT_OF_RANGE went to an offset below the log's first or above its end: they lie next to it.
* Other errors (a topic that the node does not know of yet, a client that may not read it, a log directory that failed)
  come from what no capture shows: the node gives them for as long as it did.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from kcli.broker.partition import FENCED, NOT_LEADER, UNKNOWN_EPOCH, VisibleOffsets
from kcli.broker.rebuilt.captured_topics import SeenPartition
from kcli.schemas.errors import error_code
from kcli.sessions.trace import Reported

OUT_OF_RANGE = error_code("OFFSET_OUT_OF_RANGE")
OF_EPOCHS = frozenset([FENCED, UNKNOWN_EPOCH, NOT_LEADER])
# Other than any watermark: whatever comes next is news.
NOTHING_YET = VisibleOffsets(-1, -1, -1, -1)


class PartitionState(NamedTuple):
    """A partition as one node saw it. replicas: the nodes that hold one; refused: the error that each fetch gets."""

    epoch: int
    leader: int
    replicas: tuple[int, ...]
    shown: VisibleOffsets
    refused: int = 0


class Fetched(NamedTuple):
    """A fetcher's request of a partition: its leader epoch (-1: none), offset (-1: unknown) and max
    bytes (0: unknown).
    """

    epoch: int = -1
    offset: int = -1
    most: int = 0


def state_behind(
    reported: Reported,
    asked: Fetched,
    end: int,
    before: PartitionState | None,
    seen: SeenPartition,
    node: int | None,
    nodes: tuple[int, ...],
) -> PartitionState:
    """Return the partition's state in the node (None: not shown) that gave this response.

    end: after the records of the response, -1 without any. before: the state that the fetcher knew. nodes: all nodes,
    which may hold a replica where the capture does not show which do.
    """
    error, high, stable, start = reported[:4]
    epoch = asked.epoch if asked.epoch >= 0 else before.epoch if before is not None else seen.epoch
    shown = before.shown if before is not None else NOTHING_YET
    leader = node if node is not None else seen.leaders.get(epoch, seen.leader)
    replicas = seen.replicas or nodes
    if error in OF_EPOCHS:
        epoch, hosted = epoch_behind(error, epoch, seen, node)
        leader = seen.leaders.get(epoch, -1)
        leader = -1 if leader == node else leader
        return PartitionState(epoch, leader, replicas if hosted else (leader,), shown)
    if error == OUT_OF_RANGE:
        return PartitionState(epoch, leader, replicas, range_without(asked.offset, shown, seen))
    if error:
        return PartitionState(epoch, leader, replicas, shown, error)
    shown = VisibleOffsets(high, stable if stable >= 0 else high, max(start, 0), max(high, end, asked.offset))
    return PartitionState(epoch, leader, replicas, shown)


def moved(state: PartitionState, asked: Fetched, node: int | None) -> PartitionState:
    """Return the state of a partition after a fetch that was not refused."""
    epoch = asked.epoch if asked.epoch >= 0 else state.epoch
    leader = state.leader if node is None else node
    shown = state.shown
    if 0 <= shown.end < asked.offset:
        shown = shown._replace(end=asked.offset)
    return state._replace(epoch=epoch, leader=leader, shown=shown)


def range_without(offset: int, shown: VisibleOffsets, seen: SeenPartition) -> VisibleOffsets:
    """Return a log range that lacks this offset: it ends before or begins after, whichever fits what
    else was captured.
    """
    if offset > max(shown.end, 0) and offset >= seen.start:
        end = max(min(seen.end, offset - 1), 0)
        return VisibleOffsets(min(shown.high, end), min(shown.stable, end), min(shown.start, end), end)
    start = max(seen.start, offset + 1)
    return VisibleOffsets(shown.high, shown.stable, start, max(shown.end, start))


def epoch_behind(error: int, asked: int, seen: SeenPartition, node: int | None) -> tuple[int, bool]:
    """Return the leader epoch that a node knew when it gave this error to a request with `asked`, and whether it held a
    replica.
    """
    if error == FENCED:
        at = bisect_right(seen.epochs, asked)
        return seen.epochs[at] if at < len(seen.epochs) else asked + 1, True
    if error == UNKNOWN_EPOCH:
        at = bisect_left(seen.epochs, asked)
        return seen.epochs[at - 1] if at else asked - 1, True
    # A node that is to lead and does not, has not begun to; no replica looks at the epoch.
    return asked, not (error == NOT_LEADER and seen.leaders.get(asked) == node)
