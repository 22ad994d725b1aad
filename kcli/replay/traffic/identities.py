"""Live ids and names for captured ones: pairs of values, learned from responses to the same request."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kcli.replay.topic_mapping import LiveTopics
from kcli.schemas.field_codes import ConfigResource, CoordinatorType

# Types of resources with configs; that of topics is the same in ACLs (ResourceType).
TOPIC_RESOURCE = ConfigResource.TOPIC
BROKER_RESOURCES = (ConfigResource.BROKER, ConfigResource.BROKER_LOGGER)
MOST_SHIFTS = 1000  # changes of a partition's offsets that are remembered


class Scope(NamedTuple):
    """The scope of a value: ids mean something only together with these (all as captured)."""

    group: str = ""
    member: str = ""
    topic: str = ""
    partition: int = -1
    producer: int = -1
    kind: int = 0  # of the resource, or of the coordinator's key


class Identities:
    """The pairs of one client's requests. suffix: behind its groups and transactional ids, so that it is another one.

    A value that has no pair stays as it is, where the broker can take that for one of its own; epochs of leaders
    become -1, which means unknown.
    """

    def __init__(self, topics: LiveTopics, suffix: str = "") -> None:
        self.topics, self.suffix = topics, suffix
        self.members: dict[str, str] = {}
        self.producers: dict[int, int] = {}
        self.epochs: dict[int, dict[int, int]] = {}  # of producers: captured producer -> captured epoch -> live epoch
        self.generations: dict[tuple[str, str, int], int] = {}
        self.leader_epochs: dict[tuple[str, int, int], int] = {}
        self.nodes: dict[int, int] = {}
        self.cluster: str | None = None  # the live cluster's id
        self.shifts: dict[
            tuple[str, int], list[tuple[int, int]]
        ] = {}  # by partition: from captured offset, by how much

    # Values for the live broker

    def live(self, kind: str, value: Any, scope: Scope) -> Any:
        """Return the live value for a captured one of a request."""
        way = WAYS.get(kind)
        return value if way is None else way(self, value, scope)

    def suffixed(self, name: str, _scope: Scope) -> str:
        """Return the name of a group or a transactional id."""
        return name + self.suffix if name else name

    def coordinator(self, key: str, scope: Scope) -> str:
        """Return a coordinator's key."""
        return key + self.suffix if scope.kind in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION) else key

    def cluster_id(self, value: str, _scope: Scope) -> str:
        """Return the cluster's id."""
        return self.cluster or value

    def leader_epoch(self, epoch: int, scope: Scope) -> int:
        """Return a partition's leader epoch; -1: unknown."""
        return self.leader_epochs.get((scope.topic, scope.partition, epoch), -1)

    def resource(self, name: str, scope: Scope) -> str:
        """Return the name of a config's or an ACL's resource: a topic, a broker's id, or a name without a live one."""
        if scope.kind == TOPIC_RESOURCE:
            return self.topics.live_name(name)
        if scope.kind in BROKER_RESOURCES and name.isascii() and name.isdigit() and len(name) < 10:
            return str(self.nodes.get(int(name), int(name)))
        return name

    def generation(self, value: int, scope: Scope) -> int:
        """Return a group's live generation, or a member's live epoch; 0 and below have meanings of their own."""
        known = self.generations
        return known.get((scope.group, scope.member, value)) or known.get((scope.group, "", value)) or value

    def producer_epoch(self, epoch: int, scope: Scope) -> int:
        """Return a producer's live epoch; for one in no response, that of the next older one (a broker that bumps
        none).
        """
        known = self.epochs.get(scope.producer)
        if not known or epoch < 0:
            return epoch
        older = [each for each in known if each <= epoch]
        return known[max(older)] if older else epoch

    def offset(self, offset: int, scope: Scope) -> int:
        """Return a live offset: shifted as the nearest one before it whose live offset an answer gave."""
        known = self.shifts.get((scope.topic, scope.partition))
        if not known or offset < 0:
            return offset
        at = bisect_right(known, (offset, 1 << 63)) - 1
        return max(0, offset + known[max(at, 0)][1])

    # What answers say

    def learn(self, kind: str, captured: Any, live: Any, scope: Scope) -> None:
        """Take in a value of a captured answer and that of the live one in its place."""
        lesson = LESSONS.get(kind)
        if lesson is not None:
            lesson(self, captured, live, scope)

    def learn_member(self, captured: str | None, live: str | None, _scope: Scope) -> None:
        """Take in a member's id."""
        if captured and live:
            self.members[captured] = live

    def learn_producer(self, captured: int, live: int, _scope: Scope) -> None:
        """Take in a producer's id."""
        if captured >= 0 and live >= 0:
            self.producers[captured] = live

    def learn_producer_epoch(self, captured: int, live: int, scope: Scope) -> None:
        """Take in a producer's epoch."""
        if captured >= 0 and live >= 0 and scope.producer >= 0:
            self.epochs.setdefault(scope.producer, {})[captured] = live

    def learn_generation(self, captured: int, live: int, scope: Scope) -> None:
        """Take in a group's generation, or a member's epoch."""
        if captured > 0 and live > 0:
            self.generations[scope.group, scope.member, captured] = live
            self.generations[scope.group, "", captured] = live

    def learn_leader_epoch(self, captured: int, live: int, scope: Scope) -> None:
        """Take in a partition's leader epoch."""
        if captured >= 0 and live >= 0:
            self.leader_epochs[scope.topic, scope.partition, captured] = live

    def learn_offset(self, captured: int, live: int, scope: Scope) -> None:
        """Take in an offset, where it changes by how much offsets differ."""
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


WAYS: Mapping[str, Callable[[Identities, Any, Scope], Any]] = {
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
