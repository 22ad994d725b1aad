"""A broker, and somebody to talk to it in plain values.

async with talking() as talk:
    await talk.create("t", 3)
    await talk(METADATA, 12, {"topics": None})
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from kcli.broker import Broker
from kcli.client.address import parse_bootstrap
from kcli.client.calls import call
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.records import build_batch
from kcli.schemas.apikeys import FETCH, PRODUCE

DRAFT = "kip-227-draft"

Found = TypeVar("Found")


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 120))


async def until(look: Callable[[], Found | None]) -> Found:
    """What a look finds as soon as it finds something; `run` ends what takes too long."""
    while not (found := look()):
        await asyncio.sleep(0.005)
    return found


def batch(*values: str, time: int = 1000, **options: Any) -> bytes:
    """A batch of magic 2 with these values, a ms apart."""
    return build_batch([(time + at, None, value.encode(), ()) for at, value in enumerate(values)], **options)


class Talk:
    """One connection to a broker's first node, or to another."""

    def __init__(self, broker: Broker, connection: BrokerConnection, dialect: str | None = None) -> None:
        self.broker, self.connection, self.dialect = broker, connection, dialect

    def __call__(self, api_key: int, version: int, body: dict[str, Any]) -> asyncio.Future[dict[str, Any]]:
        return call(self.connection, api_key, version, body, dialect=self.dialect)

    @asynccontextmanager
    async def another(self, node: int = 0) -> AsyncIterator[Talk]:
        async with connected(self.broker, node, self.dialect) as made:
            yield made

    async def produce(
        self, topic: str, records: bytes, partition: int = 0, *, version: int = 9, acks: int = -1
    ) -> dict[str, Any]:
        """One partition's answer."""
        body = {"acks": acks, "timeoutMs": 1000, "topicData": [produced(topic, partition, records)]}
        answer = await self(PRODUCE, version, body)
        row: dict[str, Any] = answer["responses"][0]["partitionResponses"][0]
        return row

    async def produce_in_epochs(self, topic: str, *epochs: int) -> None:
        """Two records in each of these leader epochs."""
        for epoch in epochs:
            self.broker.topics.by_name[topic].partitions[0].epoch = epoch
            await self.produce(topic, batch("a", "b"))

    def fetch(self, version: int, *wanted: tuple[str, int, int], **limits: Any) -> asyncio.Future[dict[str, Any]]:
        """wanted: (topic or id, partition, offset)."""
        return self(FETCH, version, fetch_body(version, *wanted, **limits))


def produced(topic: str, partition: int, records: bytes) -> dict[str, Any]:
    return {"name": topic, "partitionData": [{"index": partition, "records": records}]}


def fetch_body(
    version: int,
    *wanted: tuple[str, int, int],
    wait: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    part_bytes: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
    forgotten: tuple[tuple[str, int], ...] = (),
    isolation: int = 0,
) -> dict[str, Any]:
    field = "topicId" if version >= 13 else "topic"
    body: dict[str, Any] = {"maxWaitMs": wait, "minBytes": min_bytes}
    if version >= 3:
        body["maxBytes"] = max_bytes
    if version >= 4:
        body["isolationLevel"] = isolation
    if version >= 7:
        body |= {"sessionId": session[0], "sessionEpoch": session[1]}
        body["forgottenTopicsData"] = [{field: topic, "partitions": [index]} for topic, index in forgotten]
    rows = [
        {field: topic, "partitions": [{"partition": index, "fetchOffset": offset, "partitionMaxBytes": part_bytes}]}
        for topic, index, offset in wanted
    ]
    return body | {"topics": rows}


def parts(answer: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """The partitions of a Fetch response."""
    return {
        (topic.get("topicId") or topic.get("topic"), each["partitionIndex"]): each
        for topic in answer["responses"]
        for each in topic["partitions"]
    }


@asynccontextmanager
async def connected(
    broker: Broker, node: int = 0, dialect: str | None = None, client_id: str = "talk"
) -> AsyncIterator[Talk]:
    address = broker.bootstrap.split(",")[node]
    config = ClientConfig({"bootstrap.servers": address, "client.id": client_id})
    connection = await BrokerConnection.open(parse_bootstrap([address])[0], config)
    try:
        yield Talk(broker, connection, dialect)
    finally:
        await connection.close()


@asynccontextmanager
async def talking(
    broker: Broker | None = None, *, topic: str = "", partitions: int = 1, **options: Any
) -> AsyncIterator[Talk]:
    """A broker (the one given, or a new one with these options) and a connection to it; topic: one to make first."""
    made = broker if broker is not None else Broker(**options)
    async with made:
        if topic:
            made.create_topic(topic, partitions)
        async with connected(made, dialect=options.get("dialect")) as talk:
            yield talk
