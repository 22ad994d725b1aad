"""Replays one captured connection: its requests one after the other, each in its turn."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Protocol

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.client.address import Address
from kcli.client.calls import call
from kcli.client.handshake import Session
from kcli.client.properties import ClientConfig
from kcli.errors import EncodeError, InputError, NetworkError, SchemaError
from kcli.grammar import frames
from kcli.proxy.recording import Recorder
from kcli.records.acceptance import MAGIC_2_SINCE
from kcli.replay.live_connections import FROM_CLIENT, FROM_SERVER, OpenConnection, OpenConnections
from kcli.replay.produced_batches import producers_of, renumbered, to_magic_2, without_refused
from kcli.replay.traffic.choice import was_refused
from kcli.replay.traffic.destinations import MOVED, PAUSE, RETRIES, Destinations
from kcli.replay.traffic.fetch_sessions import LOST
from kcli.replay.traffic.identities import Identities
from kcli.replay.traffic.mapping import Mapper
from kcli.replay.traffic.outcome import PASSING, UNREADY, Outcome
from kcli.replay.traffic.positions import LivePositions
from kcli.replay.traffic.producers import Producers
from kcli.replay.traffic.rhythm import CapturedRhythm
from kcli.replay.traffic.rounds import Rounds
from kcli.replay.traffic.steps import Step
from kcli.replay.traffic.transactions import Transactions, marked
from kcli.replay.traffic.versions import common, converted
from kcli.schemas.apikeys import CREATE_TOPICS, END_TXN, FETCH, INIT_PRODUCER_ID, JOIN_GROUP, PRODUCE
from kcli.schemas.field_codes import CoordinatorType
from kcli.sessions.epochs import FULL_EPOCH

JOINS = 10  # how often a member joins again if its round was too small
UNKNOWN_ID = "UNKNOWN_TOPIC_ID"


class Learnt(Protocol):
    """The knowledge of the live cluster that requests need."""

    suffix: str
    mapper: Mapper
    producers: Producers
    destinations: Destinations
    rhythm: CapturedRhythm
    free: bool


class Requests:
    """Makes the live requests of one client."""

    def __init__(self, learnt: Learnt, positions: LivePositions) -> None:
        """Prepare requests. positions: of the connection's fetches."""
        self.learnt, self.positions = learnt, positions

    def body(self, exchange: Exchange, version: int, session: Session) -> Mapping[str, Any]:
        """Return the live request's body. Raises SchemaError, EncodeError if the captured one has no form in this
        version.
        """
        key, topics = exchange.api_key, self.learnt.mapper.topics
        body: Mapping[str, Any] = self.learnt.mapper.request(key, exchange.request, exchange.link.server)
        if key == FETCH:
            body = dict(body)
            if self.learnt.free:
                scale = self.learnt.rhythm.scale
                body["maxWaitMs"] = int(body["maxWaitMs"] / scale) if scale else 0
            self.positions.request(exchange.request, body)
        if key == PRODUCE:
            body = self.with_records(exchange, body, version)
        elif key == CREATE_TOPICS:
            body = self.learnt.destinations.placed(body)
        return converted(key, body, exchange.api_version, version, topics, session.dialect)

    def framed(self, exchange: Exchange, version: int, session: Session, body: Mapping[str, Any]) -> bytes:
        """Return the live request's frame. Raises EncodeError."""
        header = {name: item for name, item in exchange.header.items() if name != "requestApiKeyName"}
        if version != exchange.api_version:
            header = {name: item for name, item in header.items() if not name.startswith("_")}
        header |= {"requestApiVersion": version, "correlationId": session.connection.next_correlation()}
        if header.get("clientId") is not None:
            header["clientId"] += self.learnt.suffix
        return frames.encode_request(header, dict(body), session.dialect)

    def again(self, frame: bytes, exchange: Exchange, version: int, session: Session) -> bytes:
        """Return the frame of a request that is sent again. A Produce keeps its sequences."""
        if exchange.api_key != PRODUCE:
            body = self.body(exchange, version, session)
            if exchange.api_key == JOIN_GROUP:  # the member may have its id by now
                known = self.learnt.mapper.identities.members.get((exchange.response or {}).get("memberId", ""))
                body = {**body, "memberId": known or body["memberId"]}
            return self.framed(exchange, version, session, body)
        return frame[:4] + session.connection.next_correlation().to_bytes(4, "big") + frame[8:]

    def with_records(self, exchange: Exchange, body: Mapping[str, Any], version: int) -> dict[str, Any]:
        """Return a Produce with the producer fields of its batches replaced by live ones."""
        topics = []
        for captured, topic in zip(exchange.request["topicData"], body["topicData"], strict=True):
            name = self.learnt.mapper.topics.captured_name(captured.get("topicId") or captured["name"])
            kept = without_refused(captured, topic["partitionData"], exchange.response)
            parts = [dict(part) | {"records": self.records(part, name, version)} for part in kept]
            topics.append(topic | {"partitionData": parts})
        return dict(body) | {"topicData": [each for each in topics if each["partitionData"]]}

    def records(self, part: Mapping[str, Any], topic: str, version: int) -> bytes | None:
        """Return the batches of a partition, for this version of Produce."""
        data = part["records"]
        if not data:
            return None if data is None else bytes(data)
        numbers = self.learnt.producers.renumbered
        data = renumbered(bytes(data), lambda old, count: numbers(old, count, topic, part["index"]))
        return to_magic_2(data) if version >= MAGIC_2_SINCE else data


