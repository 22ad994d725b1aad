"""A consumer group as a state machine (KIP-62, KIP-345, KIP-394; Kafka's ClassicGroup).

    EMPTY        no members; there may be committed offsets
    PREPARING    a member joined, left or changed; all have to join again within the rebalance timeout
    COMPLETING   all have joined the new generation; the group waits for the leader's assignment
    STABLE       all members have an assignment and send heartbeats
    DEAD         deleted

* A join gets its response when all members have joined, a sync when the leader has sent the assignment. Both are
  futures here.
* A member that sends no heartbeat, join, sync or commit within its session timeout is removed, unless it waits for the
  response to a join or a sync.
* In PREPARING heartbeats get REBALANCE_IN_PROGRESS, after which the member joins again.
* The protocol of a generation is the one that most members prefer among those that all of them have.
* A static member (group.instance.id) that joins again replaces its former member without a rebalance, unless its
  subscription has changed. The former member is fenced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from kcli.broker.clock import Clock, Timer
from kcli.broker.groups.codes import FENCED, ILLEGAL_GENERATION, REBALANCING, UNKNOWN_MEMBER
from kcli.broker.groups.committed import Committed
from kcli.broker.groups.member import (
    PROTOCOL_TYPE,
    Member,
    Reply,
    choose_protocol,
    identity_fault,
    member_rows,
    new_member_id,
    subscription_in,
)
from kcli.broker.groups.state import State
from kcli.errors import InputError


class Group:
    """A classic group. offsets: committed ones, by (topic, partition); pending_offsets: those of open transactions, by
    producer id; static: member ids by instance id; pending: member ids that were given out and not used yet. keep:
    called after each change that has to be stored. initial_delay: seconds.
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
        """Return the error code for a request of this member; 0 for none."""
        if code := identity_fault(self.members, self.static, member_id, instance_id):
            return code
        return ILLEGAL_GENERATION if generation is not None and generation != self.generation else 0

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
        """Remove a member that left or whose session expired."""
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
        """Return a new member id, with which the client has to join within its session timeout in seconds (KIP-394)."""
        member_id = new_member_id(client_id)
        self.pending[member_id] = self.clock.call_later(session_timeout, self.forget_pending, member_id)
        return member_id

    def forget_pending(self, member_id: str) -> None:
        """Drop a member id that was given out and not used."""
        timer = self.pending.pop(member_id, None)
        if timer is not None:
            timer.cancel()
            self._end_round_if_all_joined()

    # --- joining

    def accepts(self, protocol_type: str, protocols: list[tuple[str, bytes]]) -> bool:
        """Return whether a protocol is one of all members. A member that joins again is among them with its former
        protocols, as in Kafka's ClassicGroup.supportsProtocols.
        """
        if not self.members:
            return bool(protocol_type and protocols)
        common = set.intersection(*({name for name, _ in each.protocols} for each in self.members.values()))
        return protocol_type == self.protocol_type and any(name in common for name, _ in protocols)

    def enter(self, member: Member, protocol_type: str) -> asyncio.Future[Reply]:
        """Add a new member, which starts a rebalance. Returns the future of the response to its join."""
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
        """Add a member that already has its assignment, without a rebalance."""
        self.members[member.id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.id
        self.state = State.STABLE
        self.touch(member)

    def restore(
        self, generation: int, protocol: tuple[str, str | None], leader: str | None, members: list[Member]
    ) -> None:
        """Restore the group from its stored state. protocol: (type, name)."""
        self.generation, self.leader = generation, leader
        self.protocol_type, self.protocol = protocol
        for each in members:
            self.adopt(each)

    def rejoin(self, member: Member, protocols: list[tuple[str, bytes]]) -> asyncio.Future[Reply]:
        """Join a known member again, also after its last response was lost. Returns the future of the response."""
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
        """Replace a static member that joins again by a new member. Returns the future of the response."""
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
                # Before v9 the leader field has the former id, so that the client acts as a follower and assigns
                # nothing.
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
        """Begin a rebalance, unless one is in progress. delay: seconds to wait for more members of a new group, None
        for none.
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
        """Begin a new generation, after all members have joined or the rebalance timeout is over."""
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
        """Remove the members that sent no sync within the rebalance timeout."""
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
        """Return the future of the response to a sync. assignments: by member id, from the leader; empty from
        others.
        """
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
        """End the rebalance: set every member's assignment, and answer the waiting syncs, the leader's first."""
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
        # Programs that have seen a follower's assignment expect that the leader has its own.
        self.clock.loop.call_soon(answer_all, followers)

    # --- the rest

    def subscribes(self, topic: str) -> bool:
        """Return whether a member subscribes to the topic of this name, by its metadata for the group's protocol. True
        if that is unknown: no protocol is chosen yet, or a member's metadata can't be decoded.
        """
        if not self.members or self.protocol_type != PROTOCOL_TYPE:
            return False
        try:
            subscriptions = [subscription_in(each.metadata(self.protocol)) for each in self.members.values()]
        except InputError:
            return True
        return any(topic in each["topics"] for each in subscriptions)

    def beat(self, member: Member) -> int:
        """Process a member's heartbeat; return its error code."""
        self.touch(member)
        return REBALANCING if self.state is State.PREPARING else 0

    def close(self) -> None:
        """Cancel all timers and pending responses; the group is dead."""
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
    """Answer the futures that are not done yet."""
    for future, reply in waiting:
        if not future.done():
            future.set_result(reply)


def joined(group: Group, member: Member) -> Reply:
    """Return the response to a join: the leader gets the members with their metadata."""
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
    """Return the response to a sync: the member's assignment."""
    return {
        "errorCode": 0,
        "protocolType": group.protocol_type,
        "protocolName": group.protocol,
        "assignment": member.assignment,
    }
