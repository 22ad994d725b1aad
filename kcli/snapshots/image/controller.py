"""Judges the records of a metadata log as the managers of a 4.4 controller do when they replay them.

Each manager (ReplicationControlManager, ClusterControlManager, ...) keeps state that an image lacks, and refuses
records that can be applied to an image; any refusal ends the controller. Records that the image refuses are not
reported here again. Odd records that Kafka accepts, such as an ISR with a broker that is not a replica, are accepted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from kcli.java_properties import number_of
from kcli.schemas.catalog import catalog
from kcli.schemas.field_codes import NO_LEADER, ConfigResource
from kcli.snapshots.image.image import Image, Topic, Value, normal_partition
from kcli.snapshots.image.partitions import id_bytes
from kcli.snapshots.image.replay import HANDLERS, ReplayError, merge_partition
from kcli.snapshots.reading.old_fields import feature_level, next_producer_id
from kcli.snapshots.rules.levels import FEATURE, level_name
from kcli.snapshots.rules.supported import supported_levels

RELEASE = "4.4"
PROTOCOLS = range(4)  # SecurityProtocol
INT32 = range(-(1 << 31), 1 << 31)
# The highest known code of each enumeration in an ACL; Kafka reads all higher ones as UNKNOWN.
ACL_CODES = {"resourceType": 7, "patternType": 4, "operation": 15, "permissionType": 3}

Held = tuple[int, str, Value]  # a record of a transaction: its offset, type and value
Rule = Callable[["Controller", Value], None]
RULES: dict[str, Rule] = {}
Entry = tuple[int, bool]  # partition, and whether the broker leads it
ZERO: Entry = (0, False)  # fills a list that lost several entries but becomes shorter by only one
Partition = dict[str, Any]
Lists = dict[int, list[Entry]]  # by broker


def refuses(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for records of these types. The rule raises ReplayError if a controller would refuse the
    record.
    """

    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


class Controller:
    """The state of a controller that an image lacks. Each record is judged here before it is applied to the image.

    names: {topic name: topic id}; a name stays here even if its id got another name directories: {directory id:
    broker}; rules: the contents of the ACLs, without their ids members: {topic id: Members} of topics with possibly odd
    lists; leave: has the kernel leave such a topic to the slower reader
    """

    def __init__(self, image: Image, leave: Callable[[bytes], object] = lambda _: None) -> None:
        self.image, self.leave = image, leave
        self.names: dict[str, bytes] = {}
        self.directories: dict[str, int] = {}
        self.rules: set[tuple[Any, ...]] = set()
        self.members: dict[bytes, Members] = {}

    def refusal(self, name: str, value: Value) -> str | None:
        """Return why the record is refused; None if it is accepted, which updates the state."""
        try:
            if is_dropped(name) and self.image.level is not None:
                raise ReplayError(f"{name} is a type that {RELEASE} does not have")
            if name in RULES:
                RULES[name](self, value)
        except ReplayError as error:
            return str(error)
        return None

    def refusals(self, records: Iterable[Held]) -> list[tuple[int, str]]:
        """Judge the records of an aborted transaction: the controller replays them, too, before it drops them. Returns
        (offset, reason) of those refused.
        """
        aside, found = self.aside(), list[tuple[int, str]]()
        for offset, name, value in records:
            why = aside.refusal(name, value)
            try:
                if name in HANDLERS:
                    HANDLERS[name](aside.image, value)
            except ReplayError as error:
                why = why or str(error)
            if why is not None:
                found.append((offset, why))
        return found

    def aside(self) -> Controller:
        """Return a copy of the controller, with its image."""
        image = copy.copy(self.image)
        for name in ("features", "acls", "tokens", "former_names"):
            setattr(image, name, dict(getattr(image, name)))
        for name in ("brokers", "controllers", "configs", "quotas", "scram"):
            setattr(image, name, {key: dict(each) for key, each in getattr(image, name).items()})
        image.topics = {key: Topic(each.id, each.name, dict(each.partitions)) for key, each in image.topics.items()}
        other = Controller(image)
        other.names, other.directories = dict(self.names), dict(self.directories)
        other.rules, other.members = set(self.rules), copy.deepcopy(self.members)
        return other

    def move(self, broker: int, before: Iterable[str], after: Iterable[str]) -> None:
        """Replace a broker's log directories. Raises ReplayError if a directory belongs to another broker or is named
        twice.
        """
        for directory in before:
            if self.directories.pop(directory, None) != broker:
                raise ReplayError(f"broker {broker}: its directory {directory} is not its own, or named twice")
        for directory in after:
            owner = self.directories.setdefault(directory, broker)
            if owner != broker:
                raise ReplayError(f"broker {broker}: directory {directory} is that of broker {owner}")

    def set_partition(self, topic: Topic, number: int, before: Value | None, after: Value) -> None:
        """Keep the lists of a topic up to date, once one of its partitions is odd."""
        if topic.id not in self.members:
            if not is_odd(after) and (before is None or not is_odd(before)):
                return
            self.suspect(topic)
        self.members[topic.id].update(number, before, after)

    def suspect(self, topic: Topic) -> None:
        """Begin to keep the lists of a topic, from its partitions in the image."""
        self.leave(topic.id)
        if topic.id not in self.members:
            self.members[topic.id] = Members(self.image.partitions(topic))


