"""Calls to a live quorum: finds its controllers, describes it, and sends a reader's requests one after the other."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from kcli.client.address import Address
from kcli.client.calls import call
from kcli.client.cluster import Client
from kcli.client.handshake import Session
from kcli.errors import BrokerError, NetworkError
from kcli.schemas.apikeys import DESCRIBE_QUORUM, FETCH, FETCH_SNAPSHOT
from kcli.snapshots.live.quorum_reader import Committed, Endpoint, QuorumReader, Restart, SnapshotFetchError, StepResult
from kcli.topic_names import CLUSTER_METADATA

LEAST_FETCH = 12  # the first version with snapshot ids
PAUSE = 0.2  # seconds between answers that bring nothing


async def find_controllers(client: Client) -> list[Endpoint]:
    """Return the bootstrap addresses, if they are controllers, and the quorum's others, which take over when these are
    gone; for a broker those it names.
    """
    failure: NetworkError | None = None
    for address in client.bootstrap:
        try:
            session = await client.session_at(address)
        except NetworkError as error:
            failure = failure or error
            continue
        if FETCH_SNAPSHOT not in session.versions.ranges:
            return await ask_controllers(session, address)
        bootstrap = [Endpoint(each.host, each.port) for each in client.bootstrap]
        with contextlib.suppress(NetworkError):  # before 3.9 a quorum does not say where its controllers are
            bootstrap += [each for each in await ask_controllers(session, address) if each not in bootstrap]
        return bootstrap
    assert failure is not None
    raise failure


async def ask_controllers(session: Session, address: Address) -> list[Endpoint]:
    """Return where the controllers are, the leader first (DescribeQuorum v2, KIP-853). Raises NetworkError."""
    unknown = f"{address} is no controller (it has no FetchSnapshot): give a controller's listener to --bootstrap"
    if DESCRIBE_QUORUM not in session.versions.ranges or session.versions.ranges[DESCRIBE_QUORUM].hi < 2:
        raise NetworkError(unknown)
    answer = await describe_quorum(session)
    leaders = [each["leaderId"] for topic in answer["topics"] for each in topic["partitions"]]
    nodes = sorted(answer.get("nodes") or (), key=lambda node: node["nodeId"] not in leaders)
    found = [Endpoint(each["host"], each["port"]) for node in nodes for each in node["listeners"]]
    if not found:
        raise NetworkError(unknown)
    return found


async def describe_quorum(session: Session) -> dict[str, Any]:
    """Return the response to a DescribeQuorum."""
    body = {"topics": [{"topicName": CLUSTER_METADATA, "partitions": [{"partitionIndex": 0}]}]}
    return await call(session.connection, DESCRIBE_QUORUM, session.versions.best(DESCRIBE_QUORUM), body)


async def answers(client: Client, reader: QuorumReader) -> AsyncIterator[StepResult]:
    """Yield the reader's result of each answer, until it is done; it pauses after an empty one."""
    while reader.state != "done":
        turns = reader.turns
        try:
            result = reader.take(await request(client, reader))
        except NetworkError as error:
            if isinstance(error, BrokerError | SnapshotFetchError):
                raise
            result = turn_away(reader, error)
        yield result
        if is_idle(result) or reader.turns > turns > 2 or reader.refusals > 2:
            await asyncio.sleep(PAUSE)


async def request(client: Client, reader: QuorumReader) -> dict[str, Any]:
    """Send the request that the reader wants next, and return the response's body."""
    session = await client.session_at(Address(*reader.target))
    version = session.versions.best(reader.api_key, low=LEAST_FETCH if reader.api_key == FETCH else 0)
    return await call(session.connection, reader.api_key, version, reader.request(version))


def turn_away(reader: QuorumReader, error: NetworkError) -> Restart | None:
    """Switch to another controller. Raises SnapshotFetchError with the last failure if there is none."""
    try:
        return reader.lost()
    except SnapshotFetchError as last:
        raise SnapshotFetchError(f"{last}: {error}") from None


def is_idle(result: StepResult) -> bool:
    """Return whether an answer brought nothing, so that the next request should wait."""
    return isinstance(result, Restart) or (isinstance(result, Committed) and not result.data)