class Shared(Learnt, Protocol):
    """The shared state of one client's connections."""

    config: ClientConfig
    dialect: str | None
    transactions: Transactions
    rounds: Rounds
    recorder: Recorder | None
    outcome: Outcome
    bodies: Bodies


class LiveConnection:
    """Acts as a captured connection: it sends the requests in order, and processes responses when they come."""

    def __init__(self, name: str, shared: Shared) -> None:
        self.name, self.shared = name, shared
        self.positions = LivePositions(shared.mapper.topics, may_lag=shared.free)
        self.requests = Requests(shared, self.positions)
        self.lines = LiveLines(name, shared.suffix, shared.config, shared.destinations, shared.recorder)
        self.answers: set[asyncio.Task[None]] = set()
        self.lasting: set[tuple[int, frozenset[str]]] = set()  # errors by API after which retries failed

    async def play(self, step: Step) -> None:
        """Send a step's request, or report why it can't be sent."""
        try:
            await self.send(step)
        except (NetworkError, SchemaError, EncodeError, InputError) as error:
            self.shared.outcome.skip(step.exchange, str(error))
            self.shared.rhythm.done(step)

    async def finish(self) -> None:
        """Wait for the last responses."""
        if self.answers:
            await asyncio.wait(self.answers)

    async def close(self) -> None:
        """Close the connections, and drop responses that have not come yet."""
        for task in self.answers:
            task.cancel()
        await self.lines.close()

    def leave_out(self, step: Step, reason: str) -> None:
        """Send nothing for a step, and count it by the reason."""
        self.shared.outcome.count_not_comparable(step.exchange, None, reason)
        self.shared.rhythm.done(step)

    async def send(self, step: Step) -> None:
        """Send a step's request. A task takes the response when it comes."""
        exchange = step.exchange
        if was_refused(exchange):
            self.leave_out(step, UNREADY)
            return
        line = await self.lines.to(exchange)
        session = line.session
        version = session.versions.nearest(exchange.api_key, exchange.api_version)
        if version is None:
            self.leave_out(step, "the broker does not have this API")
            return
        await self.adopt(exchange, session)
        body = self.requests.body(exchange, version, session)
        if exchange.api_key == PRODUCE and exchange.request["topicData"] and not body["topicData"]:
            self.leave_out(step, UNREADY)
            return
        await self.shared.transactions.prepare(
            exchange.api_key, exchange.api_version, version, body, await self.coordinating(body, session)
        )
        frame = self.requests.framed(exchange, version, session, body)
        await session.connection.drain()
        self.shared.rhythm.sending(step)
        begun = time.time_ns()
        if exchange.api_key == PRODUCE and exchange.request.get("acks") == 0:
            session.connection.send_only(frame)
            line.record(FROM_CLIENT, frame)
            self.shared.outcome.add(exchange, self.live(exchange, session, begun, frame, None, None), self.identities)
            self.shared.rhythm.done(step)
            return
        answer = self.request(exchange, version, frame, line)
        task = asyncio.create_task(self.take(step, version, line, begun, frame, answer))
        self.answers.add(task)
        task.add_done_callback(self.answers.discard)

    @property
    def identities(self) -> Identities:
        """Return the pairs of ids that the client has learned."""
        return self.shared.mapper.identities

    async def coordinating(self, body: Mapping[str, Any], session: Session) -> Session:
        """Return a connection to the coordinator of a request's transaction; `session` if there is no other."""
        key = CoordinatorType.TRANSACTION, body.get("transactionalId") or ""
        coordinator = self.shared.destinations.coordinators.get(key)
        if coordinator is None or coordinator == session.connection.address:
            return session
        return await self.shared.destinations.client.session_at(coordinator)

    def request(self, exchange: Exchange, version: int, frame: bytes, line: OpenConnection) -> asyncio.Future[bytes]:
        """Send a request's frame. Returns the future of the response's frame."""
        line.record(FROM_CLIENT, frame)
        correlation = int.from_bytes(frame[4:8], "big", signed=True)
        seconds = self.shared.config.seconds("request.timeout.ms")
        if exchange.api_key == JOIN_GROUP:  # a broker holds it until the other members have joined
            seconds += max(exchange.request.get("rebalanceTimeoutMs", 0), exchange.request["sessionTimeoutMs"]) / 1000
        return line.session.connection.exchange(frame, correlation, f"{exchange.api} v{version}", seconds=seconds)

    async def adopt(self, exchange: Exchange, session: Session) -> None:
        """Ask the broker for an id for each producer of a request that began before the capture. Raises
        NetworkError.
        """
        if exchange.api_key == INIT_PRODUCER_ID:
            return
        request = exchange.request
        transaction = request.get("transactionalId") or request.get("v3AndBelowTransactionalId")
        for producer in sorted(each for each in producers_of(request) if not self.shared.producers.is_known(each)):
            body = {
                "transactionalId": transaction + self.shared.suffix if transaction else None,
                "transactionTimeoutMs": 60_000,
            }
            version = session.versions.best(INIT_PRODUCER_ID, high=2)
            answer = await call(session.connection, INIT_PRODUCER_ID, version, body, dialect=session.dialect)
            if not answer["errorCode"]:
                self.shared.producers.adopt(producer, answer["producerId"], answer["producerEpoch"])

    async def take(
        self, step: Step, version: int, line: OpenConnection, begun: int, frame: bytes, answer: asyncio.Future[bytes]
    ) -> None:
        """Process the response to a request. Send the request again if the captured cluster was ready and this one is
        not yet.
        """
        exchange, outcome = step.exchange, self.shared.outcome
        joined: Exchange | None = None
        try:
            for again in range(RETRIES + 1):
                data = await answer
                line.record(FROM_SERVER, data)
                live = self.live(exchange, line.session, begun, frame, time.time_ns(), bytes(data))
                if joined is not None and live.known_errors:  # the member has left meanwhile
                    live = joined
                    break
                if again == RETRIES or not await self.goes_on(exchange, live, again):
                    break
                joined = live if exchange.api_key == JOIN_GROUP and not live.known_errors else None
                line = await self.lines.to(exchange)
                frame, begun = self.requests.again(frame, exchange, version, line.session), time.time_ns()
                answer = self.request(exchange, version, frame, line)
            self.learn(exchange, live)
            outcome.add(exchange, live, self.identities)
            if exchange.api_key == END_TXN and not live.known_errors:
                await marked(live.request["transactionalId"], line.session)
        except NetworkError as error:
            live = self.live(exchange, line.session, begun, frame, None, None)
            if exchange.response_frame is None:
                outcome.add(exchange, live, self.identities)
            else:
                outcome.fail(exchange, live, str(error))
        finally:
            self.shared.rhythm.done(step)

    async def goes_on(self, exchange: Exchange, live: Exchange, again: int) -> bool:
        """Return whether to send the request again, because the captured cluster was ready and this one is not yet.
        Raises NetworkError.
        """
        if exchange.response_frame is None:
            return False
        joined = live.response if exchange.api_key == JOIN_GROUP and again < JOINS else None
        if joined is not None and await self.shared.rounds.is_small(exchange, joined):
            self.learn(exchange, live)
            self.shared.outcome.retried += 1
            await asyncio.sleep(PAUSE)
            return True
        if not PASSING.intersection(live.known_errors).difference(exchange.known_errors):
            return False
        return await self.may_pass(exchange, live.known_errors, again)

    async def may_pass(self, exchange: Exchange, errors: list[str], again: int) -> bool:
        """Prepare to send a request again after these errors. Returns False if retries failed before. Raises
        NetworkError.
        """
        kind = exchange.api_key, frozenset(errors)
        if kind in self.lasting:
            return False
        if again == RETRIES - 1:
            self.lasting.add(kind)
        self.shared.outcome.retried += 1
        if LOST.intersection(errors):
            self.shared.mapper.sessions.lose(exchange.link.server, exchange.request)
        await asyncio.sleep(PAUSE)
        if UNKNOWN_ID in errors:
            await self.shared.destinations.find_ids()
        elif MOVED.intersection(errors):
            await self.shared.destinations.find_again(exchange, self.shared.suffix)
        return True

    def learn(self, exchange: Exchange, live: Exchange) -> None:
        """Learn the live ids in a response."""
        captured, answer, key = exchange.response, live.response, exchange.api_key
        if key == FETCH and answer is not None:
            self.positions.answer(captured, answer)
        if captured is not None and answer is not None:
            one, other = common(key, captured), common(key, answer)
            self.shared.mapper.learn(key, exchange.request, one, other, exchange.link.server)

    def live(
        self, exchange: Exchange, session: Session, begun: int, frame: bytes, ended: int | None, answer: bytes | None
    ) -> Exchange:
        """Return the live exchange of a sent request and its response. begun, ended: ns since 1970."""
        link = Link(str(session.connection.address), exchange.link.client)
        return Exchange(link, begun, frame, ended, answer, self.shared.bodies)


