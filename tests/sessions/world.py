"""A small world for fetch sessions: clients, one broker, its logs, and a network that loses, repeats and reorders.

`History(rng, rules).run(steps)` plays random things and raises DisagreementError as soon as client and broker remember
different things without noticing, a rule of the protocol is not kept, or a partition starves.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from kcli.sessions.broker import BrokerSessions, Fetch
from kcli.sessions.cache import FetchSessionCache, Shard
from kcli.sessions.cached_session import CachedSession
from kcli.sessions.client import ClientSession
from kcli.sessions.epochs import MAX_EPOCH
from kcli.sessions.rules import RULES, Action, Kind, Rules, SessionState, kind_of
from kcli.sessions.values import FetchRequest, FetchResponse, Partition, Position, Result

PARTITIONS: tuple[Partition, ...] = tuple(("t", index) for index in range(5))
EVICTION_MS = 100


class DisagreementError(AssertionError):
    pass


def require(holds: bool, text: str) -> None:
    if not holds:
        raise DisagreementError(text)


@dataclass
class Log:
    """The truth about a partition; an error may say its offsets or not, as Kafka's do."""

    start: int = 0
    end: int = 0
    error: int = 0
    error_offsets: bool = False
    preferred: int = -1
    diverging: bool = False

    def read(self, position: int, room: bool) -> Result:
        if self.error:
            return Result(*((self.end, self.end, self.start) if self.error_offsets else (-1, -1, -1)), error=self.error)
        size = max(0, self.end - max(position, self.start)) if self.preferred < 0 else 0
        return Result(
            self.end,
            self.end,
            self.start,
            records_size=min(size, 3) if room else 0,
            preferred_replica=self.preferred,
            diverging=self.diverging,
            more=size > 0 and not room,
        )

    def seen(self) -> tuple[int, int, int]:
        """What a fetcher must believe once it was reported: error, or the offsets."""
        return (self.error, 0, 0) if self.error else (0, self.end, self.start)


@dataclass
class Flight:
    """A request under way, or its response with what the broker's side was when it was made."""

    client: Client
    request: FetchRequest
    sent_as: FetchRequest
    fetch: Fetch | None = None
    response: FetchResponse | None = None
    broker_positions: dict[Partition, Position] | None = None
    naming: bool | None = None
    truth: dict[Partition, tuple[int, int, int]] = field(default_factory=dict)
    insist: frozenset[Partition] = frozenset()
    mangled: bool = False


class Client:
    """A client machine, and what its user believes from the responses it was given."""

    def __init__(self, number: int, rules: Rules) -> None:
        self.session = ClientSession(replica_id=number if number == 0 else -1, rules=rules)
        self.pending: FetchRequest | None = None
        self.built: dict[Partition, Position] = {}
        self.believes: dict[Partition, tuple[int, int, int]] = {}
        self.granted: set[int] = set()
        self.may_go_on: int | None = None
        self.closed = False
        self.topic_ids = True

    def build(self) -> FetchRequest:
        was_closing = self.session.state is SessionState.CLOSING
        request = self.session.build(topic_ids=self.topic_ids)
        require(-1 <= request.epoch <= MAX_EPOCH, "an epoch that is no INT32")
        if kind_of(request.epoch) is Kind.INCREMENTAL:
            require(request.session_id == self.may_go_on, "an incremental fetch where a full one is due")
            changed = {p for p, position in self.session.partitions.items() if self.built.get(p) != position}
            require(set(request.partitions) == changed, "an incremental fetch that repeats, or leaves out, a position")
        elif not was_closing:
            require(request.partitions == self.session.partitions, "a full fetch that does not say everything")
        self.built = dict(self.session.partitions)
        self.pending = request
        return request


