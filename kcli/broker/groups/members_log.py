"""Groups with members on disk: records of `__consumer_offsets` in Kafka's format.

A consumer group or share group is a table of records: its epochs, and for each member its subscription, its target and
its current assignment. A classic group is one record with its latest generation. Only changes of the table are written;
a deleted group gets tombstones.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kcli.broker.groups.consumer.assignors import Partition
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.consumer.member import ClassicSide, ConsumerMember, MemberState, Subscription
from kcli.broker.groups.group import Group
from kcli.broker.groups.member import Member
from kcli.broker.metadata.state_topic import StateTopic
from kcli.broker.partition import by_topic
from kcli.broker.share.group import ShareGroup, ShareMember
from kcli.errors import InputError
from kcli.grammar import messages
from kcli.schemas.catalog import catalog

# Types of records by Kafka's CoordinatorRecordType: of classic groups, consumer groups, then share groups.
CLASSIC = 2
EPOCH, MEMBER, TARGET_EPOCH, TARGET, CURRENT = 3, 5, 6, 7, 8
SHARE_MEMBER, SHARE_EPOCH, SHARE_TARGET_EPOCH, SHARE_TARGET, SHARE_CURRENT = range(10, 15)
KINDS = frozenset([CLASSIC, EPOCH, MEMBER, TARGET_EPOCH, TARGET, CURRENT, *range(SHARE_MEMBER, SHARE_CURRENT + 1)])

VERSIONS = {CLASSIC: 3}  # of values in Kafka 4; 0 for other types

Kept = Group | ConsumerGroup | ShareGroup
MemberKey = tuple[int, str]  # a record's type and its member's id, "" for a record of the whole group
Fields = dict[str, Any]


class MembersLog:
    """Stores groups in a topic. tables: the latest values by group id and record key."""

    def __init__(self, topic: StateTopic) -> None:
        self.topic = topic
        self.tables: dict[str, dict[bytes, bytes]] = {}

    def take(self, key: bytes, value: bytes | None) -> None:
        """Add a loaded record of the topic to its table; records of other types are ignored. Raises InputError."""
        number = int.from_bytes(key[:2], "big")
        if number not in KINDS:
            return
        table = self.tables.setdefault(key_fields(key)[group_field(number)], {})
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value

    def load(self, make: Callable[[str, type[Kept]], tuple[Kept, float]]) -> None:
        """Restore the groups of the loaded tables. make: returns a group of an id and kind, and its session timeout in
        seconds.
        """
        for group_id, table in self.tables.items():
            try:
                rows = dict(decoded(table))
                if (EPOCH, "") in rows:
                    restore_consumers(*make(group_id, ConsumerGroup), rows)
                elif (SHARE_EPOCH, "") in rows:
                    restore_sharers(*make(group_id, ShareGroup), rows)
                elif (CLASSIC, "") in rows:
                    restore_classic(make(group_id, Group)[0], rows[CLASSIC, ""])
            except (InputError, ValueError) as error:
                self.topic.note(f"{self.topic.name}: left out: group {group_id}: {error}")

    def save(self, group: Kept) -> None:
        """Write the changes of a group. An OSError is only logged; the next call writes them again."""
        if isinstance(group, Group):
            rows = {(CLASSIC, ""): classic_group_row(group, self.topic.replicas.now())}
        else:
            rows = consumer_rows(group) if isinstance(group, ConsumerGroup) else share_rows(group)
        self._replace(group.id, {key_of(group.id, *place): value_of(place[0], each) for place, each in rows.items()})

    def forget(self, group_id: str) -> None:
        """Write tombstones for all records of a group."""
        self._replace(group_id, {})

    def _replace(self, group_id: str, table: dict[bytes, bytes]) -> None:
        former = self.tables.get(group_id, {})
        rows: list[tuple[bytes, bytes | None]] = [(key, None) for key in former if key not in table]
        rows += [(key, value) for key, value in table.items() if former.get(key) != value]
        if not rows:
            return
        try:
            self.topic.write(group_id, rows)
            self.tables[group_id] = table
        except OSError as error:
            self.topic.note(f"group {group_id}: {error.strerror}")


# --- the form of records


def message(number: int, part: str, version: int = 0) -> Any:
    return messages.data(catalog().records(f"group-{part.lower()}")[number], version)


def group_field(number: int) -> str:
    return "group" if number == CLASSIC else "groupId"


def key_fields(key: bytes) -> Fields:
    fields: Fields = message(int.from_bytes(key[:2], "big"), "Key").read(key, 2)[0]
    return fields


def key_of(group_id: str, number: int, member: str) -> bytes:
    named = {group_field(number): group_id} | ({"memberId": member} if member else {})
    return number.to_bytes(2, "big") + bytes(message(number, "Key").write(named))


def value_of(number: int, fields: Fields) -> bytes:
    version = VERSIONS.get(number, 0)
    return version.to_bytes(2, "big") + bytes(message(number, "Value", version).write(fields))


def decoded(table: Mapping[bytes, bytes]) -> Iterator[tuple[MemberKey, Fields]]:
    for key, value in table.items():
        number, version = int.from_bytes(key[:2], "big"), int.from_bytes(value[:2], "big")
        yield (number, key_fields(key).get("memberId", "")), message(number, "Value", version).read(value, 2)[0]


def topic_rows(partitions: Iterable[Partition]) -> list[Fields]:
    return [{"topicId": topic, "partitions": indexes} for topic, indexes in by_topic(partitions).items()]


def dated_rows(partitions: Iterable[Partition], since: Mapping[Partition, int]) -> list[Fields]:
    """Return the rows of a member's partitions with the epochs in which the member got them (KIP-1251)."""
    rows = topic_rows(partitions)
    for row in rows:
        row["assignmentEpochs"] = [since.get((row["topicId"], index), 0) for index in row["partitions"]]
    return rows


