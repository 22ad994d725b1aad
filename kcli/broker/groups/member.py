"""A member of a classic group, and the choice of the group's protocol from its members."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import Any

from kcli.broker.clock import Timer
from kcli.broker.groups.codes import FENCED, UNKNOWN_MEMBER
from kcli.grammar.group_data import open_data

Reply = dict[str, Any]
PROTOCOL_TYPE = "consumer"  # of groups whose metadata are subscriptions


class Member:
    """A member. Timeouts are in seconds. protocols: (name, metadata), the preferred one first; version: of
    JoinGroup.
    """

    def __init__(self, member_id: str, instance_id: str | None, client: tuple[str, str]) -> None:
        self.id, self.instance_id = member_id, instance_id
        self.client_id, self.client_host = client
        self.session_timeout = self.rebalance_timeout = 10.0
        self.protocols: list[tuple[str, bytes]] = []
        self.assignment = b""
        self.join: asyncio.Future[Reply] | None = None
        self.sync: asyncio.Future[Reply] | None = None
        self.version = 0
        self.timer: Timer | None = None

    def metadata(self, protocol: str | None) -> bytes:
        """Return the member's metadata for a protocol, b"" if it does not have that protocol."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    @property
    def waiting(self) -> bool:
        """Return whether the member waits for the response to a join or a sync."""
        return self.join is not None or self.sync is not None

    def answer(self, reply: Reply) -> None:
        """Send a response to the join and the sync that the member waits for."""
        for future in (self.join, self.sync):
            if future is not None and not future.done():
                future.set_result(reply)


def identity_fault(members: Container[str], static: Mapping[str, str], member_id: str, instance_id: str | None) -> int:
    """Return the error code if a group has no such member; else 0. static: member ids by instance id."""
    if instance_id is not None and static.get(instance_id) != member_id:
        return FENCED if instance_id in static else UNKNOWN_MEMBER
    return 0 if member_id in members else UNKNOWN_MEMBER


def subscription_in(metadata: bytes) -> Reply:
    """Return the ConsumerProtocolSubscription in a member's metadata, with its version. Raises InputError if it can't
    be decoded.
    """
    opened = open_data("ConsumerProtocolSubscription", metadata)
    fields: Reply = opened.codec.read(metadata, opened.start)[0]
    return fields | {"version": opened.version}


def new_member_id(name: str) -> str:
    """Make a new member id: the client's name and a random UUID."""
    raw = secrets.token_hex(16)
    return f"{name}-{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"


def choose_protocol(members: Iterable[Member]) -> str:
    """Choose the protocol that most members prefer among those that all have."""
    names = [[name for name, _ in each.protocols] for each in members]
    common = set.intersection(*(set(each) for each in names))
    votes = Counter(next(name for name in each if name in common) for each in names)
    return votes.most_common(1)[0][0]


def member_rows(members: Iterable[Member], protocol: str | None) -> list[Reply]:
    """Return the rows of members in the leader's JoinGroup response."""
    return [
        {"memberId": each.id, "groupInstanceId": each.instance_id, "metadata": each.metadata(protocol)}
        for each in members
    ]
