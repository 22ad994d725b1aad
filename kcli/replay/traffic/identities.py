"""Live ids and names for captured ones: pairs that are learned from the captured and the live response to the same
request.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kcli.replay.topic_mapping import LiveTopics
from kcli.schemas.field_codes import ConfigResource, CoordinatorType

# Types of resources with configs; topics have the same number in ACLs (ResourceType).
TOPIC_RESOURCE = ConfigResource.TOPIC
BROKER_RESOURCES = (ConfigResource.BROKER, ConfigResource.BROKER_LOGGER)
MOST_SHIFTS = 1000  # the most changes of a partition's offset difference that are remembered


class Scope(NamedTuple):
    """The scope of a value, because an id is unique only together with these (all captured values)."""

    group: str = ""
    member: str = ""
    topic: str = ""
    partition: int = -1
    producer: int = -1
    kind: int = 0  # of the resource, or of the coordinator's key


class Identities:
    """The pairs of one client's requests. suffix: appended to its groups and transactional ids, so that they are the
    client's own.

    A value without a pair stays as it is, because the broker may know it. Leader epochs become -1, which means unknown.
    """

    def __init__(self, topics: LiveTopics, suffix: str = "") -> None:
        self.topics, self.suffix = topics, suffix
        self.members: dict[str, str] = {}
        self.producers: dict[int, int] = {}
        self.epochs: dict[int, dict[int, int]] = {}  # {captured producer: {captured epoch: live epoch}}
        self.generations: dict[tuple[str, str, int], int] = {}
        self.leader_epochs: dict[tuple[str, int, int], int] = {}
        self.nodes: dict[int, int] = {}
        self.cluster: str | None = None  # the live cluster's id
        self.shifts: dict[
            tuple[str, int], list[tuple[int, int]]
        ] = {}  # {partition: [(captured offset, difference from there on)]}

    # Values for the live broker

    def live(self, kind: str, value: Any, scope: Scope) -> Any:
        """Return the live value for a captured value of a request."""
        live_value = LIVE_VALUES.get(kind)
        return value if live_value is None else live_value(self, value, scope)

    def suffixed(self, name: str, _scope: Scope) -> str:
        """Return the live name of a group or a transactional id."""
        return name + self.suffix if name else name

    def coordinator(self, key: str, scope: Scope) -> str:
        """Return the live key of a coordinator."""
        return key + self.suffix if scope.kind in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION) else key

    def cluster_id(self, value: str, _scope: Scope) -> str:
        """Return the live cluster's id; the captured one if it is not known."""
        return self.cluster or value

    def leader_epoch(self, epoch: int, scope: Scope) -> int:
        """Return a partition's live leader epoch; -1 if it is not known."""
        return self.leader_epochs.get((scope.topic, scope.partition, epoch), -1)

    def resource(self, name: str, scope: Scope) -> str:
        """Return the live name of a config's or an ACL's resource: of a topic or a broker; other names stay."""
        if scope.kind == TOPIC_RESOURCE:
            return self.topics.live_name(name)
        if scope.kind in BROKER_RESOURCES and name.isascii() and name.isdigit() and len(name) < 10:
            return str(self.nodes.get(int(name), int(name)))
        return name

    def generation(self, value: int, scope: Scope) -> int:
        """Return a group's live generation, or a member's live epoch. Values of 0 and below have fixed meanings."""
        known = self.generations
        return known.get((scope.group, scope.member, value)) or known.get((scope.group, "", value)) or value

    def producer_epoch(self, epoch: int, scope: Scope) -> int:
        """Return a producer's live epoch. For an epoch without a pair it is that of the next older one (of a broker
        that does not bump epochs).
        """
        known = self.epochs.get(scope.producer)
        if not known or epoch < 0:
            return epoch
        older = [each for each in known if each <= epoch]
        return known[max(older)] if older else epoch

    def offset(self, offset: int, scope: Scope) -> int:
        """Return a live offset: the captured one plus the difference at the nearest known offset before it."""
        known = self.shifts.get((scope.topic, scope.partition))
        if not known or offset < 0:
            return offset
        at = bisect_right(known, (offset, 1 << 63)) - 1
        return max(0, offset + known[max(at, 0)][1])

    # Pairs from responses

    def learn(self, kind: str, captured: Any, live: Any, scope: Scope) -> None:
        """Learn a pair: a value of a captured response, and the value at the same place in the live one."""
        lesson = LESSONS.get(kind)
        if lesson is not None:
            lesson(self, captured, live, scope)

    def learn_member(self, captured: str | None, live: str | None, _scope: Scope) -> None:
        """Learn a member's id."""
        if captured and live:
            self.members[captured] = live

    def learn_producer(self, captured: int, live: int, _scope: Scope) -> None:
        """Learn a producer's id."""
        if captured >= 0 and live >= 0:
            self.producers[captured] = live

    def learn_producer_epoch(self, captured: int, live: int, scope: Scope) -> None:
        """Learn a producer's epoch."""
        if captured >= 0 and live >= 0 and scope.producer >= 0:
            self.epochs.setdefault(scope.producer, {})[captured] = live

    def learn_generation(self, captured: int, live: int, scope: Scope) -> None:
        """Learn a group's generation, or a member's epoch."""
        if captured > 0 and live > 0:
            self.generations[scope.group, scope.member, captured] = live
            self.generations[scope.group, "", captured] = live

    def learn_leader_epoch(self, captured: int, live: int, scope: Scope) -> None:
        """Learn a partition's leader epoch."""
        if captured >= 0 and live >= 0:
            self.leader_epochs[scope.topic, scope.partition, captured] = live

    def learn_offset(self, captured: int, live: int, scope: Scope) -> None:
        """Learn a pair of offsets, if their difference is another than before."""
        if captured < 0 or live < 0:
            return
        known = self.shifts.setdefault((scope.topic, scope.partition), [])
        shift = live - captured
        at = bisect_right(known, (captured, 1 << 63)) - 1
        if at >= 0 and (known[at][1] == shift or known[at][0] == captured):
            known[at] = (known[at][0], shift)
            return
        insort(known, (captured, shift))
        del known[:-MOST_SHIFTS]


LIVE_VALUES: Mapping[str, Callable[[Identities, Any, Scope], Any]] = {
    "topic": lambda ids, name, _: ids.topics.live_name(name),
    "topic id": lambda ids, value, _: ids.topics.live_id(value),
    "group": Identities.suffixed,
    "transaction": Identities.suffixed,
    "coordinator": Identities.coordinator,
    "cluster": Identities.cluster_id,
    "resource": Identities.resource,
    "member": lambda ids, value, _: ids.members.get(value, value),
    "producer": lambda ids, value, _: ids.producers.get(value, value),
    "producer epoch": Identities.producer_epoch,
    "generation": Identities.generation,
    "leader epoch": Identities.leader_epoch,
    "offset": Identities.offset,
    "node": lambda ids, value, _: ids.nodes.get(value, value),
    "replica": lambda *_: -1,
}
LESSONS: Mapping[str, Callable[[Identities, Any, Any, Scope], None]] = {
    "member": Identities.learn_member,
    "producer": Identities.learn_producer,
    "producer epoch": Identities.learn_producer_epoch,
    "generation": Identities.learn_generation,
    "leader epoch": Identities.learn_leader_epoch,
    "offset": Identities.learn_offset,
}
