"""A member of a consumer group of KIP-848's protocol, and its steps from its partitions to the target assignment."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from kcli.broker.clock import Timer
from kcli.broker.groups.consumer.assignors import Partition

NOTHING: frozenset[Partition] = frozenset()
LEFT_FOR_NOW = -2


class MemberState(IntEnum):
    """The state of a member (Kafka's MemberState)."""

    STABLE = 0
    UNREVOKED = 1  # it has yet to give partitions back
    UNRELEASED = 2  # other members have yet to revoke partitions of its target


@dataclass(slots=True)
class Subscription:
    """The subscription of a member. names: of topics; pattern: a regular expression (RE2), "" for none; assignor: ""
    for the group's.
    """

    names: frozenset[str] = frozenset()
    pattern: str = ""
    assignor: str = ""


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """The data of a member of the classic protocol. session_timeout: seconds; protocols: (name, metadata), the
    preferred one first.
    """

    session_timeout: float
    protocols: list[tuple[str, bytes]]


@dataclass(slots=True, eq=False)
class ConsumerMember:
    """A member. assigned: its partitions; revoking: those that it has to give up; since: its epoch when it got each;
    epoch: -2 for a static member that is temporarily away; classic: set if it uses the classic protocol.
    """

    id: str
    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    epoch: int = 0
    previous_epoch: int = -1
    rebalance_timeout: float = 300.0
    subscription: Subscription = field(default_factory=Subscription)
    matched: frozenset[str] = frozenset()
    assigned: frozenset[Partition] = NOTHING
    revoking: frozenset[Partition] = NOTHING
    since: dict[Partition, int] = field(default_factory=dict)
    state: MemberState = MemberState.STABLE
    classic: ClassicSide | None = None
    session: Timer | None = None
    rebalance: Timer | None = None

    @property
    def topics(self) -> frozenset[str]:
        """Return the names of the subscribed topics, by name and by pattern."""
        return self.subscription.names | self.matched

    @property
    def current(self) -> tuple[object, ...]:
        """Return the state that changes with the member's assignment, to compare."""
        return self.epoch, self.previous_epoch, self.state, self.assigned, self.revoking, self.classic

    def may_commit(self, epoch: int, partitions: Iterable[Partition]) -> bool:
        """Return whether the member may commit offsets of these partitions with an earlier epoch: it may if it already
        had them then, as it may not know of its present epoch yet (KIP-1251).
        """
        return 0 <= epoch < self.epoch and all(self.since.get(each, self.epoch) <= epoch for each in partitions)

    def close(self) -> None:
        """Cancel the member's timers."""
        for timer in (self.session, self.rebalance):
            if timer is not None:
                timer.cancel()
        self.session = self.rebalance = None

    def reconcile(
        self,
        target: frozenset[Partition],
        epoch: int,
        owned: frozenset[Partition] | None,
        is_free: Callable[[Partition], bool],
    ) -> None:
        """Move the member one step towards a target assignment (Kafka's CurrentAssignmentBuilder). epoch: the target's.

        owned: the partitions that the member reports, None if it reports none. is_free: returns whether no member has a
        partition.
        """
        if self.state is MemberState.STABLE and self.epoch == epoch:
            return
        if self.state is MemberState.UNREVOKED and (owned is None or owned & self.revoking):
            return
        kept, going, coming = self.assigned & target, self.assigned - target, target - self.assigned
        free = frozenset(each for each in coming if is_free(each))
        if going and (owned is None or owned & going):
            self.state, self.assigned, self.revoking = MemberState.UNREVOKED, kept, going
            self._date()
            return
        self.assigned, self.revoking = kept | free, NOTHING
        self.state = MemberState.STABLE if free == coming else MemberState.UNRELEASED
        if self.epoch != epoch:
            self.previous_epoch, self.epoch = self.epoch, epoch
        self._date()

    def _date(self) -> None:
        """Update the epochs in which the member got its partitions."""
        self.since = {each: self.since.get(each, self.epoch) for each in self.assigned | self.revoking}
