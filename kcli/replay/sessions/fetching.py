"""Replays one fetcher at live brokers: its sessions, the request of each step, and the response.

A captured fetcher uses one broker. If the live partitions have several leaders, the replay has a session with each, and
their responses are merged for the comparison. With the captured brokers, rebuilt, each fetch goes to the broker that it
went to, with its replica id and the leader epochs that it knows.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kcli.client.calls import Call, call, call_of
from kcli.client.cluster import Client
from kcli.client.connection import Frame
from kcli.client.fetch_wire import Limits, request_body, session_response
from kcli.client.handshake import Session
from kcli.client.offsets import next_offset
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from kcli.replay.engine import Rhythm
from kcli.replay.live_connections import OpenConnections
from kcli.replay.sessions.conducting import CapturedBrokers
from kcli.replay.sessions.live_fetch import LiveFetch, merged
from kcli.replay.sessions.plan import Fetcher, ReplayStep
from kcli.replay.sessions.positions import Positions
from kcli.replay.sessions.target import LiveKeys, Target
from kcli.replay.sessions.wants import SessionMachine, Wants
from kcli.schemas.apikeys import FETCH
from kcli.schemas.errors import error_code
from kcli.sessions.client import ClientSession
from kcli.sessions.epochs import FINAL_EPOCH, NO_SESSION
from kcli.sessions.fetch_exchange import SESSIONS_SINCE, TOPIC_IDS_SINCE, Captured, Key
from kcli.sessions.rules import SessionState
from kcli.sessions.values import FetchRequest, Position

MOVED = tuple(map(error_code, ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH")))
# A size that no captured client uses, so that a captured request for such a partition always changes the session.
CARRIED_BYTES = (1 << 20) + 1


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The surroundings of all fetchers of a run.

    full: no sessions, whatever the capture had; brokers: the brokers rebuilt from the capture, None for live ones;
    notify: takes lines for the user; done: called after each step
    """

    target: Target
    positions: Positions
    rhythm: Rhythm[ReplayStep]
    full: bool = False
    brokers: CapturedBrokers | None = None
    notify: Callable[[str], None] = lambda _: None
    done: Callable[[], None] = lambda: None


