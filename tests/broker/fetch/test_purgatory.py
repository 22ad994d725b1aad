"""Waiting fetches are woken by what concerns them, and by nothing else."""

import asyncio

from kcli.broker.fetch.purgatory import DelayedFetch, Purgatory


def test_enough_bytes_wake() -> None:
    async def work() -> None:
        purgatory = Purgatory()
        one, two = DelayedFetch([("t", 0), ("t", 1)], 100), DelayedFetch([("t", 1)], 1)
        for each in (one, two):
            purgatory.add(each)
        purgatory.arrive(("t", 0), 60)
        assert [each.woken.is_set() for each in (one, two)] == [False, False]
        purgatory.arrive(("t", 1), 40)
        assert [each.woken.is_set() for each in (one, two)] == [True, True]

    asyncio.run(work())


def test_news_without_bytes_wake_at_once() -> None:
    async def work() -> None:
        purgatory = Purgatory()
        watch = DelayedFetch(["a"], 1_000_000)
        purgatory.add(watch)
        purgatory.arrive("b", 0)
        assert not watch.woken.is_set()
        purgatory.arrive("a", 0)
        assert watch.woken.is_set()
        assert purgatory.events == 2

    asyncio.run(work())


def test_who_went_is_forgotten() -> None:
    async def work() -> None:
        purgatory = Purgatory()
        watch = DelayedFetch(["a", "b"], 1)
        purgatory.add(watch)
        purgatory.remove(watch)
        purgatory.remove(watch)
        purgatory.arrive("a", 5)
        purgatory.wake_all()
        assert not watch.woken.is_set()

    asyncio.run(work())
