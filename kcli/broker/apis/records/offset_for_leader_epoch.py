"""OffsetForLeaderEpoch v0-v4 (KIP-101, KIP-279, KIP-320): the end offset of a leader epoch."""

from __future__ import annotations

from typing import Any

from kcli.broker.request import Request
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    return request.each_partition("topic", row)


def row(request: Request, name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    partition = request.topics.find((name, wanted["partition"]))
    made = {"partition": wanted["partition"], "leaderEpoch": -1, "endOffset": -1}
    if partition is None:
        missing = error_code("UNKNOWN_TOPIC_OR_PARTITION")
        return made | {"errorCode": request.denial(Resource.TOPIC, name) or missing}
    if code := request.fault(name, partition.index) or partition.refusal(
        request.node.id, wanted.get("currentLeaderEpoch", -1)
    ):
        return made | {"errorCode": code}
    log = partition.log
    if log is None:
        known = wanted["leaderEpoch"] == partition.epoch
        return made | {"errorCode": 0} | ({"leaderEpoch": partition.epoch, "endOffset": 0} if known else {})
    epoch, end = log.epochs.end_of(wanted["leaderEpoch"], log.end_offset, partition.epoch)
    return made | {"errorCode": 0, "leaderEpoch": epoch, "endOffset": end}
