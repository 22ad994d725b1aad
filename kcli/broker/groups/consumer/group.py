"""A consumer group of KIP-848's protocol (Kafka's ConsumerGroup and GroupMetadataManager).

* A change of the members' subscriptions or of the topics' partitions starts a new group epoch. The coordinator computes
  the target assignment at once.
* A heartbeat's response has the partitions that the member may keep; it gets new ones once no other member has them.
* A member is removed if it sends no heartbeat within the session timeout, or does not give up revoked partitions within
  its rebalance timeout.
* A static member that leaves temporarily (epoch -2) keeps its partitions until its session expires.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kcli.broker.clock import Clock
from kcli.broker.groups.consumer.assignors import ASSIGNORS, Assignment, Partition
from kcli.broker.groups.consumer.member import (
    LEFT_FOR_NOW,
    NOTHING,
    ClassicSide,
    ConsumerMember,
    MemberState,
    Subscription,
)
from kcli.broker.groups.member_group import MemberGroup
from kcli.broker.groups.state import State
from kcli.broker.metadata.topics import Topics
from kcli.broker.patterns import regular
from kcli.records.acceptance import RefusedError

JOINING = 0


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat. None: as in the last one. client: (id, host). owned: the member's partitions, (topic id, index)."""

    member_id: str
    epoch: int
    instance_id: str | None = None
    rack: str | None = None
    client: tuple[str, str] = ("", "")
    rebalance_timeout: float | None = None
    names: tuple[str, ...] | None = None
    pattern: str | None = None
    assignor: str | None = None
    owned: frozenset[Partition] | None = None
    classic: ClassicSide | None = None

    @property
    def is_full(self) -> bool:
        """Return whether the heartbeat has all fields; then the response has the assignment."""
        return self.rebalance_timeout is not None and self.owned is not None and self.subscribes

    @property
    def subscribes(self) -> bool:
        """Return whether the heartbeat has a subscription."""
        return self.names is not None or self.pattern is not None


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The limits by the configs, times in seconds."""

    session_timeout: float = 45.0
    most_members: int = (1 << 31) - 1
    assignor: str = "uniform"


class ConsumerGroup(MemberGroup[ConsumerMember]):
    """A consumer group. target_epoch: the epoch of the target assignment; static: member ids by instance id."""

    type = protocol_type = "consumer"

    def __init__(
        self, group_id: str, topics: Topics, clock: Clock, keep: Callable[[ConsumerGroup], None] = lambda _: None
    ) -> None:
        super().__init__(group_id, topics, clock, keep)
        self.target_epoch = 0
        self.static: dict[str, str] = {}
        self.target: Assignment = {}
        self._owners: Counter[Partition] = Counter()
        self._assignor = ""

    @property
    def state(self) -> State:
        """Return the group's state (Kafka's ConsumerGroupState)."""
        if self._is_dead:
            return State.DEAD
        if not self.members:
            return State.EMPTY
        if self.epoch > self.target_epoch:
            return State.ASSIGNING
        settled = all(
            each.state is MemberState.STABLE and each.epoch == self.target_epoch for each in self.members.values()
        )
        return State.STABLE if settled else State.RECONCILING

    @property
    def assignor(self) -> str:
        """Return the name of the assignor that most members prefer."""
        return self._assignor or "uniform"

    # --- requests

    def beat(self, beat: Beat, limits: GroupLimits, may_read: Callable[[str], bool]) -> tuple[ConsumerMember, bool]:
        """Process a heartbeat of a member that joins or stays. Returns the member, and whether the response has its
        assignment.

        may_read: returns whether the client may see a topic that a pattern matches. Raises RefusedError.
        """
        epochs = self.epoch, self.target_epoch
        member = self._find(beat, limits)
        current = member.current
        changed = self._update(member, beat, limits, may_read)
        self._match(may_read)
        if self._count_partitions() or changed:  # once, also where both have changed
            self.epoch += 1
        if self.epoch > self.target_epoch:
            self._assign()
        before = member.assigned
        self._reconcile(member, beat.owned)
        self._wait(member, limits)
        if (self.epoch, self.target_epoch) != epochs or member.current != current:
            self.keep(self)
        return member, beat.epoch == JOINING or beat.is_full or member.assigned != before

    def leave(self, beat: Beat, limits: GroupLimits) -> None:
        """Process the last heartbeat of a member: it is removed, or (epoch -2) temporarily away. Raises
        RefusedError.
        """
        member = self._known(beat.member_id) if beat.instance_id is None else self._known_static(beat)
        if beat.epoch == LEFT_FOR_NOW:
            self._release(member.revoking)
            member.revoking, member.state, member.epoch = NOTHING, MemberState.STABLE, LEFT_FOR_NOW
            member.since = dict.fromkeys(member.assigned, 0)  # as if its successor had always had them
            self._wait(member, limits)
            self.keep(self)
        else:
            self.remove(member)

    def check(self, member_id: str, epoch: int, committed: Iterable[Partition] | None = None) -> str:
        """Return the name of the error for a member that commits offsets or fetches them; "" for none.

        committed: the partitions of a commit, None for a fetch.
        """
        member = self.members.get(member_id)
        if member is None:
            return "UNKNOWN_MEMBER_ID"
        if member.epoch == epoch or (committed is not None and member.may_commit(epoch, committed)):
            return ""
        return "ILLEGAL_GENERATION" if member.classic else "STALE_MEMBER_EPOCH"

    # --- members

    def _find(self, beat: Beat, limits: GroupLimits) -> ConsumerMember:
        if beat.instance_id is not None:
            return self._find_static(beat, limits)
        if beat.epoch == JOINING and beat.member_id not in self.members:
            return self._enter(beat, limits)
        member = self._known(beat.member_id)
        check_epoch(member, beat)
        return member

    def _find_static(self, beat: Beat, limits: GroupLimits) -> ConsumerMember:
        if beat.epoch != JOINING:
            member = self._known_static(beat)
            check_epoch(member, beat)
            return member
        former = self._static(beat.instance_id or "")
        if former is None or former.id == beat.member_id:
            return former or self._enter(beat, limits)
        if former.epoch != LEFT_FOR_NOW and beat.classic is None:
            message = f"Static member {beat.member_id} with instance id {beat.instance_id} cannot join: it is there"
            raise RefusedError("UNRELEASED_INSTANCE_ID", message)
        return self._replace(former, beat)

    def _known_static(self, beat: Beat) -> ConsumerMember:
        member = self._static(beat.instance_id or "")
        if member is None:
            raise RefusedError("UNKNOWN_MEMBER_ID", f"Instance id {beat.instance_id} is unknown.")
        if member.id != beat.member_id:
            message = f"Static member {beat.member_id} with instance id {beat.instance_id} was fenced by another"
            raise RefusedError("FENCED_INSTANCE_ID", message)
        return member

    def _enter(self, beat: Beat, limits: GroupLimits) -> ConsumerMember:
        made = self._admit(ConsumerMember(beat.member_id, beat.instance_id), limits.most_members)
        if made.instance_id is not None:
            self.static[made.instance_id] = made.id
        return made

    def _replace(self, former: ConsumerMember, beat: Beat) -> ConsumerMember:
        """Replace a static member that joins again by a new member with its partitions."""
        former.close()
        made = ConsumerMember(beat.member_id, beat.instance_id, assigned=former.assigned, since=former.since)
        made.subscription, made.matched = former.subscription, former.matched
        self.members = {made.id if one == former.id else one: each for one, each in self.members.items()}
        self.members[made.id] = made
        self.static[beat.instance_id or ""] = made.id
        if former.id in self.target:
            self.target[made.id] = self.target.pop(former.id)
        return made

    def _static(self, instance_id: str) -> ConsumerMember | None:
        return self.members.get(self.static.get(instance_id, ""))

    def remove(self, member: ConsumerMember) -> None:
        """Remove a member and release its partitions."""
        member.close()
        if self.members.get(member.id) is not member:
            return
        del self.members[member.id]
        self.target.pop(member.id, None)
        if member.instance_id is not None and self.static.get(member.instance_id) == member.id:
            del self.static[member.instance_id]
        self._release(member.assigned | member.revoking)
        self._count_partitions()  # part of the same epoch
        self.epoch += 1
        if not self.members:
            self.target_epoch = self.epoch
        self.keep(self)

    # --- over a restart

    def restore(
        self, epochs: tuple[int, int], members: Iterable[ConsumerMember], target: Assignment, session_timeout: float
    ) -> None:
        """Restore the group from its stored state. epochs: (the group's, the target assignment's); timeout: seconds."""
        (self.epoch, self.target_epoch), self.target = epochs, target
        for each in members:
            self.members[each.id] = each
            if each.instance_id is not None:
                self.static[each.instance_id] = each.id
            self._owners.update(each.assigned | each.revoking)
        self._match(lambda name: True)
        self._count_partitions()
        limits = GroupLimits(session_timeout)
        self._vote(limits)
        for each in self.members.values():
            self._wait(each, limits)

    # --- subscriptions

    def _update(self, member: ConsumerMember, beat: Beat, limits: GroupLimits, may_read: Callable[[str], bool]) -> bool:
        """Update a member from its heartbeat; return whether its subscription has changed."""
        old = member.subscription
        names = old.names if beat.names is None else frozenset(beat.names)
        pattern = old.pattern if beat.pattern is None else beat.pattern
        assignor = old.assignor if beat.assignor is None else beat.assignor
        new = Subscription(names, pattern, assignor)
        if beat.pattern is not None and pattern != old.pattern:
            member.matched = self._matching(pattern, may_read)
        if beat.rebalance_timeout is not None:
            member.rebalance_timeout = beat.rebalance_timeout
        member.classic = beat.classic
        member.rack = member.rack if beat.rack is None else beat.rack
        member.client_id, member.client_host = beat.client
        member.subscription = new
        self._vote(limits)
        return new != old or member.id not in self.target

    def _vote(self, limits: GroupLimits) -> None:
        votes = Counter(each.subscription.assignor for each in self.members.values() if each.subscription.assignor)
        self._assignor = votes.most_common(1)[0][0] if votes else limits.assignor

    def _matching(self, pattern: str, may_read: Callable[[str], bool]) -> frozenset[str]:
        expression = regular(pattern)
        if not pattern:
            return frozenset()
        return frozenset(each.name for each in self.topics if expression(each.name) and may_read(each.name))

    def _match(self, may_read: Callable[[str], bool]) -> None:
        """Update the topics that match the members' patterns."""
        patterns = {each.subscription.pattern for each in self.members.values()} - {""}
        matched = {pattern: self._matching(pattern, may_read) for pattern in patterns}
        for each in self.members.values():
            if each.subscription.pattern:
                each.matched = matched[each.subscription.pattern]

    def _assign(self) -> None:
        ids = {topic.name: topic.id for topic in self.topics if topic.id in self._counts}
        wanted = {
            each.id: frozenset(ids[name] for name in each.topics if name in ids) for each in self.members.values()
        }
        self.target = ASSIGNORS[self.assignor](wanted, self._counts, self.target)
        self.target_epoch = self.epoch

    # --- assignments

    def _reconcile(self, member: ConsumerMember, owned: frozenset[Partition] | None) -> None:
        held = member.assigned | member.revoking
        self._release(held)
        if member.epoch == LEFT_FOR_NOW:
            member.epoch = JOINING
        target = self.target.get(member.id, NOTHING)
        member.reconcile(target, self.target_epoch, owned, lambda each: not self._owners[each])
        self._owners.update(member.assigned | member.revoking)

    def _release(self, partitions: Iterable[Partition]) -> None:
        for each in partitions:
            self._owners[each] -= 1
            if self._owners[each] <= 0:
                del self._owners[each]

    def _wait(self, member: ConsumerMember, limits: GroupLimits) -> None:
        """Set the timers that remove a member: by its session timeout, and its rebalance timeout while it has to
        revoke.
        """
        self.alive(member, limits.session_timeout)
        if member.state is not MemberState.UNREVOKED:
            if member.rebalance is not None:
                member.rebalance.cancel()
                member.rebalance = None
        elif member.rebalance is None:
            member.rebalance = self.clock.call_later(member.rebalance_timeout, self.remove, member)

    def alive(self, member: ConsumerMember, seconds: float = 0.0) -> None:
        """Restart a member's session timer: of `seconds`, or of its own timeout if it uses the classic protocol."""
        if member.session is not None:
            member.session.cancel()
        own = member.classic.session_timeout if member.classic is not None else seconds
        member.session = self.clock.call_later(own, self.remove, member)

    def expect_join(self, member: ConsumerMember) -> None:
        """Set the timer that removes a classic member if it does not join again within its rebalance timeout."""
        if member.rebalance is None:
            member.rebalance = self.clock.call_later(member.rebalance_timeout, self.remove, member)

    def is_released(self, member: ConsumerMember) -> bool:
        """Return whether no other member has any of the partitions that a member's target adds."""
        return not any(self._owners[each] for each in self.target.get(member.id, NOTHING) - member.assigned)

    def accepts(self, protocol_type: str, protocols: list[tuple[str, bytes]]) -> bool:
        """Return whether a protocol is one of all classic members. One that joins again is among them."""
        others = [each.classic.protocols for each in self.members.values() if each.classic]
        common = set.intersection(*({name for name, _ in each} for each in others)) if others else None
        names = {name for name, _ in protocols}
        return protocol_type == self.protocol_type and bool(names if common is None else names & common)

    def close(self) -> None:
        """Cancel all timers."""
        for each in self.members.values():
            each.close()
        self._is_dead = True


def check_epoch(member: ConsumerMember, beat: Beat) -> None:
    """Refuse a heartbeat with another epoch than the member's, unless the last response was lost. Raises
    RefusedError.
    """
    if beat.epoch == member.epoch or beat.epoch == JOINING:
        return
    lost = beat.epoch == member.previous_epoch and beat.owned is not None and beat.owned <= member.assigned
    if beat.epoch > member.epoch or not lost:
        larger = "larger" if beat.epoch > member.epoch else "smaller"
        message = (
            f"The consumer group member has a {larger} member epoch ({beat.epoch}) than the one known ({member.epoch})"
        )
        raise RefusedError("FENCED_MEMBER_EPOCH", message)
