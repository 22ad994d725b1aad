"""Runs a plan against live brokers: all fetchers at once, each step at its time."""

from collections.abc import Callable
from dataclasses import dataclass

from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.counting import counted
from kcli.replay.engine import ReplayOptions, Rhythm, act, iterate, together
from kcli.replay.sessions.conducting import CapturedBrokers, Conductor
from kcli.replay.sessions.drafting import DraftFetching
from kcli.replay.sessions.fetching import Fetching, Stage
from kcli.replay.sessions.live_fetch import LiveFetch
from kcli.replay.sessions.plan import Fetcher, ReplayPlan, ReplayStep
from kcli.replay.sessions.positions import Positions
from kcli.replay.sessions.target import Target, find_target
from kcli.replay.topic_mapping import TopicNames
from kcli.sessions.fetch_exchange import TOPIC_IDS_SINCE, Captured, Key
from kcli.sessions.values import FetchRequest, Position
from kcli.topic_names import INTERNAL


@dataclass(frozen=True, kw_only=True)
class FetchOptions(ReplayOptions):
    """The options of a replay of fetches. offsets: one of positions.MODES; mode: "incremental" (sessions as captured),
    "full" (none), "draft" (those of KIP-227's third draft).
    """

    offsets: str = "captured"
    mode: str = "incremental"

    @property
    def is_captured(self) -> bool:
        """Return whether no option departs from the capture."""
        return self.mode == "incremental" and self.offsets == "captured" and not self.topics


@dataclass(frozen=True)
class FetchReplay:
    """A plan to replay with a client. names: of the captured topics; config: of the client."""

    plan: ReplayPlan
    names: TopicNames
    config: ClientConfig
    options: FetchOptions

    def live_name(self, captured: str) -> str:
        """Return the name of a captured topic on the cluster."""
        return self.names.live_name(captured, self.options.topics)


@dataclass
class Replayed:
    """The steps of every fetcher with their outcomes, in order. clamped: number of partitions whose offsets did not
    exist.
    """

    fetchers: list[tuple[Fetcher, list[LiveFetch]]]
    clamped: int = 0


async def replay(
    chosen: FetchReplay,
    *,
    brokers: CapturedBrokers | None = None,
    notify: Callable[[str], None] = lambda _: None,
    done: Callable[[], None] = lambda: None,
    outcome: Replayed | None = None,
) -> Replayed:
    """Run a plan `options.repeat` times. Raises NetworkError if the brokers can't be reached or lack what the plan
    needs.

    brokers: the brokers rebuilt from the capture, None for live ones; notify: called with one line, once for each
    different text; done: called after each step; outcome: filled step by step, for a caller that needs the results up
    to a cancellation
    """
    plan, options = chosen.plan, chosen.options
    notify_once = once(notify)
    outcome = outcome if outcome is not None else Replayed([])
    async with Client(chosen.config) as client:
        verbatim = brokers is not None and options.is_captured and not plan.has_drafts
        if verbatim:
            target = Target(client, {}, {})
        else:
            topics, create = options.topics, options.create
            target = await find_target(client, plan, chosen.names, topics, create=create, notify=notify_once)
            note_empty(target, plan, notify_once)
        kind = VerbatimFetching if verbatim else DraftFetching if options.mode == "draft" else Fetching
        for _ in range(options.repeat):
            if brokers is not None:
                brokers.rewind()
            stage = Stage(
                target=target,
                positions=Positions(options.offsets, target.bounds),
                rhythm=Rhythm(options.scale) if brokers is None else Conductor(options.scale, plan, brokers),
                full=options.mode == "full",
                brokers=brokers,
                notify=notify_once,
                done=done,
            )
            await run_once(chosen, kind, stage, outcome)
    return outcome


async def run_once(chosen: FetchReplay, kind: type[Fetching], stage: Stage, outcome: Replayed) -> None:
    """Run all fetchers of a plan at once. kind: how each of them fetches."""
    async with together() as begin:
        for each in chosen.plan.fetchers:
            fetching = kind(each, named(chosen.config, each, chosen.options.mode), stage)
            outcome.fetchers.append((each, fetching.results))
            begin(act(fetching, iterate(each.steps), stage.rhythm))
        if isinstance(stage.rhythm, Conductor):
            begin(stage.rhythm.run())
    outcome.clamped = max(outcome.clamped, len(stage.positions.clamped))


def note_empty(target: Target, plan: ReplayPlan, notify: Callable[[str], None]) -> None:
    """Report the number of partitions that had records in the capture, but have none on the cluster."""
    empty = sum(
        target.bounds[key].latest == 0 and target.names[key[0]] not in INTERNAL
        for key in plan.delivering()
        if key in target.bounds
    )
    if empty:
        notify(f"the cluster has no records in {counted(empty, 'partition')} that gave some (--fill writes them)")


def named(config: ClientConfig, fetcher: Fetcher, mode: str) -> ClientConfig:
    """Set the captured client's id, unless the user chose one. In the draft each fetcher has its own, because the id
    identifies it.
    """
    if mode == "draft":
        return config.replace(client_id=fetcher.label)
    if "client.id" in config.set_names or not fetcher.client_id:
        return config
    return config.replace(client_id=fetcher.client_id)


def once(notify: Callable[[str], None]) -> Callable[[str], None]:
    sent: set[str] = set()

    def notify_new(text: str) -> None:
        if text not in sent:
            sent.add(text)
            notify(text)

    return notify_new


class VerbatimFetching(Fetching):
    """The fetches of one captured client, unchanged. `brokers` is required."""

    async def finish(self) -> None:
        """Leave sessions in their captured state."""

    async def run_step(self, step: ReplayStep) -> LiveFetch:
        captured = step.captured
        assert self.brokers is not None
        if step.reconnect:
            await self.close()
        number = self.brokers.node(captured)
        if number is None:
            number = await self.nodes.any_number()
        await self.nodes.open(number, captured.replica_id)
        if step is self.fetcher.steps[0]:
            steps = [each.captured for each in self.fetcher.steps]
            self.brokers.adopt(self.fetcher.label, steps, self.fetcher.carried)
        version = self.nodes.version(self.nodes.by_number[number], captured.version)
        self.rhythm.sending(step)
        live, _, problem = await self.exchange(number, captured, self.captured_request(captured, version), version)
        self.keys.translate(live)
        return LiveFetch(step, live, problem)

    def captured_request(self, captured: Captured, version: int) -> FetchRequest:
        """Return the captured request, with the rebuilt brokers' topics."""
        positions = {
            self.key(key): Position(offset, start, most, *epochs)
            for key, (offset, start, most, *epochs) in captured.asked
        }
        return FetchRequest(
            captured.session_id,
            captured.session_epoch,
            positions,
            tuple(map(self.key, captured.forgotten)),
            version >= TOPIC_IDS_SINCE,
            captured.replica_id,
        )

    def key(self, captured: Key) -> Key:
        """Return the partition by the name that the rebuilt brokers use."""
        assert self.brokers is not None
        made = self.brokers.key(captured)
        self.keys.captured[made] = captured
        return made
