"""Runs a plan against live brokers: all fetchers together, each step at its time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.counting import counted
from kcli.errors import UsageError
from kcli.replay.sessions.conducting import CapturedBrokers, Conductor, Rhythm
from kcli.replay.sessions.drafting import DraftFetching
from kcli.replay.sessions.fetching import Fetching
from kcli.replay.sessions.live_fetch import LiveFetch
from kcli.replay.sessions.plan import Fetcher, ReplayPlan
from kcli.replay.sessions.positions import Positions
from kcli.replay.sessions.target import Target, find_target
from kcli.replay.sessions.verbatim import VerbatimFetching
from kcli.replay.topics import TopicNames
from kcli.topic_names import INTERNAL


@dataclass(frozen=True)
class Options:
    """offsets: one of positions.MODES; scale: captured time over live time, None as fast as it goes; repeat: how often;
    mode: "incremental" (sessions as captured), "full" (none), "draft" (those of KIP-227's third draft); topics:
    captured to live topic; create: make topics that are not there."""

    offsets: str = "captured"
    scale: float | None = 1.0
    mode: str = "incremental"
    repeat: int = 1
    topics: dict[str, str] = field(default_factory=dict)
    create: bool = True

    @property
    def is_captured(self) -> bool:
        """Whether all that is asked for is as captured."""
        return self.mode == "incremental" and self.offsets == "captured" and not self.topics


@dataclass
class Replayed:
    """Every fetcher's steps with what became of them, in order; `clamped`: partitions whose offsets did not exist."""

    fetchers: list[tuple[Fetcher, list[LiveFetch]]]
    clamped: int = 0


def parse_speed(text: str) -> float | None:
    """`--speed`: a factor ("10" is ten times as fast as captured), or "max". UsageError."""
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 < speed < float("inf"):
        raise UsageError(f"--speed {text}: a number above 0, or max, expected")
    return speed


async def replay(
    plan: ReplayPlan,
    names: TopicNames,
    config: ClientConfig,
    options: Options,
    *,
    brokers: CapturedBrokers | None = None,
    notify: Callable[[str], None] = lambda _: None,
    done: Callable[[], None] = lambda: None,
    outcome: Replayed | None = None,
) -> Replayed:
    """Run the plan `options.repeat` times.

    brokers: the brokers rebuilt from the capture, where these answer. notify: called with one line for each
    thing that a user should know, once each. done: called after each step. outcome: filled step by step, for who
    wants to know what there was before it was cancelled.

    Raises NetworkError when the brokers can't be reached or lack what the plan needs.
    """
    say = once(notify)
    outcome = outcome if outcome is not None else Replayed([])
    async with Client(config) as client:
        verbatim = brokers is not None and options.is_captured and not plan.has_drafts
        if verbatim:
            target = Target(client, {}, {})
        else:
            target = await find_target(client, plan, names, options.topics, create=options.create, notify=say)
            empty = sum(
                target.bounds[key].latest == 0 and target.names[key[0]] not in INTERNAL
                for key in plan.delivering()
                if key in target.bounds
            )
            if empty:
                say(f"the cluster has no records in {counted(empty, 'partition')} that gave some (--fill writes them)")
        for _ in range(options.repeat):
            positions = Positions(options.offsets, target.bounds)
            kind = VerbatimFetching if verbatim else DraftFetching if options.mode == "draft" else Fetching
            full = options.mode == "full"
            rhythm = Rhythm(options.scale)
            conducting: list[Coroutine[Any, Any, None]] = []
            if brokers is not None:
                brokers.rewind()
                rhythm = conductor = Conductor(options.scale, plan, brokers)
                conducting.append(conductor.run())
            fetchings = [
                kind(
                    each,
                    target,
                    positions,
                    named(config, each, options.mode),
                    scale=options.scale,
                    full=full,
                    brokers=brokers,
                    notify=say,
                )
                for each in plan.fetchers
            ]
            steps: list[list[LiveFetch]] = [[] for _ in fetchings]
            outcome.fetchers += zip((each.fetcher for each in fetchings), steps, strict=True)
            works = zip(fetchings, steps, strict=True)
            await together(*(run_fetcher(each, rhythm, done, results) for each, results in works), *conducting)
            outcome.clamped = max(outcome.clamped, len(positions.clamped))
    return outcome


async def run_fetcher(fetching: Fetching, rhythm: Rhythm, done: Callable[[], None], results: list[LiveFetch]) -> None:
    """Add all steps of one fetcher to results, each when its turn has come and the one before is answered."""
    try:
        for step in fetching.fetcher.steps:
            await rhythm.turn(step)
            results.append(await fetching.run_step(step, rhythm))
            rhythm.done(step)
            done()
        await fetching.finish()
    finally:
        await fetching.close()


async def together(*works: Coroutine[Any, Any, None]) -> None:
    """Run all of them together. The first that fails cancels the others, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as group_error:
        raise group_error.exceptions[0] from None


def named(config: ClientConfig, fetcher: Fetcher, mode: str) -> ClientConfig:
    """The captured client's id, unless the user chose one. In the draft it identifies the fetcher: each has its own."""
    if mode == "draft":
        return config.replace(client_id=fetcher.label)
    if "client.id" in config.set_names or not fetcher.client_id:
        return config
    return config.replace(client_id=fetcher.client_id)


def once(notify: Callable[[str], None]) -> Callable[[str], None]:
    said: set[str] = set()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            notify(text)

    return say
