"""The draft's machines: the latest UUID, and what becomes of everything older."""

import random

import pytest

from kcli.sessions.draft import NO_UUID, DraftBroker, DraftClient, DraftRequest, DraftResponse, new_uuid
from kcli.sessions.draft_exchange import UUID_MISMATCH
from kcli.sessions.values import Partition, Position, Result

PARTITIONS: tuple[Partition, ...] = tuple(("t", index) for index in range(4))
A, B, C, D = PARTITIONS


def exchange(client: DraftClient, broker: DraftBroker, ends: dict[Partition, int]) -> DraftRequest:
    request = client.build()
    client.accept(request, answer(broker, request, ends))
    return request


def answer(broker: DraftBroker, request: DraftRequest, ends: dict[Partition, int]) -> DraftResponse:
    error = broker.begin(request)
    if error:
        return broker.answer(request, {}, error)
    looked = broker.candidates(request)
    results = {p: Result(ends[p], ends[p], 0, records_size=max(0, ends[p] - at.fetch_offset)) for p, at in looked}
    return broker.answer(request, results)


def test_uuids_are_64_bits_that_nobody_can_guess() -> None:
    """KIP-227's draft: the leader's UUID is random, 64 bits, and from a cryptographic source."""
    seen = {new_uuid() for _ in range(1000)}
    assert len(seen) == 1000 and NO_UUID not in seen
    assert min(seen) < 0 < max(seen) and all(-(2**63) <= uuid < 2**63 for uuid in seen)
    assert max(abs(uuid) for uuid in seen) > 2**61


def test_a_full_fetch_then_only_what_moved() -> None:
    """KIP-227's draft: requests name what moved, answers what is new."""
    client, broker = DraftClient(replica_id=1), DraftBroker()
    for partition in PARTITIONS:
        client.want(partition, Position(0))
    ends = dict.fromkeys(PARTITIONS, 0)
    assert exchange(client, broker, ends).uuid is None
    uuid = client.uuid
    client.want(B, Position(7))
    ends[C] = 3
    broker.mark(C)
    request = client.build()
    assert request == DraftRequest(uuid, 1, {B: Position(7)})
    response = answer(broker, request, ends)
    assert set(response.partitions) == {C} and response.uuid == uuid
    assert client.accept(request, response)
    assert exchange(client, broker, ends).partitions == {}


def test_another_set_of_partitions_takes_a_full_fetch() -> None:
    client, broker = DraftClient(replica_id=1), DraftBroker()
    client.want(A, Position(0))
    client.want(B, Position(0))
    ends = dict.fromkeys(PARTITIONS, 0)
    exchange(client, broker, ends)
    client.forget(A)
    assert exchange(client, broker, ends).uuid is None
    client.want(C, Position(0))
    request = exchange(client, broker, ends)
    assert request.uuid is None and set(request.partitions) == {B, C}
    assert exchange(client, broker, ends).uuid is not None


def test_only_the_latest_uuid_is_good() -> None:
    """KIP-227's draft: the UUID of an earlier full fetch is refused, and a full fetch follows."""
    client, broker = DraftClient(replica_id=1), DraftBroker()
    client.want(A, Position(0))
    ends = dict.fromkeys(PARTITIONS, 0)
    exchange(client, broker, ends)
    # A late full fetch, or somebody with this replica id: the client's UUID is no longer the latest.
    answer(broker, DraftRequest(None, 1, {A: Position(99)}), ends)
    request = client.build()
    response = answer(broker, request, ends)
    assert response == DraftResponse(UUID_MISMATCH)
    assert not client.accept(request, response)
    assert exchange(client, broker, ends).uuid is None
    assert exchange(client, broker, ends).uuid is not None


def test_consumers_are_kept_apart_by_their_names() -> None:
    broker = DraftBroker()
    clients = [DraftClient(client_id=name) for name in "ab"]
    ends = dict.fromkeys(PARTITIONS, 0)
    for _ in range(2):
        for client in clients:
            client.want(A, Position(0))
            request = exchange(client, broker, ends)
    assert request.uuid == clients[1].uuid != clients[0].uuid


