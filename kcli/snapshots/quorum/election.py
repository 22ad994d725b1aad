"""The nodes of a quorum that can be elected, if only these are started, in their present state.

A voter votes for a candidate whose log is not behind its own, compared by the last epoch and then by the end (KIP-595).
The candidate asks the voters that it knows, by node id and directory id (KIP-853), in its cluster.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kcli.snapshots.quorum.node import QuorumNode, common_end
from kcli.snapshots.quorum.voters import VoterKey


@dataclass(frozen=True, slots=True)
class Quorum:
    """A quorum by its present nodes.

    cluster_id: that of most nodes; voters: as the longest log of the cluster has them, else any other node; best: the
    node with the longest log, by epoch, among the cluster's voters, or among all its nodes if no voter is present;
    electable: the ids of nodes that can be elected
    """

    nodes: tuple[QuorumNode, ...]
    cluster_id: str | None
    voters: tuple[VoterKey, ...]
    best: QuorumNode
    electable: tuple[int, ...]

    @property
    def is_known(self) -> bool:
        """Return whether the voters are known."""
        return bool(self.voters)

    @property
    def longest(self) -> QuorumNode:
        """The node with the longest log by epoch in the cluster, voter or not; of equal logs a voter's."""
        members = [node for node in self.nodes if not self.is_stranger(node)]
        return max(members, key=lambda node: (node.place, self.voter(node) is not None))

    @property
    def majority(self) -> int:
        """The number of votes that win an election."""
        return len(self.voters) // 2 + 1

    def is_stranger(self, node: QuorumNode) -> bool:
        """Return whether a node is of another cluster."""
        return node.identity.cluster_id not in (None, self.cluster_id) and self.cluster_id is not None

    def voter(self, node: QuorumNode) -> VoterKey | None:
        """Return the voter that this node is; None if it is none."""
        return next((each for each in self.voters if each.is_node(node.id, node.identity.directory_id)), None)

    def holders(self, offset: int) -> list[QuorumNode]:
        """Return the voters' nodes with logs that agree with the best one up to an offset."""
        voters = (node for node in self.nodes if self.voter(node) is not None and not self.is_stranger(node))
        return [node for node in voters if common_end(self.best, node) >= offset]

    @property
    def on_majority(self) -> int | None:
        """The offset up to which a majority of the voters has the best log; None if fewer than a majority is
        present.
        """
        ends = sorted((common_end(self.best, node) for node in self.holders(0)), reverse=True)
        return ends[self.majority - 1] if 0 < self.majority <= len(ends) else None


def quorum_of(nodes: Sequence[QuorumNode]) -> Quorum:
    """Judge a quorum by its nodes, of which there is at least one."""
    longest = max(nodes, key=lambda node: node.place)
    known = Counter(node.identity.cluster_id for node in nodes if node.identity.cluster_id)
    most = max(known.values(), default=0)
    clusters = [each for each, count in known.items() if count == most]
    cluster = longest.identity.cluster_id if longest.identity.cluster_id in clusters else next(iter(clusters), None)
    members = [node for node in nodes if node.identity.cluster_id in (None, cluster)] or list(nodes)
    longest = max(members, key=lambda node: node.place)
    voters = longest.voters or next((node.voters for node in members if node.voters), ())
    voting = [node for node in members if any(each.is_node(node.id, node.identity.directory_id) for each in voters)]
    best = max(voting or members, key=lambda node: node.place)
    electable = sorted({node.id for node in members if node.id is not None and can_win(node, members)})
    return Quorum(tuple(nodes), cluster, voters, best, tuple(electable))


def static_voters(members: Sequence[QuorumNode]) -> tuple[VoterKey, ...]:
    """Return the voters of a quorum below kraft.version 1, which each node has in its properties even if its log is
    empty.
    """
    if any(node.logged for node in members):
        return ()
    return next((node.voters for node in members if node.voters), ())


def deposed_by(node: QuorumNode, members: Sequence[QuorumNode]) -> QuorumNode | None:
    """Return the member that knows a node as the leader of an epoch in which the node itself does not lead; None
    without one. The node has lost its quorum-state, and stops as soon as the member tells it so (KafkaRaftClient,
    "inconsistent with current leader").
    """
    for each in members:
        if each is node or each.refusal is not None or not each.leads(node.id):
            continue
        same = node.leads(node.id) and node.known_epoch == each.known_epoch
        if each.known_epoch >= node.known_epoch and not same:
            return each
    return None


def can_win(candidate: QuorumNode, members: Sequence[QuorumNode]) -> bool:
    """Return whether a majority of the voters that the candidate knows, including itself, would vote for it."""
    voters = candidate.voters or static_voters(members)
    starting = [node for node in members if node.refusal is None and deposed_by(node, members) is None]
    if candidate not in starting:
        return False
    if not any(each.is_node(candidate.id, candidate.identity.directory_id) for each in voters):
        return False
    granted = sum(
        any(each.is_node(node.id, node.identity.directory_id) and node.place <= candidate.place for node in starting)
        for each in voters
    )
    return granted > len(voters) // 2
