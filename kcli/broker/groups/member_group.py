"""The base class of consumer groups (KIP-848) and share groups (KIP-932)."""

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
        """Return the names of the subscribed topics."""


Member = TypeVar("Member", bound=AnyMember)


class MemberGroup(Generic[Member]):
    """A group. epoch: it grows with each change of the members' subscriptions or their topics. keep: called after each
    change that has to be stored.
    """

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
        """Return whether a member subscribes to the topic of this name."""
        return any(topic in each.topics for each in self.members.values())

    def _known(self, member_id: str) -> Member:
        member = self.members.get(member_id)
        if member is None:
            raise RefusedError("UNKNOWN_MEMBER_ID", f"Member {member_id} is not a member of group {self.id}.")
        return member

    def _admit(self, member: Member, most: int) -> Member:
        """Add a new member and return it. Raises RefusedError if the group has `most` members already."""
        if len(self.members) >= most:
            message = f"The {self.type} group has reached its maximum capacity of {most} members."
            raise RefusedError("GROUP_MAX_SIZE_REACHED", message)
        return self.members.setdefault(member.id, member)

    def _count_partitions(self) -> bool:
        """Update the partition counts of subscribed topics; return whether they have changed."""
        counts = self.topics.partition_counts({name for each in self.members.values() for name in each.topics})
        changed = counts != self._counts
        self._counts = counts
        return changed
