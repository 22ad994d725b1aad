"""A share group: its members, and the partitions that they share (KIP-932; Kafka's ShareGroup and SimpleAssignor).

Every partition has at least one member. If there are more members than partitions, several members share one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kcli.broker.clock import Clock, Timer
from kcli.broker.groups.member_group import MemberGroup
from kcli.broker.groups.state import State
from kcli.broker.metadata.topics import Topics
from kcli.broker.partition import Key
from kcli.broker.share.partition import SharePartition
from kcli.records.acceptance import RefusedError

JOINING, LEFT = 0, -1
LONGEST_MEMBER = 36  # characters of a member id, as many as a UUID in hexadecimal has


@dataclass(slots=True, eq=False)
class ShareMember:
    """A member. topics: names of its subscribed topics; assigned: (topic id, index) of its partitions; reported: the
    assignment in the last response.
    """

    id: str
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    epoch: int = 0
    previous_epoch: int = -1
    topics: tuple[str, ...] = ()
    assigned: frozenset[Key] = frozenset()
    reported: frozenset[Key] = frozenset()
    session: Timer | None = None


@dataclass(frozen=True, slots=True)
class ShareBeat:
    """A heartbeat. names: of topics, None if unchanged; client: (id, host); most_members, session_timeout (seconds): by
    the configs.
    """

    member_id: str
    epoch: int
    rack: str | None
    names: tuple[str, ...] | None
    client: tuple[str, str]
    most_members: int
    session_timeout: float


class ShareGroup(MemberGroup[ShareMember]):
    """A share group. partitions: the state of each shared partition, by (topic id, index). It has no committed
    offsets.
    """

    type = protocol_type = "share"

    def __init__(
        self, group_id: str, topics: Topics, clock: Clock, keep: Callable[[ShareGroup], None] = lambda _: None
    ) -> None:
        super().__init__(group_id, topics, clock, keep)
        self.partitions: dict[Key, SharePartition] = {}

    @property
    def state(self) -> State:
        """Return the group's state (Kafka's ShareGroupState)."""
        return State.DEAD if self._is_dead else State.STABLE if self.members else State.EMPTY

    def beat(self, beat: ShareBeat) -> tuple[ShareMember, bool]:
        """Process a heartbeat; return the member, and whether the response has its assignment. Raises RefusedError."""
        member = self._find(beat)
        member.rack = beat.rack or member.rack
        member.client_id, member.client_host = beat.client
        changed = beat.names is not None and beat.names != member.topics
        if beat.names is not None:
            member.topics = beat.names
        if self._count_partitions() or changed:
            self._assign()
        if member.epoch != self.epoch:
            member.previous_epoch, member.epoch = member.epoch, self.epoch
            self.keep(self)
        self._wait(member, beat.session_timeout)
        is_changed = beat.epoch == JOINING or member.assigned != member.reported
        member.reported = member.assigned
        return member, is_changed

    def _wait(self, member: ShareMember, seconds: float) -> None:
        if member.session is not None:
            member.session.cancel()
        member.session = self.clock.call_later(seconds, self.remove, member)

    def restore(self, epoch: int, members: Iterable[ShareMember], session_timeout: float) -> None:
        """Restore the group from its stored state. session_timeout: seconds."""
        self.epoch = epoch
        for each in members:
            self.members[each.id] = each
            self._wait(each, session_timeout)
        self._count_partitions()

    def leave(self, member_id: str) -> None:
        """Remove a member that leaves. Raises RefusedError if it is unknown."""
        self.remove(self._known(member_id))

    def _find(self, beat: ShareBeat) -> ShareMember:
        member = self.members.get(beat.member_id)
        if beat.epoch == JOINING:
            return member or self._admit(ShareMember(beat.member_id), beat.most_members)
        member = self._known(beat.member_id)
        if beat.epoch not in (member.epoch, member.previous_epoch):
            message = (
                f"The share group member has another epoch ({beat.epoch}) than the one known here ({member.epoch})"
            )
            raise RefusedError("FENCED_MEMBER_EPOCH", message)
        return member

    def remove(self, member: ShareMember) -> None:
        """Remove a member, release its records and assign its partitions to the others."""
        if member.session is not None:
            member.session.cancel()
        if self.members.get(member.id) is member:
            del self.members[member.id]
            for each in self.partitions.values():
                each.release_all(member.id)
            self._count_partitions()
            self._assign()
            self.keep(self)

    def _assign(self) -> None:
        self.epoch += 1
        assigned: dict[str, set[Key]] = {member: set() for member in self.members}
        for topic_id, count in self._counts.items():
            topic = self.topics.by_id[topic_id]
            members = sorted(each.id for each in self.members.values() if topic.name in each.topics)
            for at in range(max(count, len(members))):
                assigned[members[at % len(members)]].add((topic_id, at % count))
        for each in self.members.values():
            each.assigned = frozenset(assigned[each.id])

    def forget(self, topic_id: str) -> list[Key]:
        """Drop the state of a topic's partitions; return their keys."""
        dropped = [each for each in self.partitions if each[0] == topic_id]
        for key in dropped:
            self.partitions.pop(key).close()
        return dropped

    def close(self) -> None:
        """Cancel all timers; the group is dead."""
        for each in self.members.values():
            if each.session is not None:
                each.session.cancel()
        for share in self.partitions.values():
            share.close()
        self._is_dead = True
