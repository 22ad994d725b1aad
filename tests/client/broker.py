"""A broker of a test's own: real bytes on a real socket, answers as the test says."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kcli.client.properties import ClientConfig
from kcli.grammar import frames
from kcli.schemas.ranges import Range
from tests.client.fake import framed, read_frame, server

Body = dict[str, Any]
Answer = Callable[[int, Body], Body | None]

TOPIC_ID = "aaaaaaaaaaaaaaaaaaaaaQ"


class FakeBroker:
    """answers: api key -> what to say to (version, request body); None: end the connection.

    requests: (api key, version, body) of what came, in order; ranges: what ApiVersions tells; silent: api keys that get
    no answer.
    """

    def __init__(self, answers: dict[int, Answer] | None = None, ranges: dict[int, Range] | None = None) -> None:
        self.port = 0
        self.ranges = ranges or {1: Range(4, 18), 2: Range(1, 11), 3: Range(0, 13), 18: Range(0, 4), 19: Range(2, 7)}
        self.answers: dict[int, Answer] = {3: self.metadata, 18: self.api_versions, **(answers or {})}
        self.requests: list[tuple[int, int, Body]] = []
        self.topics: dict[str, int] = {}
        self.connections = 0
        self.silent: set[int] = set()

    def config(self, **settings: str) -> ClientConfig:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        return ClientConfig({"bootstrap.servers": f"127.0.0.1:{self.port}", **given})

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while True:
            request = frames.decode_request(await read_frame(reader))
            key, version = request.api_key, request.api_version
            self.requests.append((key, version, request.body))
            body = self.answers[key](version, request.body)
            if body is None:
                return
            if key in self.silent:
                continue
            header = {"correlationId": request.header["correlationId"]}
            refused = key == 18 and body.get("errorCode") == 35
            written = frames.encode_response(header, key, 0 if refused else version, body)
            writer.write(framed(written))
            await writer.drain()

    def api_versions(self, version: int, _body: Body) -> Body:
        known = self.ranges[18]
        keys = [{"apiKey": key, "minVersion": each.lo, "maxVersion": each.hi} for key, each in self.ranges.items()]
        return {"errorCode": 0 if version in known else 35, "apiKeys": keys}

    def metadata(self, version: int, body: Body) -> Body:
        wanted = list(self.topics) if body["topics"] is None else [each["name"] for each in body["topics"]]
        return {
            "brokers": [{"nodeId": 1, "host": "127.0.0.1", "port": self.port}],
            **({"controllerId": 1} if version else {}),
            "topics": [self.topic(version, name) for name in wanted],
        }

    def topic(self, version: int, name: str) -> Body:
        known = name in self.topics
        made: Body = {"name": name, "errorCode": 0 if known else 3, "partitions": []}
        if version >= 10:
            made["topicId"] = TOPIC_ID if known else "A" * 22
        for index in range(self.topics.get(name, 0)):
            made["partitions"].append({"partitionIndex": index, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1]})
        return made


@asynccontextmanager
async def running(broker: FakeBroker) -> AsyncIterator[FakeBroker]:
    async with server(broker.talk) as port:
        broker.port = port
        yield broker


def together(leader: Callable[[Body], Body], *brokers: FakeBroker) -> None:
    """Make nodes 1, 2, ... of one cluster of them. leader: what Metadata says of a partition's, given its row."""

    def metadata(version: int, body: Body) -> Body:
        made = FakeBroker.metadata(brokers[0], version, body)
        made["brokers"] = [
            {"nodeId": number, "host": "127.0.0.1", "port": each.port} for number, each in enumerate(brokers, 1)
        ]
        for topic in made["topics"]:
            for part in topic["partitions"]:
                part.update(leader(part))
        return made

    for each in brokers:
        each.answers[3] = metadata
