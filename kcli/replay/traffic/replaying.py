"""Replays all traffic: reads captures twice as streams, and sends the requests of every client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.exchange import Exchange
from kcli.client.address import Address
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.client.topics import MADE_AT_ONCE, Replicas, find_topics, list_offsets
from kcli.proxy.recording import Recorder
from kcli.replay.engine import Feed, ReplayOptions, act, together
from kcli.replay.filling import fill
from kcli.replay.topic_mapping import LiveTopics
from kcli.replay.traffic.appends import Appends
from kcli.replay.traffic.captured_exchanges import in_order
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.destinations import Destinations, by_rank, coordinator
from kcli.replay.traffic.identities import Identities
from kcli.replay.traffic.mapping import Mapper
from kcli.replay.traffic.outcome import Outcome
from kcli.replay.traffic.producers import Producers
from kcli.replay.traffic.replayed_connection import LiveConnection
from kcli.replay.traffic.rhythm import CapturedRhythm, Room
from kcli.replay.traffic.rounds import Rounds
from kcli.replay.traffic.steps import Step, StepSequence
from kcli.replay.traffic.survey import SeenTopic, Survey
from kcli.replay.traffic.transactions import Transactions
from kcli.sessions.comparison import shown
from kcli.topic_names import CLUSTER_METADATA, INTERNAL, lawful_name, name_fault


@dataclass(frozen=True, kw_only=True)
class TrafficOptions(ReplayOptions):
    """The options of a replay of traffic.

    clients: number of copies of each captured client that run at once; memory: bytes of captures that are held; free: a
    load test, in which connections do not wait for each other, and fetches wait less for records
    """

    clients: int = 1
    memory: int = 1 << 26
    free: bool = False

    @property
    def suffixes(self) -> list[str]:
        """Return the suffixes of the copies' groups and transactions."""
        return [""] if self.clients == 1 else [f"-{number}" for number in range(1, self.clients + 1)]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The setting of a replay. outcome: gets the exchanges; done: called after each step of each client; recorder: gets
    the messages; history: records to fill topics with before the run.
    """

    survey: Survey
    choice: Choice
    config: ClientConfig
    options: TrafficOptions
    outcome: Outcome
    dialect: str | None = None
    notify: Callable[[str], None] = lambda _: None
    done: Callable[[], None] = lambda: None
    recorder: Recorder | None = None
    history: CaptureHistory | None = None


class ReplayedClients:
    """One copy of all clients of the captures: their learned state, and their connections."""

    def __init__(
        self,
        suffix: str,
        setting: Setting,
        destinations: Destinations,
        rhythm: CapturedRhythm,
        appends: Appends | None,
        begin: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        """Prepare the state. begin: starts a connection's task."""
        self.suffix, self.config, self.dialect = suffix, setting.config, setting.dialect
        self.recorder, self.free = setting.recorder, setting.options.free
        self.destinations, self.outcome, self.rhythm, self.begin = destinations, setting.outcome, rhythm, begin
        identities = Identities(destinations.topics, suffix)
        identities.nodes = destinations.nodes()
        identities.cluster = destinations.client.metadata.cluster_id
        self.mapper = Mapper(identities, self.dialect)
        self.producers = Producers(identities)
        self.transactions = Transactions()
        self.rounds = Rounds(setting.survey.rounds)
        self.bodies = Bodies(self.dialect, annotated=False)
        self.order = StepSequence(setting.choice, setting.survey.first_ns, appends, free=self.free)
        self.left = dict(setting.survey.connections)
        self.feeds: dict[str, Feed[Step]] = {}

    def put(self, exchange: Exchange) -> None:
        """Queue an exchange for its connection, which makes it in its turn."""
        name = exchange.connection
        feed = self.feeds.get(name)
        if feed is None:
            feed = self.feeds[name] = Feed()
            self.begin(act(LiveConnection(name, self), feed, self.rhythm))
        feed.put(self.order.step(exchange))
        self.left[name] -= 1
        if not self.left[name]:
            feed.end()
            self.order.forget(name)
            del self.feeds[name]

    def end(self) -> None:
        """End the input: no more exchanges come."""
        for each in self.feeds.values():
            each.end()


async def replay(read: Callable[[], Iterable[object]], setting: Setting) -> None:
    """Run the exchanges, once for each repetition. read: returns them again for each run. Raises NetworkError,
    UsageError if the run can't begin.
    """
    options = setting.options
    async with Client(setting.config, setting.dialect, setting.notify) as client:
        if setting.history is not None:
            await fill_before(client, setting, setting.history)
        destinations = await prepare(client, setting)
        for _ in range(options.repeat):
            await run(read(), setting, destinations)


