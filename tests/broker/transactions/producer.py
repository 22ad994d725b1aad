"""A transactional producer in plain values."""

from collections.abc import Sequence
from typing import Any

from kcli.records.builder import NewRecord, build_batch
from kcli.schemas.apikeys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    OFFSET_FETCH,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)
from kcli.schemas.errors import error_name
from tests.broker.talk import Talk, produced

__all__ = ["Producer", "committed", "read"]


class Producer:
    """implicit: the broker adds partitions and groups, and bumps the epoch (KIP-890)."""

    def __init__(self, talk: Talk, name: str = "tx", *, implicit: bool = False) -> None:
        self.talk, self.name, self.implicit = talk, name, implicit
        self.id = self.epoch = -1
        self.sequence = 0

    async def init(self, *, timeout: int = 60_000, version: int = 5, **known: int) -> str:
        body = {"transactionalId": self.name, "transactionTimeoutMs": timeout, **known}
        answer = await self.talk(INIT_PRODUCER_ID, version, body)
        if not answer["errorCode"]:
            self.id, self.epoch, self.sequence = answer["producerId"], answer["producerEpoch"], 0
        return error_name(answer["errorCode"])

    @property
    def who(self) -> dict[str, Any]:
        return {"transactionalId": self.name, "producerId": self.id, "producerEpoch": self.epoch}

    async def add(self, *partitions: int, topic: str = "t", version: int = 3) -> list[str]:
        body = {f"v3AndBelow{name[0].upper()}{name[1:]}": value for name, value in self.who.items()}
        body["v3AndBelowTopics"] = [{"name": topic, "partitions": list(partitions)}]
        answer = await self.talk(ADD_PARTITIONS_TO_TXN, version, body)
        rows = answer["resultsByTopicV3AndBelow"][0]["resultsByPartition"]
        return [error_name(each["partitionErrorCode"]) for each in rows]

    async def send(self, *values: str, partition: int = 0, version: int | None = None) -> str:
        rows: list[NewRecord] = [(1000 + at, None, value.encode(), ()) for at, value in enumerate(values)]
        return await self.send_rows(rows, partition=partition, version=version)

    async def send_rows(self, rows: Sequence[NewRecord], *, partition: int = 0, version: int | None = None) -> str:
        """Records with keys and times."""
        records = build_batch(
            rows, producer_id=self.id, producer_epoch=self.epoch, base_sequence=self.sequence, transactional=True
        )
        version = version or (12 if self.implicit else 9)
        body = {"transactionalId": self.name, "acks": -1, "timeoutMs": 1000}
        answer = await self.talk(PRODUCE, version, body | {"topicData": [produced("t", partition, records)]})
        code = answer["responses"][0]["partitionResponses"][0]["errorCode"]
        self.sequence += 0 if code else len(rows)
        return error_name(code)

    async def add_group(self, group: str = "g", version: int = 3) -> str:
        answer = await self.talk(ADD_OFFSETS_TO_TXN, version, self.who | {"groupId": group})
        return error_name(answer["errorCode"])

    async def send_offset(self, offset: int, group: str = "g", **member: Any) -> str:
        parts = [{"partitionIndex": 0, "committedOffset": offset, "committedMetadata": ""}]
        body = self.who | {"groupId": group, "topics": [{"name": "t", "partitions": parts}]} | member
        answer = await self.talk(TXN_OFFSET_COMMIT, 5 if self.implicit else 3, body)
        return error_name(answer["topics"][0]["partitions"][0]["errorCode"])

    async def end(self, *, commit: bool = True, version: int | None = None, adopt: bool = True) -> str:
        version = version or (5 if self.implicit else 3)
        answer = await self.talk(END_TXN, version, self.who | {"committed": commit})
        if version >= 5 and adopt and not answer["errorCode"]:
            self.id, self.epoch, self.sequence = answer["producerId"], answer["producerEpoch"], 0
        return error_name(answer["errorCode"])


async def read(talk: Talk, partition: int = 0, *, committed: bool = True) -> tuple[bytes, dict[str, Any]]:
    """What a consumer gets of a partition from its begin on: records, and the row of the answer."""
    answer = await talk.fetch(11, ("t", partition, 0), min_bytes=0, isolation=int(committed))
    row = answer["responses"][0]["partitions"][0]
    return bytes(row["records"] or b""), row


async def committed(talk: Talk, *, stable: bool = False, group: str = "g") -> tuple[int, str]:
    """The offset that a group has committed, and the error."""
    topics = [{"name": "t", "partitionIndexes": [0]}]
    answer = await talk(OFFSET_FETCH, 7, {"groupId": group, "topics": topics, "requireStable": stable})
    row = answer["topics"][0]["partitions"][0]
    return row["committedOffset"], error_name(row["errorCode"])