class Fetching:
    """The fetches of one captured client, sent again. results: the outcome of each."""

    dialect: str | None = None

    def __init__(self, fetcher: Fetcher, config: ClientConfig, stage: Stage) -> None:
        self.fetcher, self.config, self.stage = fetcher, config, stage
        self.target, self.positions, self.rhythm, self.brokers = (
            stage.target,
            stage.positions,
            stage.rhythm,
            stage.brokers,
        )
        self.nodes = Nodes(self.target.client, config, self.dialect, stage.notify)
        self.keys = LiveKeys(self.target)
        self.wants = Wants()
        self.started = False
        self.results: list[LiveFetch] = []

    async def play(self, step: ReplayStep) -> None:
        """Make a step again, up to its response."""
        self.results.append(await self.run_step(step))
        self.rhythm.done(step)
        self.stage.done()

    async def close(self) -> None:
        """Close the connections. Sessions stay with their brokers."""
        await self.nodes.close()

    async def finish(self) -> None:
        """Close the sessions that the capture left open, so that they take no slot of the broker. This is not
        reported.
        """
        if not self.fetcher.steps or self.brokers is not None:
            return
        version_of = self.fetcher.steps[-1].captured.version
        for node in self.nodes.by_number.values():
            if node.link is not None and node.link.connection.error is None and node.session.session_id:
                node.session.close()
                version = self.nodes.version(node, version_of)
                body = request_body(node.session.build(topic_ids=version >= TOPIC_IDS_SINCE), version, Limits(0))
                with contextlib.suppress(NetworkError):
                    await call(node.link.connection, FETCH, version, body)

    async def run_step(self, step: ReplayStep) -> LiveFetch:
        """Send the captured fetch, translated to live partitions, and process the responses."""
        if step.reconnect:
            await self.close()
        await self.link_nodes(step)
        if step is self.fetcher.steps[0] and not step.is_full:
            await self.open_sessions(step)
        self.update_wants(step)
        self.rhythm.sending(step)
        results = await asyncio.gather(*(self.fetch(number, step) for number in self.involved()))
        live = merged([live for live, _ in results], step.is_full)
        await self.follow_leaders(live)
        return LiveFetch(step, live, "; ".join(problem for _, problem in results if problem))

    async def open_sessions(self, step: ReplayStep) -> None:
        """Open a session with the partitions that a session older than the capture must have had."""
        for key in self.fetcher.carried:
            self.wants.want(key, Position(self.positions.carried(key), -1, CARRIED_BYTES))
        if self.brokers is not None and not self.positions.follows_live:
            steps = [each.captured for each in self.fetcher.steps]
            carried = self.brokers.carry(self.fetcher.label, steps, self.fetcher.carried)
            for key, where in carried.items():
                self.wants.want(key, where._replace(max_bytes=CARRIED_BYTES))
        await asyncio.gather(*(self.fetch(number, step) for number in self.nodes.by_number))

    # --- connections and versions

    async def link_nodes(self, step: ReplayStep) -> None:
        """Connect to each broker that this step needs."""
        first = None if self.brokers is None else self.brokers.node(step.captured)
        if not self.started:
            self.started = True
            for key in self.fetcher.carried:
                self.wants.settle(key, self.home(key, first))
        for key, _ in step.captured.asked:
            if key not in self.wants.homes:
                self.wants.settle(key, self.home(key, first))
        needed = (
            self.wants.home_nodes
            or set(self.nodes.by_number)
            or {await self.nodes.any_number() if first is None else first}
        )
        for number in needed:
            await self.nodes.open(number, step.captured.replica_id if self.brokers is not None else -1)

    def home(self, key: Key, captured: int | None) -> int:
        """Return the broker to fetch a partition from: the captured one if it is known, else the live leader."""
        return self.target.leader(key) if captured is None else captured

    # --- what to fetch

    def update_wants(self, step: ReplayStep) -> None:
        """Set the wanted partitions and positions to those of this step."""
        captured = step.captured
        if step.is_close:
            return
        if step.is_full and captured.asked:
            self.wants.keep({key for key, _ in captured.asked})
        for key in captured.forgotten:
            self.wants.drop(key)
        epochs = {key: asked[3:] for key, asked in captured.asked} if self.brokers is not None else {}
        for key, offset, max_bytes in self.positions.asked(captured):
            self.wants.want(key, Position(offset, -1, max_bytes, *epochs.get(key, ())))
        if self.positions.follows_live:
            for key in self.wants.partitions():
                position = self.wants.of(self.wants.homes[key])[key]
                self.wants.want(key, position._replace(fetch_offset=self.positions.current(key)))

    def involved(self) -> list[int]:
        """Return the brokers to fetch from, at least one: leaders of wanted partitions, and brokers with a session to
        continue or to close.
        """
        live = [
            number
            for number, node in self.nodes.by_number.items()
            if node.session.state in (SessionState.LIVE, SessionState.REOPENING)
        ]
        return sorted(self.wants.nodes.union(live)) or [min(self.nodes.by_number)]

    def request(self, number: int, step: ReplayStep, version: int) -> tuple[FetchRequest, ClientSession | None]:
        """Return the next request to a broker, and its session; None if the request is outside of any session."""
        node = self.nodes.by_number[number]
        by_ids = version >= TOPIC_IDS_SINCE
        wanted, captured = self.wants.of(number), step.captured
        if self.stage.full or version < SESSIONS_SINCE or captured.version < SESSIONS_SINCE:
            positions = {self.keys.live(key, version): position for key, position in wanted.items()}
            return FetchRequest(NO_SESSION, FINAL_EPOCH, positions, (), by_ids, node.session.replica_id), None
        if step.is_close:
            node.session.close()
        elif captured.session_epoch == FINAL_EPOCH:
            # A client that never had a session has none to close.
            asked = [key for key, _ in captured.asked if key in wanted]
            positions = {self.keys.live(key, version): wanted[key] for key in asked}
            return FetchRequest(NO_SESSION, FINAL_EPOCH, positions, (), by_ids, node.session.replica_id), None
        else:
            self.prepare_session(number, step, version)
        return node.session.build(topic_ids=by_ids), node.session

    def prepare_session(self, number: int, step: ReplayStep, version: int) -> None:
        """Bring a broker's fetch session to the partitions of the step."""
        node = self.nodes.by_number[number]
        session = node.session
        if session.state in (SessionState.CLOSING, SessionState.CLOSED):
            session = node.session = ClientSession(replica_id=session.replica_id)
        self.update_machine(number, session, version)
        if step.is_full and session.state is SessionState.LIVE:
            # The captured client began a new session: so does this one, as if its last request had been lost.
            session.lose(session.build(topic_ids=session.topic_ids))

    def update_machine(self, number: int, machine: SessionMachine, version: int) -> None:
        """Give a session machine the partitions that are wanted from a broker. One that was current gets only the
        changes.
        """
        node, wanted = self.nodes.by_number[number], self.wants.of(number)
        changed, by_ids = self.wants.changed(number), version >= TOPIC_IDS_SINCE
        if node.current != (machine, by_ids):
            node.current = machine, by_ids
            kept = {self.keys.live(key, version) for key in wanted}
            for live in [live for live in machine.partitions if live not in kept]:
                machine.forget(live)
            changed = list(wanted)
        for key in changed:
            live, position = self.keys.live(key, version), wanted.get(key)
            if position is None:
                machine.forget(live)
            else:
                machine.want(live, position)

    # --- sending and processing

    async def fetch(self, number: int, step: ReplayStep) -> tuple[Captured, str]:
        """Send one request to one broker. Returns (exchange in captured partitions, problem or "")."""
        version = self.nodes.version(self.nodes.by_number[number], step.captured.version)
        request, session = self.request(number, step, version)
        live, response, problem = await self.exchange(number, step.captured, request, version)
        if response is None:
            if session is not None:
                session.lose(request)
        else:
            problem = self.take_in(request, session, live)
            self.take_records(response)
        self.keys.translate(live)
        return live, problem

    async def exchange(
        self, number: int, captured: Captured, request: FetchRequest, version: int
    ) -> tuple[Captured, dict[str, Any] | None, str]:
        """Send a request with the captured limits. Returns (exchange, response or None, reason for no response)."""
        body = request_body(request, version, self.limits(captured))
        live, response, problem = await self.ask(number, captured, call_of(FETCH, version), version, body)
        return live.read(body, response), response, problem

    async def ask(
        self, number: int, captured: Captured, made: Call, version: int, body: dict[str, Any]
    ) -> tuple[Captured, dict[str, Any] | None, str]:
        """Send a call, as a Fetch of this version. Returns (exchange without its bodies, response or None, reason for
        no response).
        """
        link = self.nodes.by_number[number].link
        assert link is not None
        correlation = link.connection.next_correlation()
        frame = made.encode(correlation, self.config["client.id"], body)
        header = {"requestApiVersion": version, "correlationId": correlation, "clientId": self.config["client.id"]}
        live = Captured(str(link.connection.address), captured.connection, header, time.time_ns(), None)
        try:
            answer: Frame = await link.connection.exchange(frame, correlation, made.name)
            response = made.decode(answer)
        except NetworkError as error:
            return live, None, str(error)
        live.response_ns = time.time_ns()
        live.request_bytes, live.response_bytes = len(frame) + 4, len(answer) + 4
        return live, response, ""

    def limits(self, captured: Captured) -> Limits:
        """Return the limits of a captured fetch, with its longest wait divided by the speed."""
        scale = self.rhythm.scale
        wait = 0 if scale is None else round(captured.max_wait_ms / scale)
        return Limits(wait, captured.min_bytes, captured.max_bytes, captured.isolation)

    @staticmethod
    def take_in(request: FetchRequest, session: ClientSession | None, live: Captured) -> str:
        """Pass the response to the session. Returns why it can't be used, "" if it can."""
        if session is None:
            return ""
        closing = session.state is SessionState.CLOSING
        accepted = session.accept(request, session_response(live))
        return "" if accepted.usable or closing else accepted.problem

    def take_records(self, response: Mapping[str, Any]) -> None:
        """Apply hints on leaders that moved (KIP-951), and move the positions that follow live records."""
        endpoints = response.get("nodeEndpoints", ())
        for part, key in self.keys.parts_of(response):
            if part["errorCode"] in MOVED:
                name = self.target.names[key[0]]
                self.target.client.metadata.take_hint(name, key[1], part.get("currentLeader", {}), endpoints)
            elif self.positions.follows_live and part.get("records"):
                self.positions.move(key, next_offset(part["records"], self.positions.current(key)))

    async def follow_leaders(self, live: Captured) -> None:
        """Fetch partitions whose leader moved from the new leader: from its hint, else from fresh metadata."""
        if self.brokers is not None:
            return
        moved = [key for key, reported in live.reported if reported[0] in MOVED]
        if not moved:
            return
        if any(self.target.leader(key) == self.wants.homes[key] for key in moved):
            await self.target.client.refresh({self.target.names[key[0]] for key in moved})
            for node in self.nodes.by_number.values():
                node.current = None  # a topic may have another id now
        for key in moved:
            self.wants.settle(key, self.target.leader(key))