def test_malformed_answers_are_not_used() -> None:
    client = DraftClient(replica_id=1)
    client.want(A, Position(0))
    client.want(B, Position(0))
    request = client.build()
    assert not client.accept(request, DraftResponse(0, 5, {A: Result()}))
    request = client.build()
    assert request.uuid is None
    assert client.accept(request, DraftResponse(0, 5, {A: Result(), B: Result()}))
    request = client.build()
    assert not client.accept(request, DraftResponse(0, 5, {D: Result()}))
    assert client.build().uuid is None


def test_one_fetch_at_a_time() -> None:
    client = DraftClient()
    client.build()
    with pytest.raises(RuntimeError, match="under way"):
        client.build()


class History:
    """A client on connections that break: what is under way on a broken one still arrives, some time, at the broker."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.client, self.broker = DraftClient(replica_id=1), DraftBroker()
        self.ends = dict.fromkeys(PARTITIONS, 5)
        self.late: list[DraftRequest] = []
        self.believes: dict[Partition, int] = {}

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.rng.choice([self.want, self.forget, self.append, self.fetch, self.fetch, self.fail, self.arrive])()
        self.late.clear()
        for _ in range(3):
            request = self.fetch()
        assert request.uuid is not None, "the client does not find back"

    def want(self) -> None:
        self.client.want(self.rng.choice(PARTITIONS), Position(self.rng.randint(0, 5)))

    def forget(self) -> None:
        if self.client.partitions:
            self.client.forget(self.rng.choice(sorted(self.client.partitions)))

    def append(self) -> None:
        partition = self.rng.choice(PARTITIONS)
        self.ends[partition] += 1
        self.broker.mark(partition)

    def arrive(self) -> None:
        if self.late:
            answer(self.broker, self.late.pop(self.rng.randrange(len(self.late))), self.ends)

    def fail(self) -> None:
        """The connection breaks before or behind the broker."""
        request = self.client.build()
        self.late.append(request)
        if self.rng.random() < 0.5:
            self.arrive()
        self.client.lose(request)

    def fetch(self) -> DraftRequest:
        wanted = dict(self.client.partitions)
        request = self.client.build()
        response = answer(self.broker, request, self.ends)
        if self.client.accept(request, response):
            known = self.broker._fetchers[1]
            assert known.positions == wanted, "sets or positions differ"
            for partition, result in response.partitions.items():
                self.believes[partition] = result.high_watermark
            assert all(self.believes[p] == self.ends[p] for p in wanted), "a change was not reported"
        return request


def test_histories_of_broken_connections() -> None:
    for seed in range(3000):
        History(random.Random(seed)).run(40)


def test_what_the_draft_cannot_notice() -> None:
    """Why the final design counts: an incremental fetch that is taken twice eats news that nobody gets to see."""
    client, broker = DraftClient(replica_id=1), DraftBroker()
    client.want(A, Position(0))
    ends = dict.fromkeys(PARTITIONS, 0)
    exchange(client, broker, ends)
    request = client.build()
    first = answer(broker, request, ends)
    ends[A] = 9
    broker.mark(A)
    eaten = answer(broker, request, ends)
    assert set(eaten.partitions) == {A} and client.accept(request, first)
    assert broker.begin(client.build()) == 0, "nothing tells the client that it missed something"


def test_one_fetcher_alone_is_told_to_look_again() -> None:
    broker = DraftBroker()
    clients = [DraftClient(replica_id=number) for number in (1, 2)]
    for client in clients:
        client.want(A, Position(5))
        exchange(client, broker, {A: 5})
    requests = [client.build() for client in clients]
    broker.mark_for(requests[0], A)
    broker.mark_for(requests[0], B)  # not one of its partitions
    assert [[key for key, _ in broker.candidates(each)] for each in requests] == [[A], []]


def test_a_fetcher_that_the_broker_does_not_know_is_refused() -> None:
    """As after its restart."""
    client, before = DraftClient(replica_id=1), DraftBroker()
    client.want(A, Position(0))
    ends = dict.fromkeys(PARTITIONS, 0)
    exchange(client, before, ends)
    request = client.build()
    assert request.uuid is not None
    assert answer(DraftBroker(), request, ends) == DraftResponse(UUID_MISMATCH)
