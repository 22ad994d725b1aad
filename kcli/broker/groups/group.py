"""A consumer group as a state machine (KIP-62, KIP-345, KIP-394; Kafka's ClassicGroup).

    EMPTY        no members; offsets may be kept
    PREPARING    somebody came, went or changed: members have to join again until all have, or the rebalance timeout
    ends COMPLETING   all have joined a new generation; the leader's assignment is awaited
    STABLE       everybody has an assignment; heartbeats
    DEAD         deleted

* A join is answered when its round ends, a sync when the leader has sent the assignment. Both are futures here.
* A member that neither heartbeats, joins, syncs nor commits for its session timeout is removed. One that waits for a
  join or a sync is alive.
* In PREPARING heartbeats are answered with REBALANCE_IN_PROGRESS: the member has to join again.
* The protocol of a generation is the one most members prefer among those that all of them have.
* A static member (group.instance.id) that comes again takes the place of its former self without a rebalance, unless
  its subscription has changed. The former self is fenced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from kcli.broker.clock import Clock, Timer
from kcli.broker.groups.codes import FENCED, ILLEGAL_GENERATION, REBALANCING, UNKNOWN_MEMBER
from kcli.broker.groups.committed import Committed
from kcli.broker.groups.member import Member, Reply, choose_protocol, member_rows, new_member_id
from kcli.broker.groups.state import State


class Group:
    """One consumer group. offsets: committed ones, by (topic, partition); pending_offsets: those of open transactions,
    by producer id. keep: called with each change of its members that a restart must know.
    """

    type = "classic"

    def __init__(
        self, group_id: str, initial_delay: float, clock: Clock, keep: Callable[[Group], None] = lambda _: None
    ) -> None:
        self.id, self.initial_delay, self.clock, self.keep = group_id, initial_delay, clock, keep
        self.state = State.EMPTY
        self.generation = 0
        self.protocol_type = ""
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static: dict[str, str] = {}
        self.pending: dict[str, Timer] = {}
        self.offsets: dict[tuple[str, int], Committed] = {}
        self.pending_offsets: dict[int, dict[tuple[str, int], Committed]] = {}
        self._round: Timer | None = None
        self._delayed = False

    # --- members

    def check(self, member_id: str, instance_id: str | None, generation: int | None = None) -> int:
        """Return the error for a request of this member; 0 if it may go on."""
        if instance_id is not None and self.static.get(instance_id) not in (None, member_id):
            return FENCED
        if member_id not in self.members:
            return UNKNOWN_MEMBER
        if generation is not None and generation != self.generation:
            return ILLEGAL_GENERATION
        return 0

    def touch(self, member: Member) -> None:
        """Restart the member's session timer."""
        if member.timer is not None:
            member.timer.cancel()
        member.timer = self.clock.call_later(member.session_timeout, self._expire, member)

    def _expire(self, member: Member) -> None:
        if self.members.get(member.id) is not member:
            return
        if member.waiting:
            self.touch(member)
        else:
            self.remove(member)

    def remove(self, member: Member) -> None:
        """Remove a member that left, or was silent too long."""
        self._drop(member)
        if self.state in (State.STABLE, State.COMPLETING):
            self.rebalance()
        elif self.state is State.PREPARING:
            self._end_round_if_all_joined()

    def _drop(self, member: Member) -> None:
        del self.members[member.id]
        if member.instance_id is not None and self.static.get(member.instance_id) == member.id:
            del self.static[member.instance_id]
        if member.timer is not None:
            member.timer.cancel()
        member.answer({"errorCode": UNKNOWN_MEMBER, "memberId": member.id})
        member.join = member.sync = None
        if self.leader == member.id:
            self.leader = None

    def expect(self, client_id: str, session_timeout: float) -> str:
        """Return a new member id for a client that is to join with it (KIP-394)."""
        member_id = new_member_id(client_id)
        self.pending[member_id] = self.clock.call_later(session_timeout, self.forget_pending, member_id)
        return member_id

    def forget_pending(self, member_id: str) -> None:
        """Forget a member id that was given out and not used."""
        timer = self.pending.pop(member_id, None)
        if timer is not None:
            timer.cancel()
            self._end_round_if_all_joined()

    # --- joining

    def accepts(self, protocol_type: str, protocols: list[tuple[str, bytes]], but: str = "") -> bool:
        """Return whether a member with these protocols fits in with the others (`but` left aside)."""
        others = [each for each in self.members.values() if each.id != but]
        if not others:
            return bool(protocol_type and protocols)
        common = set.intersection(*({name for name, _ in each.protocols} for each in others))
        return protocol_type == self.protocol_type and any(name in common for name, _ in protocols)

    def enter(self, member: Member, protocol_type: str) -> asyncio.Future[Reply]:
        """Add a new member; everybody has to join again."""
        first = self.state is State.EMPTY
        self.protocol_type = protocol_type
        timer = self.pending.pop(member.id, None)
        if timer is not None:
            timer.cancel()
        self.members[member.id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.id
        waited = self._await_join(member)
        self.rebalance(self.initial_delay if first else None)
        return waited

    def adopt(self, member: Member) -> None:
        """Add a member that comes with its assignment."""
        self.members[member.id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.id
        self.state = State.STABLE
        self.touch(member)

    def restore(
        self, generation: int, protocol: tuple[str, str | None], leader: str | None, members: list[Member]
    ) -> None:
        """Restore the group from its kept state. protocol: its type and name."""
        self.generation, self.leader = generation, leader
        self.protocol_type, self.protocol = protocol
        for each in members:
            self.adopt(each)

    def rejoin(self, member: Member, protocols: list[tuple[str, bytes]]) -> asyncio.Future[Reply]:
        """Join a known member again, also because its last response was lost."""
        changed = protocols != member.protocols
        member.protocols = protocols
        self.touch(member)
        if self.state is State.PREPARING:
            waited = self._await_join(member)
            self._end_round_if_all_joined()
            return waited
        if not changed and (self.state is State.COMPLETING or member.id != self.leader):
            return self._done(joined(self, member))
        waited = self._await_join(member)
        self.rebalance()
        return waited

    def replace(self, former: Member, member: Member) -> asyncio.Future[Reply]:
        """Replace a static member that has come again."""
        leader, same = self.leader, former.protocols == member.protocols
        assignment = former.assignment
        former.answer({"errorCode": FENCED, "memberId": former.id})
        self._drop(former)
        self.members[member.id] = member
        self.static[member.instance_id or ""] = member.id
        member.assignment = assignment
        self.touch(member)
        if self.state is State.STABLE and same:
            reply = joined(self, member)
            if leader == former.id:
                # Named by its former id it takes itself for a follower, and the assignment stays as it is.
                self.leader = member.id
                skips = member.version >= 9
                reply |= {"leader": member.id if skips else leader, "skipAssignment": skips}
                reply["members"] = member_rows(self.members.values(), self.protocol) if skips else []
            self.keep(self)
            return self._done(reply)
        waited = self._await_join(member)
        self.rebalance()
        return waited

    def _await_join(self, member: Member) -> asyncio.Future[Reply]:
        self.touch(member)
        if member.join is not None and not member.join.done():
            member.join.set_result({"errorCode": UNKNOWN_MEMBER, "memberId": member.id})
        member.join = self.clock.loop.create_future()
        return member.join

    def _done(self, reply: Reply) -> asyncio.Future[Reply]:
        future: asyncio.Future[Reply] = self.clock.loop.create_future()
        future.set_result(reply)
        return future

    # --- rounds

    def rebalance(self, delay: float | None = None) -> None:
        """Begin a round of joins, unless one is under way; delay: how long to wait for more members of a new
        group.
        """
        if self.state is not State.PREPARING:
            for each in self.members.values():
                if each.sync is not None and not each.sync.done():
                    each.sync.set_result({"errorCode": REBALANCING})
                each.sync = None
            self.state = State.PREPARING
            self._set_round(delay if delay is not None else self._patience(), self._end_round)
            self._delayed = bool(delay)
        self._end_round_if_all_joined()

    def _patience(self) -> float:
        return max((each.rebalance_timeout for each in self.members.values()), default=0.0)

    def _set_round(self, seconds: float, then: Callable[[], None]) -> None:
        if self._round is not None:
            self._round.cancel()
        self._round = self.clock.call_later(seconds, then)

    def _end_round_if_all_joined(self) -> None:
        if self.state is not State.PREPARING or self._delayed or self.pending:
            return
        if all(each.join is not None for each in self.members.values()):
            self._end_round()

    def _end_round(self) -> None:
        """Begin a new generation: all have joined, or their time is over."""
        self._delayed = False
        if self._round is not None:
            self._round.cancel()
            self._round = None
        for each in [one for one in self.members.values() if one.join is None and one.instance_id is None]:
            self._drop(each)
        self.generation += 1
        if not self.members:
            self.state, self.protocol, self.leader = State.EMPTY, None, None
            self.keep(self)
            return
        self.state = State.COMPLETING
        self.protocol = choose_protocol(self.members.values())
        if self.leader not in self.members:
            self.leader = next(iter(self.members))
        for each in self.members.values():
            each.assignment = b""
            future, each.join = each.join, None
            if future is not None and not future.done():
                future.set_result(joined(self, each))
            self.touch(each)
        self._set_round(self._patience(), self._drop_silent)

    def _drop_silent(self) -> None:
        """Remove the members that sent no sync in time."""
        self._round = None
        if self.state is not State.COMPLETING:
            return
        silent = [each for each in self.members.values() if each.sync is None]
        for each in silent:
            self._drop(each)
        if silent:
            self.rebalance()

    # --- the assignment

    def synced(self, member: Member, assignments: Mapping[str, bytes]) -> asyncio.Future[Reply]:
        """Return a member's assignment; the leader brings everybody's."""
        self.touch(member)
        if self.state is State.STABLE:
            return self._done(assigned(self, member))
        if self.state is not State.COMPLETING:
            return self._done({"errorCode": REBALANCING})
        member.sync = self.clock.loop.create_future()
        waited = member.sync
        if member.id == self.leader:
            self._assign(assignments)
        return waited

    def _assign(self, assignments: Mapping[str, bytes]) -> None:
        """End the rebalance: give every member its assignment, and answer waiting syncs, the leader's first."""
        self.state = State.STABLE
        if self._round is not None:
            self._round.cancel()
            self._round = None
        followers: list[tuple[asyncio.Future[Reply], Reply]] = []
        for each in self.members.values():
            each.assignment = assignments.get(each.id, b"")
            future, each.sync = each.sync, None
            self.touch(each)
            if future is None or future.done():
                continue
            if each.id == self.leader:
                future.set_result(assigned(self, each))
            else:
                followers.append((future, assigned(self, each)))
        self.keep(self)
        # The leader hears first: programs that have seen a follower's assignment expect that the leader has its own.
        self.clock.loop.call_soon(answer_all, followers)

    # --- the rest

    def subscribes(self, topic: str) -> bool:
        """Return whether members may subscribe to a topic: their metadata, which says so, is not read."""
        return bool(self.members)

    def beat(self, member: Member) -> int:
        """Note a heartbeat; return the error to answer it with."""
        self.touch(member)
        return REBALANCING if self.state is State.PREPARING else 0

    def close(self) -> None:
        """Cancel all timers of the group."""
        timers = [self._round, *self.pending.values(), *(each.timer for each in self.members.values())]
        for timer in timers:
            if timer is not None:
                timer.cancel()
        for each in self.members.values():
            for future in (each.join, each.sync):
                if future is not None and not future.done():
                    future.cancel()
        self.state = State.DEAD


def answer_all(waiting: Iterable[tuple[asyncio.Future[Reply], Reply]]) -> None:
    """Answer the members that wait still."""
    for future, reply in waiting:
        if not future.done():
            future.set_result(reply)


def joined(group: Group, member: Member) -> Reply:
    """Make the reply to a join: the leader gets the members with their metadata."""
    return {
        "errorCode": 0,
        "generationId": group.generation,
        "protocolType": group.protocol_type,
        "protocolName": group.protocol,
        "leader": group.leader or "",
        "memberId": member.id,
        "members": member_rows(group.members.values(), group.protocol) if member.id == group.leader else [],
    }


def assigned(group: Group, member: Member) -> Reply:
    """Make the reply to a sync: the member's assignment."""
    return {
        "errorCode": 0,
        "protocolType": group.protocol_type,
        "protocolName": group.protocol,
        "assignment": member.assignment,
    }
