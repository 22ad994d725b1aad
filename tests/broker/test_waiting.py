"""Waiting fetches are woken by what concerns them, and by nothing else."""

from __future__ import annotations

import asyncio

from kcli.broker.waiting import Watch, Watches


def test_enough_bytes_wake() -> None:
    async def work() -> None:
        watches = Watches()
        one, two = Watch([("t", 0), ("t", 1)], 100), Watch([("t", 1)], 1)
        for each in (one, two):
            watches.add(each)
        watches.arrive(("t", 0), 60)
        assert [each.woken.is_set() for each in (one, two)] == [False, False]
        watches.arrive(("t", 1), 40)
        assert [each.woken.is_set() for each in (one, two)] == [True, True]

    asyncio.run(work())


def test_news_without_bytes_wake_at_once() -> None:
    async def work() -> None:
        watches = Watches()
        watch = Watch(["a"], 1_000_000)
        watches.add(watch)
        watches.arrive("b", 0)
        assert not watch.woken.is_set()
        watches.arrive("a", 0)
        assert watch.woken.is_set()
        assert watches.told == 2

    asyncio.run(work())


def test_who_went_is_forgotten() -> None:
    async def work() -> None:
        watches = Watches()
        watch = Watch(["a", "b"], 1)
        watches.add(watch)
        watches.remove(watch)
        watches.remove(watch)
        watches.arrive("a", 5)
        watches.wake_all()
        assert not watch.woken.is_set()

    asyncio.run(work())
