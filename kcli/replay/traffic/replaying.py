"""Runs captures again: reads them twice, as streams, and has every client send what it sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.exchange import Exchange
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.proxy.recording import Recorder
from kcli.replay.filling import fill
from kcli.replay.topics import LiveTopics
from kcli.replay.traffic.appends import Appends
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.clock import Clock, Room
from kcli.replay.traffic.cluster import live_replicas, live_sizes, prepare
from kcli.replay.traffic.connection import LiveConnection
from kcli.replay.traffic.destinations import Destinations
from kcli.replay.traffic.identities import Identities
from kcli.replay.traffic.mapping import Mapper
from kcli.replay.traffic.outcome import Outcome
from kcli.replay.traffic.producers import Producers
from kcli.replay.traffic.rounds import Rounds
from kcli.replay.traffic.source import in_order
from kcli.replay.traffic.steps import Order, Step
from kcli.replay.traffic.survey import Survey
from kcli.replay.traffic.transactions import Transactions
from kcli.topic_names import lawful_name


@dataclass(frozen=True)
class Options:
    """scale: captured time over live time, None: as fast as it goes. clients: how often each captured client runs at
    once. topics: captured to live name; create: make topics that are not there; memory: bytes that are held.

    free: a load test: connections do not wait for what others did, and fetches wait less for records.
    """

    scale: float | None = 1.0
    repeat: int = 1
    clients: int = 1
    topics: Mapping[str, str] = field(default_factory=dict)
    create: bool = True
    memory: int = 1 << 26
    free: bool = False


class ReplayedClients:
    """All clients of the captures once: what they have learnt, and their connections."""

    def __init__(
        self,
        suffix: str,
        config: ClientConfig,
        topics: LiveTopics,
        destinations: Destinations,
        outcome: Outcome,
        choice: Choice,
        clock: Clock,
        dialect: str | None,
        ended: Callable[[Step], None],
        recorder: Recorder | None,
        appends: Appends | None,
        *,
        free: bool,
    ) -> None:
        self.suffix, self.config, self.dialect, self.recorder, self.free = suffix, config, dialect, recorder, free
        self.destinations, self.outcome, self.clock, self.ended = destinations, outcome, clock, ended
        identities = Identities(topics, suffix)
        identities.nodes = destinations.nodes()
        identities.cluster = destinations.client.metadata.cluster_id
        self.mapper = Mapper(identities, dialect)
        self.producers = Producers(identities)
        self.transactions = Transactions()
        self.rounds = Rounds(destinations.survey.rounds)
        self.bodies = Bodies(dialect, annotated=False)
        self.order = Order(choice, destinations.survey.first_ns, appends, free=free)
        self.left = dict(destinations.survey.connections)
        self.connections: dict[str, LiveConnection] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    def put(self, exchange: Exchange) -> None:
        """Have a connection make an exchange again, when it is its turn."""
        name = exchange.connection
        connection = self.connections.get(name)
        if connection is None:
            connection = self.connections[name] = LiveConnection(name, self)
            task = asyncio.create_task(connection.run())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        connection.queue.put_nowait(self.order.step(exchange))
        self.left[name] -= 1
        if not self.left[name]:
            connection.queue.put_nowait(None)
            self.order.forget(name)
            del self.connections[name]

    async def finish(self) -> None:
        """Wait for all connections."""
        for each in self.connections.values():
            each.queue.put_nowait(None)
        if self.tasks:
            await asyncio.gather(*self.tasks)

    async def cancel(self) -> None:
        """End at once."""
        tasks = list(self.tasks)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def replay(
    read: Callable[[], Iterable[object]],
    survey: Survey,
    choice: Choice,
    config: ClientConfig,
    options: Options,
    outcome: Outcome,
    *,
    dialect: str | None = None,
    notify: Callable[[str], None] = lambda _: None,
    done: Callable[[], None] = lambda: None,
    recorder: Recorder | None = None,
    history: CaptureHistory | None = None,
) -> None:
    """Run the exchanges that `read` gives anew each time, once for each repetition; `outcome` takes what comes.

    done: called after each step of each client. recorder: gets what is said. history: has the records
    that topics are filled with before. NetworkError, UsageError: the run can't begin.
    """
    suffixes = [""] if options.clients == 1 else [f"-{number}" for number in range(1, options.clients + 1)]
    async with Client(config, dialect, notify) as client:
        if history is not None:
            await fill_before(client, survey, options, history, notify)
        topics, destinations = await prepare(
            client,
            survey,
            options.topics,
            dialect,
            suffixes=suffixes,
            create=options.create,
            notify=notify,
        )
        for _ in range(options.repeat):
            await run(read(), topics, destinations, choice, config, options, outcome, suffixes, dialect, done, recorder)


async def fill_before(
    client: Client, survey: Survey, options: Options, history: CaptureHistory, notify: Callable[[str], None]
) -> None:
    """Write what the topics held before the captures' own requests wrote to them. NetworkError."""
    needed, mapping = survey.needed(), options.topics

    def until(topic: str, index: int) -> int | None:
        return needed[topic].produced.get(index) if topic in needed else None

    await client.refresh([])
    sizes, replicas = live_sizes(survey, mapping, client), live_replicas(survey, mapping, client)
    done = await fill(client, history, lambda name: mapping.get(name) or lawful_name(name), sizes, until, replicas)
    notify(str(done))


async def run(
    items: Iterable[object],
    topics: LiveTopics,
    destinations: Destinations,
    choice: Choice,
    config: ClientConfig,
    options: Options,
    outcome: Outcome,
    suffixes: list[str],
    dialect: str | None,
    done: Callable[[], None],
    recorder: Recorder | None,
) -> None:
    room, clock = Room(options.clients), Clock(options.scale, outcome.pace)
    # Of clients that are there several times, each batch comes several times: logs can't be as captured.
    appends = Appends() if options.clients == 1 and not options.free else None
    wanted = (each for each in items if isinstance(each, Exchange) and choice.reason(each) is None)

    def ended(step: Step) -> None:
        room.leave(step.exchange)
        done()

    copies = [
        ReplayedClients(
            suffix,
            config,
            topics,
            destinations,
            outcome,
            choice,
            clock,
            dialect,
            ended,
            recorder,
            appends,
            free=options.free,
        )
        for suffix in suffixes
    ]
    try:
        for exchange in in_order(appends.watch(wanted) if appends else wanted, options.memory):
            for each in copies:
                await room.enter(exchange)
                each.put(exchange)
            await asyncio.sleep(0)
        for each in copies:
            await each.finish()
    finally:
        clock.stop()
        for each in copies:
            await each.cancel()
