"""OffsetForLeaderEpoch v0-v4 (KIP-101, KIP-279, KIP-320): the end offset of a leader epoch."""

from typing import Any

from kcli.broker.request import Request
from kcli.broker.storage.epochs import UNDEFINED


def handle(request: Request) -> dict[str, Any]:
    return request.each_partition("topic", row)


def row(request: Request, name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    partition, code = request.led_partition(name, wanted["partition"], wanted.get("currentLeaderEpoch", -1))
    made = {"partition": wanted["partition"], "leaderEpoch": -1, "endOffset": -1, "errorCode": code}
    if partition is None or code:
        return made
    log = partition.log
    if log is None:
        known = wanted["leaderEpoch"] != UNDEFINED and wanted["leaderEpoch"] <= partition.epoch
        return made | ({"leaderEpoch": wanted["leaderEpoch"], "endOffset": 0} if known else {})
    epoch, end = log.epochs.end_of(wanted["leaderEpoch"], log.end_offset, partition.epoch)
    return made | {"leaderEpoch": epoch, "endOffset": end}