@cache
def is_dropped(name: str) -> bool:
    """Return whether a type of records was removed before RELEASE."""
    tables = catalog()
    spans = tables.message(name).releases
    if not spans or RELEASE not in tables.releases:
        return False
    return max(tables.releases.index(each.until) for each in spans) < tables.releases.index(RELEASE)


# ClusterControlManager


@refuses("RegisterBrokerRecord")
def register_broker(state: Controller, value: Value) -> None:
    number, before = value["brokerId"], state.image.brokers.get(value["brokerId"])
    for each in value["endPoints"]:
        check_protocol(f"broker {number}", each)
        if not each["name"]:
            raise ReplayError(f"broker {number}: a listener without a name")
    state.move(number, (before or {}).get("logDirs") or (), value.get("logDirs") or ())


@refuses("UnregisterBrokerRecord")
def unregister_broker(state: Controller, value: Value) -> None:
    number, before = value["brokerId"], state.image.brokers.get(value["brokerId"])
    if before is None:
        raise ReplayError(f"the removal of broker {number}, which is not registered")
    if before["brokerEpoch"] != value["brokerEpoch"]:
        is_now = before["brokerEpoch"]
        raise ReplayError(f"the removal of broker {number} at epoch {value['brokerEpoch']}; its epoch is {is_now}")
    state.move(number, before.get("logDirs") or (), ())


@refuses("FenceBrokerRecord", "UnfenceBrokerRecord", "BrokerRegistrationChangeRecord")
def change_broker(state: Controller, value: Value) -> None:
    number: int = value["brokerId" if "brokerId" in value else "id"]
    before = (state.image.brokers.get(number) or {}).get("logDirs") or ()
    state.move(number, before, value.get("logDirs") or before)


@refuses("RegisterControllerRecord")
def register_controller(state: Controller, value: Value) -> None:
    for each in value["endPoints"]:
        check_protocol(f"controller {value['controllerId']}", each)


@refuses("UnregisterControllerRecord")
def unregister_controller(state: Controller, value: Value) -> None:
    if value["controllerId"] not in state.image.controllers:
        raise ReplayError(f"the removal of controller {value['controllerId']}, which is not registered")


def check_protocol(node: str, endpoint: Value) -> None:
    if endpoint["securityProtocol"] not in PROTOCOLS:
        protocol = endpoint["securityProtocol"]
        raise ReplayError(f"{node}: unknown security protocol {protocol} of listener {endpoint['name']}")


# ReplicationControlManager


@refuses("TopicRecord")
def create_topic(state: Controller, value: Value) -> None:
    name, identity = value["name"], id_bytes(value["topicId"])
    known, before = state.image.topics.get(identity), state.names.get(name)
    state.names[name] = identity
    if known is not None:
        state.suspect(known)  # the topic is created again, but Kafka's lists of it stay
    if before is not None:
        id_text = "the same id" if before == identity else "another id"
        raise ReplayError(f"a second TopicRecord of {name}, with {id_text}")


@refuses("RemoveTopicRecord")
def remove_topic(state: Controller, value: Value) -> None:
    topic = state.image.topics.get(id_bytes(value["topicId"]))
    if topic is not None:
        state.names.pop(topic.name, None)
        state.members.pop(topic.id, None)


@refuses("PartitionRecord")
def create_partition(state: Controller, value: Value) -> None:
    topic, number = state.image.topics.get(id_bytes(value["topicId"])), value["partitionId"]
    if topic is not None:
        before = state.image.partition(topic, number) if number in topic.partitions else None
        state.set_partition(topic, number, before, normal_partition(value))


@refuses("PartitionChangeRecord")
def change_partition(state: Controller, value: Value) -> None:
    topic, number = state.image.topics.get(id_bytes(value["topicId"])), value["partitionId"]
    if topic is None or number not in topic.partitions:
        return
    before = state.image.partition(topic, number)
    try:
        after = merge_partition(before, value)
    except ReplayError:
        return  # the image refuses it, too
    state.set_partition(topic, number, before, after)


@refuses("ClearElrRecord")
def clear_elr(state: Controller, value: Value) -> None:
    name = value["topicName"]
    if name and name in state.names and state.names[name] not in state.image.topics:
        raise ReplayError(f"the clearing of topic {name}, which is gone")


# The other managers


@refuses("ConfigRecord")
def set_config(state: Controller, value: Value) -> None:
    kind, name = value["resourceType"], value["resourceName"]
    if kind == ConfigResource.BROKER and name and (kind, name) not in state.image.configs and not is_java_int(name):
        raise ReplayError(f"a config of broker {name!r}, which is no number")


def is_java_int(text: str) -> bool:
    try:
        return number_of(text) in INT32
    except ValueError:
        return False


@refuses("AccessControlEntryRecord")
def add_acl(state: Controller, value: Value) -> None:
    state.rules.add(acl_rule(value))