def dates_of(rows: Iterable[Fields]) -> dict[Partition, int]:
    """Return the epochs in rows of `dated_rows`; rows without epochs add none."""
    return {
        (each["topicId"], index): epoch
        for each in rows
        for index, epoch in zip(each["partitions"], each.get("assignmentEpochs") or (), strict=False)
    }


def partitions_of(rows: Iterable[Fields]) -> frozenset[Partition]:
    return frozenset((each["topicId"], index) for each in rows for index in each["partitions"])


# --- classic groups


def classic_group_row(group: Group, now: int) -> Fields:
    """Return the record of a classic group: its latest generation."""
    members = [
        {
            "memberId": each.id,
            "groupInstanceId": each.instance_id,
            "clientId": each.client_id,
            "clientHost": each.client_host,
            "rebalanceTimeout": round(each.rebalance_timeout * 1000),
            "sessionTimeout": round(each.session_timeout * 1000),
            "subscription": each.metadata(group.protocol),
            "assignment": each.assignment,
        }
        for each in group.members.values()
    ]
    made = {"protocolType": group.protocol_type, "generation": group.generation, "protocol": group.protocol}
    return made | {"leader": group.leader, "currentStateTimestamp": now, "members": members}


def restore_classic(group: Kept, fields: Fields) -> None:
    """Restore a classic group from its record."""
    assert isinstance(group, Group)
    members = [classic_member(each, fields["protocol"]) for each in fields["members"]]
    protocol = fields["protocolType"], fields["protocol"]
    group.restore(fields["generation"], protocol, fields["leader"], members)


def classic_member(fields: Fields, protocol: str | None) -> Member:
    made = Member(fields["memberId"], fields.get("groupInstanceId"), (fields["clientId"], fields["clientHost"]))
    made.session_timeout = fields["sessionTimeout"] / 1000
    rebalance = fields.get("rebalanceTimeout", -1)
    made.rebalance_timeout = rebalance / 1000 if rebalance >= 0 else made.session_timeout
    made.protocols = [(protocol or "", bytes(fields["subscription"]))]
    made.assignment = bytes(fields["assignment"])
    return made


# --- consumer groups


def consumer_rows(group: ConsumerGroup) -> dict[MemberKey, Fields]:
    """Return the records of a consumer group."""
    rows: dict[MemberKey, Fields] = {
        (EPOCH, ""): {"epoch": group.epoch},
        (TARGET_EPOCH, ""): {"assignmentEpoch": group.target_epoch},
    }
    for each in group.members.values():
        rows[MEMBER, each.id] = {
            "instanceId": each.instance_id,
            "rackId": each.rack,
            "clientId": each.client_id,
            "clientHost": each.client_host,
            "subscribedTopicNames": sorted(each.subscription.names),
            "subscribedTopicRegex": each.subscription.pattern,
            "rebalanceTimeoutMs": min(round(each.rebalance_timeout * 1000), (1 << 31) - 1),
            "serverAssignor": each.subscription.assignor or None,
            "classicMemberMetadata": each.classic and classic_row(each.classic),
        }
        rows[CURRENT, each.id] = {
            "memberEpoch": each.epoch,
            "previousMemberEpoch": each.previous_epoch,
            "state": int(each.state),
            "assignedPartitions": dated_rows(each.assigned, each.since),
            "partitionsPendingRevocation": dated_rows(each.revoking, each.since),
        }
    for member, partitions in group.target.items():
        rows[TARGET, member] = {"topicPartitions": topic_rows(partitions)}
    return rows