class History:
    """One random history. budget: partitions that may deliver records in one response."""

    def __init__(self, rng: random.Random, rules: Rules = RULES) -> None:
        self.rng = rng
        self.rules = rules
        self.now = 0
        self.budget = rng.choice((1, 2, 9))
        # Ids have a source of their own: a search for small counterexamples would give one id again and again, which a
        # broker's 31 random bits make unlikely, and which the protocol has no other defence against.
        ids = random.Random(7)
        cache = FetchSessionCache(
            rng.choice((1, 2, 4, 8)), shards=rng.choice((1, 1, 2)), eviction_ms=EVICTION_MS, rng=ids, rules=rules
        )
        self.broker = BrokerSessions(cache, rules=rules)
        self.logs = {partition: Log() for partition in PARTITIONS}
        self.clients = [Client(number, rules) for number in range(3)]
        self.requests: list[Flight] = []
        self.waiting: list[Flight] = []
        self.responses: list[Flight] = []
        self.waits: dict[tuple[int, Partition], int] = {}
        self.actions = (
            [self.round] * 6
            + [self.want] * 3
            + [self.append] * 4
            + [self.send, self.take_in, self.answer, self.receive] * 3
            + [self.repeat_request, self.lose_request, self.repeat_response, self.lose_response, self.break_connection]
            + [self.forget, self.trim, self.fail, self.heal, self.prefer, self.diverge, self.wait]
            + [self.mangle] * 3
            + [self.refuse, self.throttle, self.flip_naming, self.switch_naming, self.close, self.age, self.flood]
        )

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.rng.choice(self.actions)()
            self.check_cache()
        self.settle()

    # What happens at the logs.

    def log(self) -> tuple[Partition, Log]:
        partition = self.rng.choice(PARTITIONS)
        self.broker.mark(partition)
        return partition, self.logs[partition]

    def append(self) -> None:
        self.log()[1].end += self.rng.randint(1, 4)

    def flood(self) -> None:
        for partition, log in self.logs.items():
            log.end += 20
            self.broker.mark(partition)
        client = self.rng.choice(self.clients)
        for _ in range(8):
            self.exchange(client)

    def trim(self) -> None:
        log = self.log()[1]
        log.start = self.rng.randint(log.start, log.end)

    def fail(self) -> None:
        log = self.log()[1]
        log.error, log.error_offsets = self.rng.choice((6, 3)), self.rng.random() < 0.5

    def heal(self) -> None:
        log = self.log()[1]
        log.error, log.preferred, log.diverging = 0, -1, False

    def prefer(self) -> None:
        self.log()[1].preferred = 7

    def diverge(self) -> None:
        self.log()[1].diverging = True

    def wait(self) -> None:
        self.now += self.rng.choice((1, 40, 120))

    # What clients want.

    def client(self) -> Client:
        return self.rng.choice(self.clients)

    def want(self) -> None:
        partition = self.rng.choice(PARTITIONS)
        log = self.logs[partition]
        session = self.client().session
        session.want(partition, Position(self.rng.randint(log.start, log.end), max_bytes=self.rng.choice((1, 2))))

    def forget(self) -> None:
        client = self.client()
        partition = self.rng.choice(PARTITIONS)
        client.session.forget(partition)

    def close(self) -> None:
        client = self.client()
        client.session.close()
        client.closed = True

    def switch_naming(self) -> None:
        client = self.client()
        client.topic_ids = not client.topic_ids

    def age(self) -> None:
        """A session that is near the end of its epochs, on both sides."""
        client = self.client()
        session = self.broker.cache.get(client.session.session_id)
        in_step = session and session.epoch == client.session.epoch and client.session.state is SessionState.LIVE
        if session and in_step and client.pending is None:
            session.epoch = client.session.epoch = MAX_EPOCH - self.rng.randint(0, 1)
            self.requests = [f for f in self.requests if f.request.session_id != session.id]
            self.waiting = [f for f in self.waiting if f.request.session_id != session.id]

    # The network and the broker.

    def send(self) -> None:
        client = self.client()
        if client.pending is None:
            request = client.build()
            self.requests.append(Flight(client, request, request))

    def pick(self, flights: list[Flight]) -> Flight | None:
        return flights.pop(self.rng.randrange(len(flights))) if flights else None

    def take_in(self) -> None:
        flight = self.pick(self.requests)
        if flight is not None:
            self.begin(flight)
            self.waiting.append(flight)

    def begin(self, flight: Flight) -> None:
        flight.fetch = self.broker.begin(flight.sent_as, self.now)
        session = flight.fetch.session
        if session is not None:
            require(bool(session.partitions), "a slot kept for an empty session")
            flight.broker_positions = {p: cached.position for p, cached in session.partitions.items()}
            flight.naming = session.topic_ids
        elif kind_of(flight.sent_as.epoch) is not Kind.INCREMENTAL:
            flight.broker_positions = dict(flight.sent_as.partitions)
            flight.naming = flight.sent_as.topic_ids
        elif flight.fetch.action is Action.RELEASE:
            flight.broker_positions, flight.naming = {}, flight.sent_as.topic_ids

    def answer(self) -> None:
        flight = self.pick(self.waiting)
        if flight is not None:
            self.respond(flight)
            self.responses.append(flight)

    def respond(self, flight: Flight, throttle_ms: int = 0) -> None:
        fetch = flight.fetch
        assert fetch is not None
        left = self.budget
        results: dict[Partition, Result] = {}
        for partition, position in fetch.candidates():
            result = self.logs[partition].read(position.fetch_offset, left > 0)
            left -= result.records_size > 0
            results[partition] = result
        before = self.slots()
        flight.response = fetch.answer(results, self.now, throttle_ms=throttle_ms)
        self.check_eviction(before, flight)
        flight.truth = {p: log.seen() for p, log in self.logs.items()}
        flight.insist = frozenset(p for p, log in self.logs.items() if log.error or log.diverging or log.preferred >= 0)
        if throttle_ms:
            flight.mangled = True
        elif fetch.session is not None and not flight.response.error:
            self.check_turns(fetch.session, results)
        if kind_of(flight.sent_as.epoch) is Kind.FINAL:
            require(not flight.response.session_id, "a session that nobody asked for")

    def receive(self) -> None:
        flight = self.pick(self.responses)
        if flight is not None:
            self.hand_over(flight)

    def hand_over(self, flight: Flight) -> None:
        client, response = flight.client, flight.response
        assert response is not None
        if client.pending is not flight.request:
            require(not client.session.accept(flight.request, response).usable, "a response nobody waits for was used")
            return
        if response.session_id:
            client.granted.add(response.session_id)
        client.pending = None
        accepted = client.session.accept(flight.request, response)
        good = accepted.usable and not response.error
        client.may_go_on = response.session_id or None if good else None
        if accepted.usable:
            self.check_agreement(flight)

    def repeat_request(self) -> None:
        if self.requests:
            flight = self.rng.choice(self.requests)
            self.requests.append(Flight(flight.client, flight.request, flight.sent_as))

    def repeat_response(self) -> None:
        if self.responses:
            self.responses.append(self.rng.choice(self.responses))

    def lose_request(self) -> None:
        self.pick(self.requests)

    def lose_response(self) -> None:
        self.pick(self.responses)

    def break_connection(self) -> None:
        """Requests already sent may still arrive: late, on a connection that its client has given up."""
        client = self.client()
        if client.pending is not None:
            client.session.lose(client.pending)
            client.pending = client.may_go_on = None

    def refuse(self) -> None:
        """An error from before the sessions are looked at, or a broker that lost its memory of one."""
        flight = self.pick(self.requests)
        if flight is not None:
            error = self.rng.choice((70, 71, 106, 35))
            session = self.broker.cache.get(flight.request.session_id)
            if error == 70 and session is not None:
                self.broker.cache.remove(session)
            flight.response = FetchResponse(error)
            self.responses.append(flight)

    def throttle(self) -> None:
        flight = self.pick(self.waiting)
        if flight is not None:
            self.respond(flight, throttle_ms=50)
            self.responses.append(flight)

    def flip_naming(self) -> None:
        """A request in a session whose topics are named in the other way than its client says."""
        flight = self.pick(self.requests)
        if flight is not None and kind_of(flight.request.epoch) is Kind.INCREMENTAL:
            flight.sent_as = replace(flight.sent_as, topic_ids=not flight.sent_as.topic_ids)
            self.requests.append(flight)

    def mangle(self) -> None:
        """A response that a broken broker would send: a partition too few in a full one, one too many in a session."""
        flight = self.pick(self.responses)
        if flight is None:
            return
        response = flight.response
        assert response is not None
        partitions = dict(response.partitions)
        if kind_of(flight.request.epoch) is Kind.INCREMENTAL:
            partitions["elsewhere", 0] = Result()
        elif partitions:
            partitions.popitem()
        self.responses.append(replace(flight, response=replace(response, partitions=partitions)))

    def round(self) -> None:
        self.exchange(self.client())

    def exchange(self, client: Client) -> Flight | None:
        """A fetch and its answer, and the positions that follow from it."""
        if client.pending is not None:
            return None
        request = client.build()
        flight = Flight(client, request, request)
        if self.rng.random() < 0.1:
            self.requests.append(Flight(client, request, request))
        self.begin(flight)
        self.respond(flight)
        self.hand_over(flight)
        return flight

    # What must hold.

    def check_agreement(self, flight: Flight) -> None:
        client, response = flight.client, flight.response
        assert response is not None
        require(flight.request.topic_ids == flight.naming, "topics named in two ways in one session")
        if kind_of(flight.request.epoch) is Kind.FINAL and flight.request.session_id:
            return
        require(set(response.partitions) <= set(client.built), "a partition that is not in the session")
        if response.session_id or kind_of(flight.request.epoch) is Kind.FULL:
            require(flight.broker_positions == client.built, "sets or positions differ")
        for partition, result in response.partitions.items():
            offsets = (0, 0) if result.error else (result.high_watermark, result.log_start_offset)
            client.believes[partition] = (result.error, *offsets)
        if not flight.mangled:
            for partition in client.built if response.session_id else ():
                require(client.believes.get(partition) == flight.truth[partition], f"{partition} was not reported")
                reported = partition in response.partitions or partition not in flight.insist
                require(reported, f"{partition}: an error or a redirection was not reported again")
        self.move_on(client, response)

    def move_on(self, client: Client, response: FetchResponse) -> None:
        for partition, result in response.partitions.items():
            position = client.built[partition]
            if result.records_size and client.session.partitions.get(partition) == position:
                after = max(position.fetch_offset, result.log_start_offset) + result.records_size
                client.session.want(partition, position._replace(fetch_offset=after))

    def check_turns(self, session: CachedSession, results: dict[Partition, Result]) -> None:
        for partition in session.partitions:
            result = results.get(partition)
            starving = result is not None and result.more
            waits = self.waits.get((session.id, partition), 0) + 1 if starving else 0
            self.waits[session.id, partition] = waits
            require(waits <= len(PARTITIONS), f"{partition} starves")

    def check_cache(self) -> None:
        for shard in self.broker.cache.shards:
            require(len(shard.sessions) <= shard.slots, "more sessions than slots")

    def slots(self) -> dict[int, dict[int, CachedSession]]:
        return {shard.number: dict(shard.sessions) for shard in self.broker.cache.shards}

    def check_eviction(self, before: dict[int, dict[int, CachedSession]], flight: Flight) -> None:
        fetch, response = flight.fetch, flight.response
        assert fetch is not None and response is not None
        if kind_of(flight.sent_as.epoch) is not Kind.FULL or response.throttle_ms:
            return
        cache = self.broker.cache
        shard = cache.shards[(cache._turn - 1) % len(cache.shards)]
        was, now = before[shard.number], shard.sessions
        expected = self.who_goes(shard, was, flight.sent_as)
        gone = [session_id for session_id, session in was.items() if now.get(session_id) is not session]
        require(gone == ([expected] if expected else []), f"evicted {gone}, not {expected}")
        granted = len(was) < shard.slots or expected is not None
        require(granted == bool(response.session_id), "a session granted, or not, against the rules")

    def who_goes(self, shard: Shard, sessions: dict[int, CachedSession], request: FetchRequest) -> int | None:
        """The rule of eviction, said as plainly as can be."""
        if len(sessions) < shard.slots or not sessions:
            return None
        oldest = min(sessions.values(), key=lambda s: (s.last_used, s.id))
        if self.now - oldest.last_used > EVICTION_MS:
            return oldest.id
        follower = request.replica_id >= 0
        weak = [
            s for s in sessions.values() if s.last_used - s.created > EVICTION_MS or (follower and not s.privileged)
        ]
        least = min(weak, key=lambda s: (s.privileged, s.cached_size, s.id), default=None)
        if least is None or (follower, len(request.partitions), 0) < (least.privileged, least.cached_size, least.id):
            return None
        return least.id

    def settle(self) -> None:
        """The network is quiet from now on: soon everybody fetches in step, and has read everything."""
        self.requests, self.waiting, self.responses = [], [], []
        for partition, log in self.logs.items():
            log.error, log.preferred, log.diverging = 0, -1, False
            self.broker.mark(partition)
        for client in self.clients:
            if client.pending is not None:
                client.session.lose(client.pending)
                client.pending = client.may_go_on = None
            self.settle_client(client)

    def settle_client(self, client: Client) -> None:
        ends = {p: log.end for p, log in self.logs.items()}
        last = None
        for _ in range(400):
            last = self.exchange(client)
            positions = client.session.partitions
            if all(max(position.fetch_offset, self.logs[p].start) >= ends[p] for p, position in positions.items()):
                break
        else:
            raise DisagreementError("records were never delivered")
        for _ in range(2):
            last = self.exchange(client)
        assert last is not None and last.response is not None
        require(last.response.error == 0, "a fetch refused on a quiet network")
        roomy = len(self.broker.cache) < min(s.slots for s in self.broker.cache.shards)
        if roomy and not client.closed and client.built:
            require(kind_of(last.request.epoch) is Kind.INCREMENTAL, "a session that is never used")
            require(not last.request.partitions, "a position said again and again")
        left = {session.id for session in self.broker.cache} & client.granted - {client.session.session_id}
        require(not left, f"sessions {left} left in the broker's cache")