class LiveLines:
    """Opens a connection when a request first goes to its broker, and again if the broker has closed it."""

    def __init__(
        self,
        name: str,
        suffix: str,
        config: ClientConfig,
        destinations: Destinations,
        recorder: Recorder | None,
    ) -> None:
        self.suffix, self.config, self.destinations = suffix, config, destinations
        self.lines = OpenConnections[Address](destinations.dialect, recorder, f"replay of {name}")
        self.fetched: Address | None = None
        self.opening = asyncio.Lock()

    async def to(self, exchange: Exchange) -> OpenConnection:
        """Return the connection to the broker of a captured request, with the request's client id. Raises
        NetworkError.
        """
        address = self.address(exchange)
        async with self.opening:
            config = self.config.replace(client_id=(exchange.client_id or "") + self.suffix)
            return self.lines.open_to(address) or await self.lines.open(address, address, config)

    def address(self, exchange: Exchange) -> Address:
        """Return the live broker for a captured request. A fetch session stays with the broker that opened it."""
        if exchange.api_key == FETCH and self.fetched and exchange.request.get("sessionEpoch", FULL_EPOCH) > FULL_EPOCH:
            return self.fetched
        address = self.destinations.address(exchange, self.suffix)
        if exchange.api_key == FETCH:
            self.fetched = address
        return address

    async def close(self) -> None:
        """Close all connections."""
        await self.lines.close()
