"""Replies to JoinGroup and SyncGroup."""

from __future__ import annotations

from typing import Protocol

from kcli.broker.groups.member import Member, Reply, member_rows


class Generation(Protocol):
    """A group, as its replies need it."""

    generation: int
    protocol_type: str
    protocol: str | None
    leader: str | None
    members: dict[str, Member]


def joined(group: Generation, member: Member) -> Reply:
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


def assigned(group: Generation, member: Member) -> Reply:
    """Make the reply to a sync: the member's assignment."""
    return {
        "errorCode": 0,
        "protocolType": group.protocol_type,
        "protocolName": group.protocol,
        "assignment": member.assignment,
    }
