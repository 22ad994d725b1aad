"""Members of the classic protocol in a group of KIP-848's, and the change of a group with members to the other
protocol.

As in Kafka's GroupMetadataManager, the first member of KIP-848's protocol turns a classic group of consumers into a
consumer group, which answers the joins and syncs of classic members by its assignments. When the last member of
KIP-848's protocol leaves, the group becomes a classic one again, whose members join again.
"""

from collections.abc import Iterable
from typing import Any

from kcli.broker.groups.codes import ILLEGAL_GENERATION, REBALANCING, UNKNOWN_MEMBER
from kcli.broker.groups.consumer.assignors import Partition
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.consumer.member import ClassicSide, ConsumerMember, MemberState, Subscription
from kcli.broker.groups.group import Group
from kcli.broker.groups.member import PROTOCOL_TYPE, Member, Reply, choose_protocol, identity_fault, subscription_in
from kcli.broker.metadata.topics import Topics
from kcli.broker.partition import by_topic
from kcli.grammar import messages
from kcli.grammar.group_data import open_data

RACKS_SINCE = 3


def subscription_of(protocols: list[tuple[str, bytes]]) -> dict[str, Any]:
    """Return the ConsumerProtocolSubscription of a member's preferred protocol, with its version.
    Raises InputError if it can't be decoded.
    """
    return subscription_in(protocols[0][1] if protocols else b"")


def named(partitions: Iterable[Partition], topics: Topics) -> list[dict[str, Any]]:
    """Return rows of partitions with topic names; deleted topics are left out."""
    rows = ((topics.by_id.get(topic), indexes) for topic, indexes in by_topic(partitions).items())
    return [{"topic": topic.name, "partitions": indexes} for topic, indexes in rows if topic is not None]


def partitions_named(rows: Iterable[dict[str, Any]], topics: Topics) -> frozenset[Partition]:
    """Return the partitions in rows with topic names; unknown topics are left out."""
    found = ((topics.by_name.get(each["topic"]), each["partitions"]) for each in rows)
    return frozenset((topic.id, index) for topic, indexes in found if topic is not None for index in indexes)


def assignment_bytes(member: ConsumerMember, topics: Topics) -> bytes:
    """Encode a member's partitions as a ConsumerProtocolAssignment, in the version of its subscription."""
    version = min(subscription_of(member.classic.protocols)["version"], RACKS_SINCE) if member.classic else 0
    codec = messages.data("ConsumerProtocolAssignment", version)
    fields = {"assignedPartitions": named(member.assigned, topics), "userData": None}
    return version.to_bytes(2, "big") + bytes(codec.write(fields))


# --- a group changes its protocol


def move_to(made: ConsumerGroup, group: Group, session_timeout: float) -> None:
    """Move the members of a classic group to a consumer group. session_timeout: seconds, for the others.

    Raises InputError if a member's subscription or assignment can't be decoded.
    """
    members = [as_consumer(group, each, made.topics) for each in group.members.values()]
    for each in group.members.values():
        each.answer({"errorCode": REBALANCING, "memberId": each.id})
    epochs = group.generation, group.generation
    made.restore(epochs, members, {each.id: each.assigned for each in members}, session_timeout)


def as_consumer(group: Group, member: Member, topics: Topics) -> ConsumerMember:
    fields, assigned = subscription_of(member.protocols), frozenset[Partition]()
    if member.assignment:
        opened = open_data("ConsumerProtocolAssignment", member.assignment)
        rows = opened.codec.read(member.assignment, opened.start)[0]["assignedPartitions"]
        assigned = partitions_named(rows, topics)
    return ConsumerMember(
        member.id,
        member.instance_id,
        fields.get("rackId"),
        member.client_id,
        member.client_host,
        group.generation,
        group.generation,
        member.rebalance_timeout,
        Subscription(frozenset(fields["topics"])),
        assigned=assigned,
        classic=ClassicSide(member.session_timeout, member.protocols),
    )


def move_back(made: Group, group: ConsumerGroup) -> None:
    """Move the members of a consumer group, which all use the classic protocol, to a classic group, where they rejoin.

    The generation is the group's target epoch, so that they can commit until they have joined.
    """
    for each in group.members.values():
        if each.classic is None:
            continue
        member = Member(each.id, each.instance_id, (each.client_id, each.client_host))
        member.session_timeout, member.rebalance_timeout = each.classic.session_timeout, each.rebalance_timeout
        member.protocols, member.assignment = each.classic.protocols, assignment_bytes(each, group.topics)
        made.adopt(member)
    made.protocol_type, made.protocol = PROTOCOL_TYPE, choose_protocol(made.members.values())
    made.generation = group.target_epoch
    made.rebalance()


# --- requests of the classic protocol


def fault_of(group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int) -> int:
    """Return the error code for a classic member's request; 0 for none."""
    if code := identity_fault(group.members, group.static, member_id, instance_id):
        return code
    member = group.members[member_id]
    if member.classic is None:
        return UNKNOWN_MEMBER
    return ILLEGAL_GENERATION if epoch != member.epoch else 0


def must_join(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Return whether a classic member has to join again to get its next assignment."""
    if member.state is MemberState.UNREVOKED or member.epoch < group.epoch:
        return True
    return member.state is MemberState.UNRELEASED and group.is_released(member)


def joined(member: ConsumerMember) -> Reply:
    """Make the response to a join. It has no leader, as the coordinator assigns the partitions."""
    protocol = member.classic.protocols[0][0] if member.classic is not None else ""
    reply = {"errorCode": 0, "generationId": member.epoch, "protocolType": PROTOCOL_TYPE, "protocolName": protocol}
    return reply | {"memberId": member.id, "leader": "", "members": []}


def synced(group: ConsumerGroup, member: ConsumerMember) -> Reply:
    """Make the response to a sync."""
    group.alive(member)
    if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED:
        group.expect_join(member)
        return {"errorCode": REBALANCING, "assignment": b""}
    protocol = member.classic.protocols[0][0] if member.classic is not None else ""
    reply = {"errorCode": 0, "protocolType": PROTOCOL_TYPE, "protocolName": protocol}
    return reply | {"assignment": assignment_bytes(member, group.topics)}


def beaten(group: ConsumerGroup, member: ConsumerMember) -> int:
    """Process a classic member's heartbeat; return its error code."""
    group.alive(member)
    if not must_join(group, member):
        return 0
    group.expect_join(member)
    return REBALANCING
