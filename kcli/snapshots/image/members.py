"""Keeps which partitions of a topic each broker is in the ISR or the ELR of, as a controller does.

Kafka's `BrokersToIsrs` and `BrokersToElrs` hold no more than lists of partitions, so that a broker which an ISR names
twice, or a topic id that begins anew, leaves entries behind; a later change does not find the entry that it removes
then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.schemas.field_codes import NO_LEADER
from kcli.snapshots.image.replay import ReplayError

Entry = tuple[int, bool]  # partition, and that the broker leads it
ZERO: Entry = (0, False)  # of a list that was cut to one entry less and had more than one to lose
Partition = dict[str, Any]
Lists = dict[int, list[Entry]]  # by broker


def is_odd(partition: Partition) -> bool:
    """Return whether its ISR or ELR names a broker twice, or one that can't be."""
    isr, elr = partition["isr"], partition["eligibleLeaderReplicas"]
    return len(set(isr)) < len(isr) or len(set(elr)) < len(elr) or min(isr, default=0) < 0


class Members:
    """The lists of one topic: {broker: entries}, of ISRs (without a leader: of broker -1, too) and of ELRs."""

    def __init__(self, partitions: Iterable[tuple[int, Partition]]) -> None:
        self.isrs: dict[int, list[Entry]] = {}
        self.elrs: dict[int, list[Entry]] = {}
        for number, partition in partitions:
            self.update(number, None, partition)

    def update(self, number: int, before: Partition | None, after: Partition) -> None:
        """Apply a change of a partition. Raises ReplayError if an entry that it removes is missing."""
        led = before["leader"] if before else NO_LEADER
        change(self.isrs, number, in_sync(before), in_sync(after), (led, after["leader"]))
        elr = sorted(before["eligibleLeaderReplicas"]) if before else []
        change(self.elrs, number, elr, sorted(after["eligibleLeaderReplicas"]), (None, None))


def change(lists: Lists, number: int, was: list[int], now: list[int], leaders: tuple[int | None, int | None]) -> None:
    """Add and remove the brokers in which two sorted lists differ; mark who leads. leaders: before and after."""
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
    """Put another entry in the place of one."""
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
    """Drop an entry from a list that becomes shorter by one, however many of its kind there are. Raises ReplayError."""
    entries = found(lists, broker, entry[0])
    left = [each for each in entries if each != entry]
    if len(left) == len(entries):
        raise ReplayError(f"partition {entry[0]}: the controller has no entry of broker {broker} for it any more")
    left += [ZERO] * (len(entries) - 1 - len(left))
    if left:
        lists[broker] = left
    else:
        del lists[broker]