def classic_row(side: ClassicSide) -> Fields:
    protocols = [{"name": name, "metadata": data} for name, data in side.protocols]
    return {"sessionTimeoutMs": round(side.session_timeout * 1000), "supportedProtocols": protocols}


def classic_of(row: Fields | None) -> ClassicSide | None:
    if row is None:
        return None
    protocols = [(each["name"], bytes(each["metadata"])) for each in row["supportedProtocols"]]
    return ClassicSide(row["sessionTimeoutMs"] / 1000, protocols)


def restore_consumers(group: Kept, session_timeout: float, rows: Mapping[MemberKey, Fields]) -> None:
    """Restore a consumer group from its records. Raises ValueError for an unknown member state."""
    assert isinstance(group, ConsumerGroup)
    members, target = [], {}
    for (number, member_id), fields in rows.items():
        if number == TARGET:
            target[member_id] = partitions_of(fields["topicPartitions"])
        elif number == MEMBER:
            members.append(consumer_member(member_id, fields, rows.get((CURRENT, member_id))))
    target_epoch = rows.get((TARGET_EPOCH, ""), {}).get("assignmentEpoch", 0)
    group.restore((rows[EPOCH, ""]["epoch"], target_epoch), members, target, session_timeout)


def consumer_member(member_id: str, fields: Fields, current: Fields | None) -> ConsumerMember:
    made = ConsumerMember(
        member_id,
        fields["instanceId"],
        fields["rackId"],
        fields["clientId"],
        fields["clientHost"],
        rebalance_timeout=fields["rebalanceTimeoutMs"] / 1000,
        subscription=Subscription(
            frozenset(fields["subscribedTopicNames"]),
            fields["subscribedTopicRegex"] or "",
            fields["serverAssignor"] or "",
        ),
        classic=classic_of(fields.get("classicMemberMetadata")),
    )
    if current is not None:
        made.epoch, made.previous_epoch = current["memberEpoch"], current["previousMemberEpoch"]
        made.state = MemberState(current["state"])
        rows = current["assignedPartitions"], current["partitionsPendingRevocation"]
        made.assigned, made.revoking = map(partitions_of, rows)
        made.since = dates_of(itertools.chain(*rows))
    return made


# --- share groups


def share_rows(group: ShareGroup) -> dict[MemberKey, Fields]:
    """Return the records of a share group."""
    rows: dict[MemberKey, Fields] = {
        (SHARE_EPOCH, ""): {"epoch": group.epoch, "metadataHash": 0},
        (SHARE_TARGET_EPOCH, ""): {"assignmentEpoch": group.epoch},
    }
    for each in group.members.values():
        assigned = topic_rows(each.assigned)
        rows[SHARE_MEMBER, each.id] = {
            "rackId": each.rack,
            "clientId": each.client_id,
            "clientHost": each.client_host,
            "subscribedTopicNames": sorted(each.topics),
        }
        rows[SHARE_TARGET, each.id] = {"topicPartitions": assigned}
        rows[SHARE_CURRENT, each.id] = {
            "memberEpoch": each.epoch,
            "previousMemberEpoch": each.previous_epoch,
            "state": int(MemberState.STABLE),
            "assignedPartitions": assigned,
        }
    return rows


def restore_sharers(group: Kept, session_timeout: float, rows: Mapping[MemberKey, Fields]) -> None:
    """Restore a share group from its records."""
    assert isinstance(group, ShareGroup)
    members = []
    for (number, member_id), fields in rows.items():
        if number != SHARE_MEMBER:
            continue
        topics = tuple(fields["subscribedTopicNames"])
        made = ShareMember(member_id, fields["rackId"], fields["clientId"], fields["clientHost"], topics=topics)
        current = rows.get((SHARE_CURRENT, member_id))
        if current is not None:
            made.epoch, made.previous_epoch = current["memberEpoch"], current["previousMemberEpoch"]
            made.assigned = partitions_of(current["assignedPartitions"])
        members.append(made)
    group.restore(rows[SHARE_EPOCH, ""]["epoch"], members, session_timeout)
