"""The state of share groups on disk: records of `__share_group_state` in Kafka's format (ShareSnapshot).

Acquisitions are not stored, so that after a restart records without an acknowledgement are delivered again.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kcli.broker.metadata.controller import Controller
from kcli.broker.metadata.state_topic import StateTopic
from kcli.broker.partition import Key
from kcli.broker.share.partition import Kept, SharePartition, Stage
from kcli.errors import InputError
from kcli.grammar import messages
from kcli.topic_names import SHARE_STATE

SNAPSHOT, VERSION = 0, 0
MOST_RECORDS = 100_000  # of a partition; Kafka's limit on locks is 10,000


class Snapshot(NamedTuple):
    """The state of a partition in a group. start: None if the group has no state of it any more."""

    group: str
    key: Key
    start: int | None = None
    kept: tuple[Kept, ...] = ()


class ShareStateLog:
    """The topic of share groups' state, which is created at the first write. note: called with a line about unreadable
    records.
    """

    def __init__(self, controller: Controller, note: Callable[[str], None]) -> None:
        self.topic = StateTopic(controller, SHARE_STATE, note)
        self.key = messages.data("ShareSnapshotKey", VERSION)
        self.value = messages.data("ShareSnapshotValue", VERSION)

    def write(self, group: str, key: Key, share: SharePartition | None) -> None:
        """Append the state of a partition in a group, or a tombstone (None). An OSError is only logged."""
        named = {"groupId": group, "topicId": key[0], "partition": key[1]}
        row = SNAPSHOT.to_bytes(2, "big") + self.key.write(named)
        try:
            self.topic.write(f"{group}:{key[0]}:{key[1]}", [(row, None if share is None else self.encode(share))])
        except OSError as error:
            self.topic.note(f"share group {group}: {error.strerror}")

    def encode(self, share: SharePartition) -> bytes:
        """Encode a record value: the version, then ShareSnapshotValue."""
        now = self.topic.replicas.now()
        value = {
            "snapshotEpoch": 0,
            "stateEpoch": 0,
            "leaderEpoch": 0,
            "startOffset": share.start,
            "createTimestamp": now,
            "writeTimestamp": now,
            "stateBatches": [
                {"firstOffset": each.first, "lastOffset": each.last}
                | {"deliveryState": int(each.stage), "deliveryCount": each.deliveries}
                for each in share.kept()
            ],
        }
        return VERSION.to_bytes(2, "big") + self.value.write(value)

    def load(self) -> Iterator[Snapshot]:
        """Yield the snapshots in the order in which they were written; the last one of a partition is its state."""
        for partition, batch, records in self.topic.load():
            for record in records if not batch.is_control else ():
                try:
                    if record.key is not None and record.key[:2] == SNAPSHOT.to_bytes(2, "big"):
                        yield self.decode(record.key, record.value)
                except (InputError, ValueError) as error:
                    self.topic.note(f"{SHARE_STATE}-{partition}: left out: record {record.offset}: {error}")

    def decode(self, key: bytes, value: bytes | None) -> Snapshot:
        """Decode the snapshot in a record. Raises InputError or ValueError if it is invalid."""
        named = self.key.read(key, 2)[0]
        place = named["topicId"], named["partition"]
        if value is None:
            return Snapshot(named["groupId"], place)
        fields = self.value.read(value, 2)[0]
        kept = tuple(
            Kept(each["firstOffset"], each["lastOffset"], Stage(each["deliveryState"]), each["deliveryCount"])
            for each in fields["stateBatches"]
        )
        start, end = fields["startOffset"], max((each.last for each in kept), default=-1)
        sizes = [each.last - each.first + 1 for each in kept]
        if start < 0 or min(sizes, default=1) < 1 or max(sum(sizes), end - start) > MOST_RECORDS:
            raise InputError(f"records {start} to {end} are no state of a shared partition")
        return Snapshot(named["groupId"], place, start, kept)
