"""A broker with topics that can be fetched from: real sessions (`kcli.sessions.broker`), records made on the spot."""

from typing import Any

from kcli.records import build_batch
from kcli.schemas.ranges import Range
from kcli.sessions.broker import BrokerSessions
from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.fetch_exchange import FetchExchange
from kcli.sessions.values import FetchRequest, FetchResponse, Partition, Position, Result
from tests.client.broker import TOPIC_ID, Body, FakeBroker

BATCH = 3


class FetchableBroker(FakeBroker):
    """logs: (topic, partition) -> (first offset, offset after the last). Fetches answer with up to three records.

    errors: partition error codes to answer with, once each, with what to say of the leader. ids: topic name by id.
    evict_at: before the fetch of this number, from 1 on, the only session is lost.
    """

    def __init__(self, topics: dict[str, int], newest: int = 17, slots: int = 100) -> None:
        super().__init__({1: self.fetch, 2: self.list_offsets, 19: self.create_topics})
        self.ranges[1] = Range(4, newest)
        self.logs: dict[Partition, tuple[int, int]] = {}
        self.errors: dict[Partition, Body] = {}
        self.sessions = BrokerSessions(FetchSessionCache(slots=slots))
        self.now = self.evict_at = 0
        for name, count in topics.items():
            self.make(name, count)

    def make(self, name: str, count: int, last: int = 10) -> None:
        self.topics[name] = count
        for index in range(count):
            self.logs[name, index] = 0, last

    def topic(self, version: int, name: str) -> Body:
        made = super().topic(version, name)
        if version >= 10 and name in self.topics:
            made["topicId"] = self.id_of(name)
        return made

    def id_of(self, name: str) -> str:
        return TOPIC_ID[:-2] + chr(ord("a") + list(self.topics).index(name)) + "Q"

    def name_of(self, topic: str) -> str:
        return next((name for name in self.topics if topic in (name, self.id_of(name))), topic)

    def create_topics(self, version: int, body: Body) -> Body:
        made = []
        for each in body["topics"]:
            self.make(each["name"], each["numPartitions"])
            made.append({"name": each["name"], "errorCode": 0})
        return {"topics": made}

    def list_offsets(self, version: int, body: Body) -> Body:
        def answer(name: str, part: Body) -> Body:
            first, last = self.logs[name, part["partitionIndex"]]
            offset = first if part["timestamp"] == -2 else last
            return {"partitionIndex": part["partitionIndex"], "errorCode": 0, "offset": offset}

        topics = [
            {"name": each["name"], "partitions": [answer(each["name"], part) for part in each["partitions"]]}
            for each in body["topics"]
        ]
        return {"topics": topics}

    def fetch(self, version: int, body: Body) -> Body:
        self.now += 1
        if self.now == self.evict_at:
            self.sessions.cache.remove(next(iter(self.sessions.cache)))
        header = {"requestApiVersion": version, "correlationId": 0, "clientId": "c"}
        x = FetchExchange("s", "s-c", header, 0, None).read(body, None)
        positions = {key: Position(asked[0], asked[1], asked[2]) for key, asked in x.asked}
        request = FetchRequest(x.session_id, x.session_epoch, positions, tuple(x.forgotten), version >= 13)
        fetch = self.sessions.begin(request, self.now)
        results, parts = {}, {}
        for key, position in fetch.candidates():
            parts[key] = self.part(key, position)
            part = parts[key]
            results[key] = Result(part["highWatermark"], -1, 0, len(part["records"] or b""), part["errorCode"])
        response = fetch.answer(results, self.now)
        return self.body(version, response, parts)

    def part(self, key: Partition, position: Position) -> Body:
        name = self.name_of(key[0])
        first, last = self.logs[name, key[1]]
        offset = position.fetch_offset
        made: Body = {"partitionIndex": key[1], "errorCode": 0, "highWatermark": last, "records": None}
        made |= self.errors.pop((name, key[1]), {})
        if made["errorCode"]:
            return made
        if not first <= offset <= last:
            return made | {"errorCode": 1}
        count = min(BATCH, last - offset)
        if count:
            made["records"] = build_batch(((1, None, b"v", ()) for _ in range(count)), offset)
        return made

    @staticmethod
    def body(version: int, response: FetchResponse, parts: dict[Partition, Body]) -> Body:
        named = "topicId" if version >= 13 else "topic"
        topics: dict[str, list[Any]] = {}
        for key in response.partitions:
            topics.setdefault(key[0], []).append(parts[key])
        made: Body = {"responses": [{named: topic, "partitions": listed} for topic, listed in topics.items()]}
        if version >= 7:
            made |= {"errorCode": response.error, "sessionId": response.session_id}
        return made
