"""The new protocol's state machine, heartbeat by heartbeat, with a clock that is put forward."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.groups.consumer.assignors import Partition
from kcli.broker.groups.consumer.group import Beat, ConsumerGroup, GroupLimits
from kcli.records.acceptance import RefusedError
from tests.broker.talk import run


class Room:
    """A group, and what its members say. Answers are (epoch, partitions of t; None: nothing new)."""

    def __init__(self, broker: Broker, limits: GroupLimits) -> None:
        self.broker, self.limits = broker, limits
        self.group = ConsumerGroup("g", broker.topics, broker.clock)

    def join(self, member: str, topic: str = "t", **more: Any) -> tuple[int, list[int] | None]:
        return self.beat(member, 0, names=(topic,), owned=frozenset(), rebalance_timeout=60.0, **more)

    def beat(self, member: str, epoch: int, owns: list[int] | None = None, **more: Any) -> tuple[int, list[int] | None]:
        owned = more.pop("owned", None if owns is None else self.partitions(owns))
        made, tells = self.group.beat(Beat(member, epoch, owned=owned, **more), self.limits, lambda name: True)
        return made.epoch, sorted(index for _, index in made.assigned) if tells else None

    def partitions(self, indexes: list[int]) -> frozenset[Partition]:
        return frozenset((self.broker.topics.by_name["t"].id, each) for each in indexes)

    def refused(self, work: Callable[[], object]) -> str:
        with pytest.raises(RefusedError) as caught:
            work()
        return caught.value.error

    @property
    def state(self) -> str:
        return self.group.state.value


@asynccontextmanager
async def room(partitions: int = 4, **limits: Any) -> AsyncIterator[Room]:
    async with Broker() as broker:
        broker.create_topic("t", partitions)
        made = Room(broker, GroupLimits(**limits))
        yield made
        made.group.close()


def test_partitions_move_when_they_are_given_back() -> None:
    async def work() -> None:
        async with room() as r:
            assert r.state == "Empty"
            assert r.join("a") == (1 + r.group.epoch - 1, [0, 1, 2, 3]) and r.state == "Stable"
            first = r.group.members["a"].epoch
            epoch, got = r.join("b")
            assert got == [] and epoch == first + 1 and r.state == "Reconciling"
            assert r.beat("a", first, [0, 1, 2, 3]) == (first, [0, 1])  # it has to give two back
            assert r.beat("b", epoch) == (epoch, None)
            assert r.beat("a", first) == (first, None)
            assert r.beat("a", first, [0, 1]) == (epoch, None)
            assert r.beat("b", epoch) == (epoch, [2, 3]) and r.state == "Stable"

    run(work())


def test_who_goes_leaves_its_partitions() -> None:
    async def work() -> None:
        async with room() as r:
            r.join("a")
            r.join("b")
            epoch = r.group.members["a"].epoch
            r.group.leave(Beat("b", -1), r.limits)
            assert r.beat("a", epoch)[1] is None and r.state == "Stable"
            assert r.refused(lambda: r.beat("b", epoch)) == "UNKNOWN_MEMBER_ID"
            r.group.leave(Beat("a", -1), r.limits)
            assert r.state == "Empty" and not r.group.target

    run(work())


def test_silent_and_stubborn_members_are_fenced() -> None:
    async def work() -> None:
        async with room(session_timeout=45) as r:
            r.join("a")
            epoch = r.group.members["a"].epoch
            r.join("b")
            r.beat("a", epoch, [0, 1, 2, 3])
            for _ in range(4):
                r.broker.clock.advance(20)
                r.beat("b", r.group.members["b"].epoch)
                if "a" in r.group.members:
                    r.beat("a", epoch, [0, 1, 2, 3])  # 60 s, and nothing given back
            assert list(r.group.members) == ["b"]
            assert r.beat("b", r.group.members["b"].epoch, [], names=("t",), rebalance_timeout=60.0)[1] == [0, 1, 2, 3]
            r.broker.clock.advance(46)
            assert r.state == "Empty"

    run(work())


def test_a_topic_that_comes_raises_the_epoch_by_one() -> None:
    async def work() -> None:
        async with room() as r:
            r.join("a")
            member = r.group.members["a"]
            r.beat("a", member.epoch, [0, 1, 2, 3], names=("t", "late"))
            before = r.group.epoch
            r.broker.create_topic("late", 1)
            r.beat("a", member.epoch, [0, 1, 2, 3], names=("t", "late"))
            assert r.group.epoch == before + 1

    run(work())


def grow(broker: Broker, name: str, count: int) -> None:
    topic = broker.topics.by_name[name]
    broker.topics.add_partitions(topic, [(0,)] * (count - len(topic.partitions)))


def test_a_heartbeat_begins_one_epoch_whatever_changes() -> None:
    """The epochs that Kafka 4.4.0 answers where it assigns at once (`group.consumer.assignment.interval.ms=0`)."""

    async def work() -> None:
        async with room(2) as r:
            for topic in ("u", "v"):
                r.broker.create_topic(topic, 2)
            assert r.join("a")[0] == 2
            assert r.beat("a", 2, [0, 1], names=("t", "u"))[0] == 3
            grow(r.broker, "t", 4)
            assert r.beat("a", 3)[0] == 4
            grow(r.broker, "u", 3)
            r.beat("a", 4, [0, 1, 2, 3], names=("t",))
            assert r.group.epoch == 5
            r.join("b")
            r.join("c", "v")
            r.group.leave(Beat("c", -1), r.limits)  # and the topic that it alone had
            assert r.group.epoch == 8
            r.beat("a", r.group.members["a"].epoch)
            assert r.group.epoch == 8

    run(work())


def test_epochs() -> None:
    async def work() -> None:
        async with room() as r:
            r.join("a")
            first = r.group.members["a"].epoch
            r.broker.create_topic("u", 1)
            second, _ = r.beat("a", first, [0, 1, 2, 3], names=("t", "u"))
            assert second > first
            assert r.refused(lambda: r.beat("a", second + 1)) == "FENCED_MEMBER_EPOCH"
            assert r.refused(lambda: r.beat("a", first)) == "FENCED_MEMBER_EPOCH"
            assert r.beat("a", first, [0, 1, 2, 3])[0] == second  # the last answer was lost
            assert r.refused(lambda: r.beat("a", first, [0, 9])) == "FENCED_MEMBER_EPOCH"
            assert r.beat("a", 0, [], names=("t",), rebalance_timeout=60.0)[1] is not None

    run(work())


def test_static_members_come_back_to_what_they_had() -> None:
    async def work() -> None:
        async with room() as r:
            r.join("a", instance_id="i")
            r.join("b")
            assert r.refused(lambda: r.join("c", instance_id="i")) == "UNRELEASED_INSTANCE_ID"
            epoch = r.group.members["a"].epoch
            r.beat("a", epoch, [0, 1, 2, 3], instance_id="i")
            r.beat("a", epoch, [0, 1], instance_id="i")
            r.group.leave(Beat("a", -2, instance_id="i"), r.limits)
            before = r.group.epoch
            assert r.state == "Reconciling"  # until it is back, as of Kafka
            assert r.join("c", instance_id="i")[1] == [0, 1]
            assert r.group.epoch == before  # nobody else notices
            assert r.refused(lambda: r.beat("a", epoch, instance_id="i")) == "FENCED_INSTANCE_ID"
            assert r.refused(lambda: r.beat("x", epoch, instance_id="j")) == "UNKNOWN_MEMBER_ID"
            assert r.refused(lambda: r.group.leave(Beat("a", -1, instance_id="i"), r.limits)) == "FENCED_INSTANCE_ID"
            r.group.leave(Beat("c", -2, instance_id="i"), r.limits)
            r.broker.clock.advance(46)
            assert "i" not in r.group.static

    run(work())


def test_topics_that_grow_and_patterns() -> None:
    async def work() -> None:
        async with room(2) as r:
            r.beat("a", 0, names=None, pattern="t.*", owned=frozenset(), rebalance_timeout=60.0)
            epoch = r.group.members["a"].epoch
            assert r.group.members["a"].topics == {"t"}
            r.broker.create_topic("t2", 1)
            r.broker.create_topic("other", 1)
            epoch, got = r.beat("a", epoch)
            assert got == [0, 0, 1] and r.group.subscribes("t2") and not r.group.subscribes("other")
            r.broker.controller.delete_topic(r.broker.topics.by_name["t2"])
            epoch, got = r.beat("a", epoch, [0, 1])
            assert got == [0, 1]

    run(work())


def test_the_members_choose_the_assignor_and_there_may_be_no_more_of_them() -> None:
    async def work() -> None:
        async with room(most_members=2) as r:
            r.join("a", assignor="range")
            r.join("b")
            assert r.group.assignor == "range"
            assert r.refused(lambda: r.join("c")) == "GROUP_MAX_SIZE_REACHED"

    run(work())


def test_a_heartbeat_that_lacks_a_field_is_not_full() -> None:
    full: dict[str, Any] = {"rebalance_timeout": 60.0, "owned": frozenset[Partition](), "names": ("t",)}
    assert Beat("a", 1, **full).is_full and Beat("a", 1, **full | {"names": None, "pattern": "t.*"}).is_full
    assert not any(Beat("a", 1, **full | {name: None}).is_full for name in full)
