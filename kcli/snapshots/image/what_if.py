"""Partitions without some brokers (`kcli snapshot image --without`): offline, too few in sync, next leaders.

The rules are those of a controller that fences a broker. The broker leaves the ISR, but the last one stays in it. With
eligible leader replicas (KIP-966) it becomes an eligible leader if the ISR falls below min.insync.replicas, and the ISR
may become empty. The next leader is the first replica that is in the ISR and alive, else the first eligible one; no
election is unclean here.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcli.errors import UsageError
from kcli.schemas.field_codes import ConfigResource
from kcli.snapshots.image.image import Image, Partition

ELR_FEATURE, MIN_ISR = "eligible.leader.replicas.version", "min.insync.replicas"
STATES = ("offline", "under-min-isr", "at-min-isr", "leader-moves")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A partition without the brokers.

    state: the gravest of STATES that applies; isr, elr: after the change reassign: replicas with which it has enough in
    sync again, once they have caught up; (): none are needed, or no replica is left to copy from
    """

    topic: str
    partition: int
    state: str
    leader: int
    next_leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    min_isr: int
    reassign: tuple[int, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return the outcome as an object of JSON."""
        row: dict[str, Any] = {"topic": self.topic, "partition": self.partition, "state": self.state}
        row |= {"leader": self.leader, "nextLeader": self.next_leader, "isr": list(self.isr), "elr": list(self.elr)}
        return row | {"minIsr": self.min_isr, "reassign": list(self.reassign)}


def parse_without(image: Image, texts: Sequence[str]) -> set[int]:
    """Return the brokers of "broker=3" and "rack=b". Raises UsageError."""
    removed: set[int] = set()
    for text in texts:
        kind, mark, name = text.partition("=")
        if kind == "broker" and re.fullmatch("[0-9]{1,10}", name):
            found = {int(name)} & image.brokers.keys()
        elif kind == "rack" and mark:
            found = {number for number, each in image.brokers.items() if each.get("rack") == name}
        else:
            raise UsageError(f"--without {text}: broker=ID or rack=NAME expected")
        if not found:
            known = ", ".join(map(str, sorted(image.brokers))) if kind == "broker" else ", ".join(racks(image))
            raise UsageError(f"--without {text}: no such {kind} is registered ({known or 'none'})")
        removed |= found
    return removed


def racks(image: Image) -> list[str]:
    """Return the racks that brokers have."""
    return sorted({each["rack"] for each in image.brokers.values() if each.get("rack")})


class WhatIf:
    """The cluster of an image without some of its brokers."""

    def __init__(self, image: Image, removed: set[int]) -> None:
        self.image, self.removed = image, removed
        # Kafka elects active brokers: neither fenced, nor shutting down.
        up = (number for number, each in sorted(image.brokers.items()) if is_active(each))
        self.alive = [number for number in up if number not in removed]
        self.has_elr = image.features.get(ELR_FEATURE, 0) > 0
        self.load: Counter[int] = Counter()

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the partitions that are affected, by topic and number."""
        for topic, number, (_, _, replicas, isr) in self.image.summaries():
            self.load.update(replicas)
            if not self.removed.isdisjoint(replicas):
                partition = self.image.partition(topic, number)
                if (found := self.outcome(topic.name, number, partition, list(isr))) is not None:
                    yield found

    def outcome(self, topic: str, number: int, partition: Partition, isr: list[int]) -> Outcome | None:
        """Judge one partition. Returns None if none of STATES applies to it."""
        least, leader = min(self.min_isr(topic), len(partition["replicas"])), partition["leader"]
        alive = [each for each in isr if each in self.alive]
        elr = list(partition["eligibleLeaderReplicas"])
        if self.has_elr and len(alive) < least:
            elr += [each for each in isr if each not in alive and each not in elr]
        kept = alive if alive or self.has_elr else isr[-1:]
        following = leader if leader in self.alive else self.next_leader(partition, alive, elr)
        if following not in (*alive, -1):
            alive, kept, elr = [following], [following], [each for each in elr if each != following]
        state = self.state(leader, following, len(alive), least)
        if state is None:
            return None
        reassign = self.reassignment(partition, least) if state != "leader-moves" and following >= 0 else ()
        return Outcome(topic, number, state, leader, following, tuple(kept), tuple(elr), least, reassign)

    def state(self, leader: int, following: int, in_sync: int, least: int) -> str | None:
        """Return the state of a partition without the brokers; None if nothing changes for clients."""
        if following < 0:
            return "offline"
        if in_sync < least:
            return "under-min-isr"
        if in_sync == least > 1:
            return "at-min-isr"
        return "leader-moves" if following != leader else None

    def next_leader(self, partition: Partition, alive: list[int], elr: list[int]) -> int:
        """Return the id of the elected broker; -1 if there is none."""
        for candidates in (alive, elr if self.has_elr else ()):
            for replica in partition["replicas"]:
                if replica in candidates and replica in self.alive:
                    return int(replica)
        return -1

    def min_isr(self, topic: str) -> int:
        """Return min.insync.replicas of a topic: the topic's config, else the cluster's, else 1. A broker's own config
        and its server.properties are not considered.
        """
        for resource in ((ConfigResource.TOPIC, topic), (ConfigResource.BROKER, "")):
            text = self.image.configs.get(resource, {}).get(MIN_ISR, "")
            if text.isdecimal():
                return int(text)
        return 1

    def reassignment(self, partition: Partition, least: int) -> tuple[int, ...]:
        """Choose live brokers to replace the lost replicas: first from racks without a replica, then those with the
        fewest replicas. Returns () if no broker is free, or the replicas would stay below `least`.
        """
        kept = [each for each in partition["replicas"] if each in self.alive]
        missing = len(partition["replicas"]) - len(kept)
        for _ in range(missing):
            used = {self.rack(each) for each in kept}
            free = [each for each in self.alive if each not in kept]
            if not free:
                break
            best = min(free, key=lambda each: (self.rack(each) in used, self.load[each], each))
            self.load[best] += 1
            kept.append(best)
        return tuple(kept) if set(kept) != set(partition["replicas"]) and len(kept) >= least else ()

    def rack(self, broker: int) -> object:
        """Return a broker's rack, or the broker's id if it has none."""
        rack = self.image.brokers[broker].get("rack")
        return broker if rack is None else rack


def is_active(broker: Mapping[str, Any]) -> bool:
    """Return whether a registered broker may lead partitions."""
    return not broker.get("fenced") and not broker.get("inControlledShutdown")


def what_if_summary(found: Sequence[Outcome], removed: set[int]) -> dict[str, Any]:
    """Return the number of partitions in each state and by next leader, as one JSON object."""
    states = Counter(each.state for each in found)
    leaders = Counter(each.next_leader for each in found if each.next_leader not in (each.leader, -1))
    summary: dict[str, Any] = {"without": sorted(removed)} | {state: states[state] for state in STATES}
    summary["offlineBefore"] = sum(each.leader < 0 for each in found)
    summary["nextLeaders"] = {str(broker): count for broker, count in sorted(leaders.items())}
    return summary | {"reassignable": sum(bool(each.reassign) for each in found)}
