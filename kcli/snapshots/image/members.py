"""Keeps the partitions of a topic in which each broker is in the ISR or the ELR, as a controller does.

Kafka's `BrokersToIsrs` and `BrokersToElrs` are plain lists of partitions. A broker that an ISR names twice, or a topic
id that begins anew, leaves entries behind, so that a later change does not find the entry that it removes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.schemas.field_codes import NO_LEADER
from kcli.snapshots.image.replay import ReplayError

Entry = tuple[int, bool]  # partition, and whether the broker leads it
ZERO: Entry = (0, False)  # fills a list that lost several entries but becomes shorter by only one
Partition = dict[str, Any]
Lists = dict[int, list[Entry]]  # by broker


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
