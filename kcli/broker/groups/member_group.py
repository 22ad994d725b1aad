"""A group whose members send heartbeats: the base of consumer groups (KIP-848) and share groups (KIP-932)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from kcli.broker.clock import Clock
from kcli.broker.groups.committed import Committed
from kcli.broker.metadata.topics import Topics
from kcli.records.acceptance import RefusedError


class AnyMember(Protocol):
    """A member; topics: the names of its subscribed topics."""

    id: str

    @property
    def topics(self) -> Iterable[str]:
        """Return the names of topics."""


Member = TypeVar("Member", bound=AnyMember)


class MemberGroup(Generic[Member]):
    """epoch: of the subscriptions. keep: called with each change that a restart must know."""

    type: str

    def __init__(self, group_id: str, topics: Topics, clock: Clock, keep: Callable[[Any], None]) -> None:
        self.id, self.topics, self.clock, self.keep = group_id, topics, clock, keep
        self.epoch = 1  # Kafka 4.4 gives the first member epoch 2
        self.members: dict[str, Member] = {}
        self.offsets: dict[tuple[str, int], Committed] = {}
        self.pending_offsets: dict[int, dict[tuple[str, int], Committed]] = {}
        self._counts: dict[str, int] = {}
        self._is_dead = False

    def subscribes(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic, by name."""
        return any(topic in each.topics for each in self.members.values())

    def _known(self, member_id: str) -> Member:
        member = self.members.get(member_id)
        if member is None:
            raise RefusedError("UNKNOWN_MEMBER_ID", f"Member {member_id} is not a member of group {self.id}.")
        return member

    def _admit(self, member: Member, most: int) -> Member:
        """Take in a new member. Raises RefusedError if there are that many."""
        if len(self.members) >= most:
            said = f"The {self.type} group has reached its maximum capacity of {most} members."
            raise RefusedError("GROUP_MAX_SIZE_REACHED", said)
        return self.members.setdefault(member.id, member)

    def _count_partitions(self) -> bool:
        """Count the partitions of the topics that members subscribe to; return whether the counts have changed."""
        counts = self.topics.partition_counts({name for each in self.members.values() for name in each.topics})
        changed = counts != self._counts
        self._counts = counts
        return changed
