"""Brokers that can be written to, and judge a producer as Kafka does: sequences without gaps, each batch once."""

from kcli.records import scan
from kcli.schemas.ranges import Range
from tests.client.broker import Body, FakeBroker

NOT_LEADER, OUT_OF_ORDER, DUPLICATE = 6, 45, 46


class Cluster:
    """Leaders, epochs and logs that several brokers share. values: by partition, in order."""

    def __init__(self, topic: str, partitions: int, brokers: int = 1) -> None:
        self.topic = topic
        self.leaders = dict.fromkeys(range(partitions), (1, 0))
        self.values: dict[int, list[bytes | None]] = {index: [] for index in range(partitions)}
        self.next_sequence: dict[int, int] = {}
        self.seen: dict[tuple[int, int], int] = {}
        self.brokers = {number: WritableBroker(self, number) for number in range(1, brokers + 1)}
        self.hints = True
        self.metadata_lag = 0

    def move(self, partition: int, node: int) -> None:
        self.leaders[partition] = node, self.leaders[partition][1] + 1


class WritableBroker(FakeBroker):
    """errors: codes to answer the next produced batches with, instead of taking them."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        super().__init__({0: self.produce, 22: self.init_producer_id})
        self.cluster, self.number = cluster, number
        self.ranges |= {0: Range(3, 13), 22: Range(0, 5)}
        self.topics[cluster.topic] = len(cluster.leaders)
        self.errors: list[int] = []
        self.reported = 0

    def init_producer_id(self, version: int, body: Body) -> Body:
        return {"errorCode": 0, "producerId": 77, "producerEpoch": 0}

    def metadata(self, version: int, body: Body) -> Body:
        made = super().metadata(version, body)
        made["brokers"] = [
            {"nodeId": number, "host": "127.0.0.1", "port": each.port} for number, each in self.cluster.brokers.items()
        ]
        for topic in made["topics"]:
            for part in topic["partitions"]:
                node, epoch = self.cluster.leaders[part["partitionIndex"]]
                part.update({"leaderId": node, "leaderEpoch": epoch})
        return made

    def produce(self, version: int, body: Body) -> Body:
        parts = [self.write(part) for topic in body["topicData"] for part in topic["partitionData"]]
        made: Body = {"responses": [{"name": self.cluster.topic, "partitionResponses": parts}]}
        if self.cluster.hints and any("currentLeader" in part for part in parts):
            made["nodeEndpoints"] = [
                {"nodeId": number, "host": "127.0.0.1", "port": each.port}
                for number, each in self.cluster.brokers.items()
            ]
        return made

    def write(self, part: Body) -> Body:
        index, cluster = part["index"], self.cluster
        answer: Body = {"index": index, "errorCode": 0, "baseOffset": len(cluster.values[index])}
        node, epoch = cluster.leaders[index]
        if self.errors and (code := self.errors.pop(0)):
            return answer | {"errorCode": code}
        if node != self.number:
            hint = {"currentLeader": {"leaderId": node, "leaderEpoch": epoch}} if cluster.hints else {}
            return answer | {"errorCode": NOT_LEADER, **hint}
        (batch,) = scan(part["records"])
        expected = cluster.next_sequence.setdefault(index, batch.base_sequence)  # whatever comes first is the first
        if batch.producer_id >= 0 and batch.base_sequence != expected:
            known = (index, batch.base_sequence) in cluster.seen
            return answer | {"errorCode": DUPLICATE if known else OUT_OF_ORDER}
        cluster.seen[index, batch.base_sequence] = batch.count
        cluster.next_sequence[index] += batch.count
        cluster.values[index] += [record.value for record in batch.records()]
        return answer