@refuses("RemoveAccessControlEntryRecord")
def remove_acl(state: Controller, value: Value) -> None:
    known = state.image.acls.get(value["id"])
    if known is None:
        return  # the image refuses it, too
    rule = acl_rule(known)
    if rule not in state.rules:
        raise ReplayError(f"the removal of ACL {value['id']}, whose rule was removed under another id")
    state.rules.remove(rule)


def acl_rule(value: Value) -> tuple[Any, ...]:
    codes = (value[name] if 0 <= value[name] <= most else 0 for name, most in ACL_CODES.items())
    return value["resourceName"], value["principal"], value["host"], *codes


@refuses("DelegationTokenRecord")
def set_token(state: Controller, value: Value) -> None:
    for each in (value["owner"], value.get("requester", value["owner"]), *value["renewers"]):
        if ":" not in (each or ""):
            raise ReplayError(f"delegation token {value['tokenId']}: a principal that is not TYPE:NAME")


@refuses("FeatureLevelRecord")
def set_feature(state: Controller, value: Value) -> None:
    name = value["name"]
    level = feature_level(value)
    least, most = supported_levels(name, RELEASE)
    is_old = name == FEATURE and level < least and (state.image.level or 0) < least  # written before 3.3
    if not least <= level <= most and not is_old:
        levels = f"{least} to {most}" if most else "no level"
        named = f" ({level_name(level)})" if name == FEATURE and level_name(level) != str(level) else ""
        raise ReplayError(f"feature {name} level {level}{named}; {RELEASE} has {levels} of it")


@refuses("ProducerIdsRecord")
def set_producer_ids(state: Controller, value: Value) -> None:
    following = next_producer_id(value)
    known = state.image.next_producer_id
    if state.image.producer_ids is not None and following <= known:
        raise ReplayError(f"the next producer id {following} is not greater than the one before, {known}")


def is_odd(partition: Partition) -> bool:
    """Return whether a partition's ISR or ELR names a broker twice, or its ISR a negative id."""
    isr, elr = partition["isr"], partition["eligibleLeaderReplicas"]
    return len(set(isr)) < len(isr) or len(set(elr)) < len(elr) or min(isr, default=0) < 0


class Members:
    """The lists of one topic: {broker: entries} of ISRs and of ELRs. In the lists of ISRs, broker -1 has the partitions
    without a leader.
    """

    def __init__(self, partitions: Iterable[tuple[int, Partition]]) -> None:
        self.isrs: dict[int, list[Entry]] = {}
        self.elrs: dict[int, list[Entry]] = {}
        for number, partition in partitions:
            self.update(number, None, partition)

    def update(self, number: int, before: Partition | None, after: Partition) -> None:
        """Apply a change of a partition. before: None for a new one. Raises ReplayError if an entry that the change
        removes is missing.
        """
        led = before["leader"] if before else NO_LEADER
        change(self.isrs, number, in_sync(before), in_sync(after), (led, after["leader"]))
        elr = sorted(before["eligibleLeaderReplicas"]) if before else []
        change(self.elrs, number, elr, sorted(after["eligibleLeaderReplicas"]), (None, None))


def change(lists: Lists, number: int, was: list[int], now: list[int], leaders: tuple[int | None, int | None]) -> None:
    """Add and remove the entries of the brokers in which two sorted lists differ, and mark who leads. leaders: before
    and after.
    """
    (led, leads), old, new = leaders, 0, 0
    while old < len(was) or new < len(now):
        if new == len(now) or (old < len(was) and was[old] < now[new]):
            remove(lists, was[old], (number, was[old] == led))
            old += 1
        elif old == len(was) or was[old] > now[new]:
            lists.setdefault(now[new], []).append((number, now[new] == leads))
            new += 1
        else:
            mark(lists, was[old], (number, was[old] == led), (number, was[old] == leads))
            old, new = old + 1, new + 1


def mark(lists: Lists, broker: int, was: Entry, now: Entry) -> None:
    """Replace a broker's entry of a partition."""
    if was != now:
        lists[broker] = [now if each == was else each for each in found(lists, broker, was[0])]


def in_sync(partition: Partition | None) -> list[int]:
    if partition is None:
        return []
    return sorted([*partition["isr"], *([NO_LEADER] if partition["leader"] == NO_LEADER else [])])


def found(lists: Lists, broker: int, number: int) -> list[Entry]:
    if broker not in lists:
        raise ReplayError(f"partition {number}: the controller has no entry of broker {broker} for the topic any more")
    return lists[broker]


def remove(lists: Lists, broker: int, entry: Entry) -> None:
    """Remove all entries equal to this one, but shorten the list by only one. Raises ReplayError if there is no such
    entry.
    """
    entries = found(lists, broker, entry[0])
    left = [each for each in entries if each != entry]
    if len(left) == len(entries):
        raise ReplayError(f"partition {entry[0]}: the controller has no entry of broker {broker} for it any more")
    left += [ZERO] * (len(entries) - 1 - len(left))
    if left:
        lists[broker] = left
    else:
        del lists[broker]