class ReplayBroker:
    """One broker. session: the fetch session with it; link: the connection.

    current: (session machine that has the wanted partitions, except for the latest changes; whether it names topics by
    id)
    """

    def __init__(self, replica_id: int = -1) -> None:
        self.session = ClientSession(replica_id=replica_id)
        self.link: Session | None = None
        self.current: tuple[SessionMachine, bool] | None = None


class Nodes:
    """The brokers of a fetcher. by_number: {id: broker}; notify: takes a line if a version is not the captured one."""

    def __init__(
        self, client: Client, config: ClientConfig, dialect: str | None, notify: Callable[[str], None]
    ) -> None:
        self.client, self.config, self.notify = client, config, notify
        self.lines = OpenConnections[int](dialect)
        self.by_number: dict[int, ReplayBroker] = {}

    async def open(self, number: int, replica_id: int) -> None:
        """Connect to a broker. Raises NetworkError if there is no such broker, or it does not respond."""
        node = self.by_number.setdefault(number, ReplayBroker(replica_id))
        if self.lines.open_to(number) is None:
            node.link = (await self.lines.open(number, await self.client.address(number), self.config)).session

    async def close(self) -> None:
        """Close the connections."""
        await self.lines.close()

    async def any_number(self) -> int:
        """Return the id of some broker of the cluster. Raises NetworkError if it names none."""
        nodes = self.client.metadata.nodes or (await self.client.refresh()).nodes
        if not nodes:
            raise NetworkError("the cluster names no broker")
        return next(iter(nodes))

    def version(self, node: ReplayBroker, captured: int) -> int:
        """Return the captured version of Fetch, or the nearest that the broker supports."""
        assert node.link is not None
        versions = node.link.versions
        chosen = versions.nearest(FETCH, captured)
        if chosen is None:
            chosen = versions.best(FETCH)  # raises
        if chosen != captured:
            broker, theirs = versions.broker, versions.ranges[FETCH]
            self.notify(f"Fetch v{captured} in the capture, v{chosen} here: {broker} takes {theirs}")
        return chosen