async def prepare(client: Client, setting: Setting) -> Destinations:
    """Find or create the topics and groups that the captures' requests need. Raises NetworkError if a topic is missing,
    or has too few partitions.
    """
    survey, options = setting.survey, setting.options
    topics = LiveTopics(survey.names, options.topics)
    await client.refresh([])
    replicas = live_replicas(survey, topics.mapping, client)
    await find_topics(client, live_sizes(survey, topics.mapping, client), options.create, setting.notify, replicas)
    for name, topic in client.metadata.topics.items():
        topics.put(name, topic.id or "")
    await note_missing(client, survey, topics, setting.notify)
    coordinators: dict[tuple[int, str], Address] = {}
    for kind, key in sorted((kind, key + suffix) for kind, key in survey.coordinated for suffix in options.suffixes):
        address = await coordinator(client, kind, key)
        if address is not None:
            coordinators[kind, key] = address
    return Destinations(client, topics, survey, coordinators, replicas, setting.dialect)


async def fill_before(client: Client, setting: Setting, history: CaptureHistory) -> None:
    """Write the records that the topics had before the captures' own requests. Raises NetworkError."""
    survey, mapping = setting.survey, setting.options.topics
    needed = survey.needed()

    def until(topic: str, index: int) -> int | None:
        return needed[topic].produced.get(index) if topic in needed else None

    await client.refresh([])
    sizes, replicas = live_sizes(survey, mapping, client), live_replicas(survey, mapping, client)
    done = await fill(client, history, lambda name: mapping.get(name) or lawful_name(name), sizes, until, replicas)
    setting.notify(str(done))


async def run(items: Iterable[object], setting: Setting, destinations: Destinations) -> None:
    """Run the exchanges among `items` once."""
    choice, options = setting.choice, setting.options
    room = Room(options.clients)

    def ended(step: Step) -> None:
        room.leave(step.exchange)
        setting.done()

    rhythm = CapturedRhythm(options.scale, setting.outcome, ended)
    # With several copies of the clients each batch comes several times, so that logs can't be as captured.
    appends = Appends() if options.clients == 1 and not options.free else None
    wanted = (each for each in items if isinstance(each, Exchange) and choice.reason(each) is None)
    try:
        async with together() as begin:
            copies = [
                ReplayedClients(suffix, setting, destinations, rhythm, appends, begin) for suffix in options.suffixes
            ]
            for exchange in in_order(appends.watch(wanted) if appends else wanted, options.memory):
                for each in copies:
                    await room.enter(exchange)
                    each.put(exchange)
                await asyncio.sleep(0)
            for each in copies:
                each.end()
    finally:
        rhythm.stop()


def live_replicas(survey: Survey, mapping: Mapping[str, str], client: Client) -> Replicas:
    """Return {topic to create: replicas of each partition}, chosen so that the captured nodes lead; {} if there is only
    one node.
    """
    nodes, live = by_rank(survey, client), sorted(client.metadata.nodes)
    if len(live) < 2:
        return {}
    by_address = {address: node for node, address in survey.nodes.items()}
    made: dict[str, list[list[int]]] = {}
    for captured, seen in survey.needed().items():
        if seen.partitions > MADE_AT_ONCE:
            continue
        name = mapping.get(captured) or survey.names.live_name(captured, mapping)
        made[name] = []
        for index in range(seen.partitions):
            known = seen.replicas.get(index) or [by_address.get(seen.servers.get(index, ""), -1)]
            leaders = dict.fromkeys(nodes[each] for each in known if each in nodes)
            made[name].append(list(leaders) or [live[index % len(live)]])
    return made


def live_sizes(survey: Survey, mapping: Mapping[str, str], client: Client) -> dict[str, int]:
    """Return {live topic: partitions that it must have} for the topics that have to exist before the run."""
    sizes: dict[str, int] = {}
    alone = len(client.metadata.nodes) < 2
    for captured, seen in survey.needed().items():
        name = mapping.get(captured) or survey.names.live_name(captured, mapping)
        if captured not in (*INTERNAL, CLUSTER_METADATA) and not is_left(seen, alone) and not name_fault(name):
            sizes[name] = max(sizes.get(name, 0), seen.partitions)
    return sizes


async def note_missing(client: Client, survey: Survey, topics: LiveTopics, notify: Callable[[str], None]) -> None:
    """Report the partitions whose captured fetches found records that the cluster lacks, in one line. Raises
    NetworkError.
    """
    wanted = {
        (topics.live_name(name), index): seen.read[index]
        for name, seen in survey.needed().items()
        for index in seen.presumed
        if client.leader(topics.live_name(name), index) is not None
    }
    bounds = await list_offsets(client, wanted)
    missing = [f"{name}[{index}]" for (name, index), offset in wanted.items() if bounds[name, index].latest <= offset]
    if missing:
        notify(f"the cluster lacks records that the capture's fetches found, in {shown(missing)} (--fill writes them)")


def is_left(seen: SeenTopic, alone: bool) -> bool:
    """Return whether the replay itself creates a topic: by CreateTopics, or because a broker creates it for a client.

    alone: there is one broker; with several, any of them may lead topics that are created for a client
    """
    return seen.is_late and (seen.is_made or (alone and seen.partitions == 1))
