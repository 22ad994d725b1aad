"""The topics of a broker: names, ids, partitions with their leaders, and each partition's log once it is needed."""

from __future__ import annotations

import base64
import errno
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kcli.broker.codes import error_code
from kcli.broker.configs import Configs, TopicConfigs
from kcli.broker.storage.checkpoints import read_offsets, read_topic_id, write_offsets, write_topic_id
from kcli.broker.storage.files import FilePool
from kcli.broker.storage.log import Log
from kcli.broker.storage.recovery import open_log
from kcli.broker.tiering import REMOTE, remote_folder
from kcli.errors import KcliError
from kcli.topic_names import INTERNAL, folder_prefix

__all__ = ["Partition", "Shown", "Topic", "Topics", "new_topic_id"]

START_CHECKPOINT = "log-start-offset-checkpoint"

FENCED, UNKNOWN_EPOCH = error_code("FENCED_LEADER_EPOCH"), error_code("UNKNOWN_LEADER_EPOCH")
NOT_LEADER = error_code("NOT_LEADER_OR_FOLLOWER")
STORAGE_ERROR = error_code("KAFKA_STORAGE_ERROR")
# What a log folder of Kafka's holds besides partitions.
OWN_FILES = frozenset(
    [".lock", ".kafka_cleanshutdown", "meta.properties", "bootstrap.checkpoint", "lost+found", REMOTE]
)

Key = tuple[str, int]


def new_topic_id() -> str:
    """A random id in Kafka's text form; like Kafka's, it begins with no dash."""
    while (text := base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")).startswith("-"):
        continue
    return text


class Shown(NamedTuple):
    """What fetchers see of a log: high watermark, last stable offset, first offset, and the end, for followers."""

    high: int
    stable: int
    start: int
    end: int


class Partition:
    """One partition: who leads it, and its log (None as long as nothing was ever written).

    visible: what is shown of the log where something is held back; None: all of it. fault: why its log can't be read
    """

    __slots__ = ("_log", "epoch", "fault", "index", "leader", "replicas", "topic", "visible")

    def __init__(self, topic: Topic, index: int, leader: int, replicas: tuple[int, ...]) -> None:
        self.topic, self.index, self.leader, self.replicas = topic, index, leader, replicas
        self.epoch = 0
        self._log: Log | None = None
        self.visible: Shown | None = None
        self.fault = ""

    @property
    def keys(self) -> tuple[Key, Key]:
        """How fetch sessions know it: by topic name and by topic id."""
        return (self.topic.name, self.index), (self.topic.id, self.index)

    @property
    def current_leader(self) -> dict[str, int]:
        """The leader as responses name it (CurrentLeader, LeaderIdAndEpoch)."""
        return {"leaderId": self.leader, "leaderEpoch": self.epoch}

    @property
    def is_hidden(self) -> bool:
        """Whether it is the metadata log's, which is in no list of topics."""
        return self.topic.name in self.topic.owner.hidden

    @property
    def folder_name(self) -> str:
        """The name of its log's folder."""
        return f"{self.topic.folder_prefix}{self.index}"

    @property
    def log(self) -> Log | None:
        """The log, opened when it is first asked for; None: there is none, the partition is empty.

        OSError: it can't be read.
        """
        if self.fault:
            raise OSError(errno.EIO, self.fault)
        if self._log is None and self.folder_name in self.topic.owner.unopened:
            self._log = self.topic.owner.open(self)
        return self._log

    def made_log(self) -> Log:
        """The log, made when there is none."""
        log = self.log
        if log is None:
            log = self._log = self.topic.owner.make_log(self)
        return log

    @property
    def opened(self) -> Log | None:
        """The log if it is open, else None."""
        return self._log

    @property
    def is_offline(self) -> bool:
        """Can its log not be read (as in a log directory of Kafka's that failed)?"""
        try:
            return self.log is None and bool(self.fault)
        except OSError:
            return True

    @property
    def start_offset(self) -> int:
        """The first offset that can be read. OSError: as for `log`."""
        log = self.log
        return log.start_offset if log is not None else 0

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets. OSError: as for `log`."""
        log = self.log
        return log.end_offset if log is not None else 0

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction has ended. OSError: as for `log`."""
        log = self.log
        return log.producers.last_stable_offset(log.end_offset) if log is not None else 0

    def shown(self, log: Log) -> Shown:
        """What fetchers see of its log."""
        if self.visible is not None:
            return self.visible
        end = log.end_offset
        return Shown(end, log.producers.last_stable_offset(end), log.start_offset, end)

    def refusal(self, node_id: int, epoch: int) -> int:
        """The error for who asks this node and knows of that leader epoch (-1: of none); 0: it leads.

        A node that holds a replica looks at the epoch first, as Kafka's do.
        """
        if node_id != self.leader and node_id not in self.replicas:
            return NOT_LEADER
        if 0 <= epoch != self.epoch:
            return FENCED if epoch < self.epoch else UNKNOWN_EPOCH
        if node_id != self.leader:
            return NOT_LEADER
        return STORAGE_ERROR if self.is_offline else 0


class Topic:
    """internal: only the broker itself writes to it. InputError: Kafka takes no topic of this name."""

    def __init__(self, owner: Topics, name: str, topic_id: str, configs: TopicConfigs) -> None:
        self.folder_prefix = folder_prefix(name)
        self.owner, self.name, self.id, self.configs = owner, name, topic_id, configs
        self.partitions: list[Partition] = []
        self.internal = name in INTERNAL

    def partition(self, index: int) -> Partition | None:
        """The partition of this index, None where there is none."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


class Topics:
    """All topics, by name and by id; their logs live under `folder`.

    clean: the folder was left by an orderly stop; lasting: there may be a next start. A partition's folder is made with
    its first record. note: gets a line for each thing in the folder that is left out.
    """

    def __init__(
        self,
        folder: Path,
        configs: Configs,
        *,
        clean: bool = False,
        lasting: bool = True,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.folder, self.configs, self.clean, self.note = folder, configs, clean, note
        self.pool = FilePool(lasting=lasting)
        self.by_name: dict[str, Topic] = {}
        self.by_id: dict[str, Topic] = {}
        # Fetched by who knows of it, but in no list: the metadata log, by name and by id.
        self.hidden: dict[str, Topic] = {}
        self.unopened = {path.name for path in folder.iterdir() if path.is_dir()}
        try:
            self.start_offsets = read_offsets(folder / START_CHECKPOINT)
        except (KcliError, OSError) as error:
            self.start_offsets = {}
            self.note(f"left out: {error}")
        self.on_delete: Callable[[Topic], None] = lambda topic: None

    def __iter__(self) -> Iterator[Topic]:
        return iter(self.by_name.values())

    def get(self, name_or_id: str) -> Topic | None:
        """The topic of this name or id, None where there is none."""
        return self.by_name.get(name_or_id) or self.by_id.get(name_or_id)

    def find(self, key: Key, by_id: bool = False) -> Partition | None:
        """The partition of a topic's name (or id) and an index."""
        topic = (self.by_id if by_id else self.by_name).get(key[0]) or self.hidden.get(key[0])
        return topic.partition(key[1]) if topic is not None else None

    def add(self, name: str, topic_id: str, own: Mapping[str, str], replicas: Iterable[tuple[int, ...]]) -> Topic:
        """A topic with a partition for each tuple of replicas; the first of them leads. InputError: a bad name."""
        topic = Topic(self, name, topic_id, self.configs.of_topic(own))
        self.by_name[name] = self.by_id[topic_id] = topic
        self.add_partitions(topic, replicas)
        return topic

    def add_partitions(self, topic: Topic, replicas: Iterable[tuple[int, ...]]) -> None:
        """Add a partition for each tuple of replicas, whose first node leads."""
        for each in replicas:
            topic.partitions.append(Partition(topic, len(topic.partitions), each[0], each))

    def hide(self, topic: Topic, log: Log, leader: int, epoch: int) -> Partition:
        """A topic of one partition that is in no list, with a log that is somebody else's."""
        partition = Partition(topic, 0, leader, (leader,))
        partition.epoch, partition._log = epoch, log
        topic.partitions.append(partition)
        self.hidden[topic.name] = self.hidden[topic.id] = topic
        return partition

    def remove(self, topic: Topic) -> None:
        """Forget a topic and delete its files."""
        del self.by_name[topic.name], self.by_id[topic.id]
        for each in topic.partitions:
            if each.opened is not None or each.folder_name in self.unopened:
                self.unopened.discard(each.folder_name)
                for segment in each.opened.segments if each.opened else ():
                    self.pool.forget(segment.path)
                shutil.rmtree(self.folder / each.folder_name, ignore_errors=True)
                shutil.rmtree(remote_folder(self.folder / each.folder_name), ignore_errors=True)
        stale = [key for key in self.start_offsets if key[0] == topic.name]
        for key in stale:
            del self.start_offsets[key]
        if stale:
            self.write_start_offsets()
        self.on_delete(topic)

    def reconfigure(self, topic: Topic, own: Mapping[str, str]) -> None:
        """Give a topic these configs of its own. UsageError: no such config, or no such value."""
        topic.configs = self.configs.of_topic(own)
        for each in topic.partitions:
            if each.opened is not None:
                each.opened.settings = topic.configs.settings

    # --- logs

    def tell_strays(self) -> None:
        """Say what in the folder belongs to no topic. It stays where it is."""
        known = {each.folder_name for topic in (*self, *self.hidden.values()) for each in topic.partitions}
        for path in sorted(self.folder.iterdir()):
            if path.name not in known | OWN_FILES and not path.name.endswith(("-checkpoint", ".tmp")):
                self.note(f"{path}: left out: it belongs to no topic")
            elif path.name in known and not path.is_dir():
                self.note(f"{path}: left out: no folder")

    def open(self, partition: Partition) -> Log:
        """Open a partition's log. OSError: it can't be read; the partition is offline from then on."""
        self.unopened.discard(partition.folder_name)
        try:
            return self._open(partition)
        except (KcliError, OSError) as error:
            partition.fault = f"its log can't be read: {error}"
            self.note(f"{self.folder / partition.folder_name}: left out: {error}")
            raise OSError(errno.EIO, partition.fault) from None

    def _open(self, partition: Partition) -> Log:
        start = self.start_offsets.get((partition.topic.name, partition.index), 0)
        folder = self.folder / partition.folder_name
        if read_topic_id(folder) not in (None, partition.topic.id):
            # A topic of this name was deleted, and the broker killed before its files were.
            shutil.rmtree(folder)
            return self.make_log(partition)
        remote = remote_folder(folder) if partition.topic.configs.tiered else None
        settings = partition.topic.configs.settings
        return open_log(folder, self.pool, settings, start, clean=self.clean, remote=remote, note=self.note)

    def make_log(self, partition: Partition) -> Log:
        """Make a partition's log. OSError."""
        folder = self.folder / partition.folder_name
        log = Log.create(folder, self.pool, partition.topic.configs.settings)
        if self.pool.lasting:
            write_topic_id(folder, partition.topic.id)
        return log

    def delete_records(self, partition: Partition, offset: int) -> None:
        """Records before `offset` are gone, also for the next start."""
        log = partition.made_log()
        log.delete_before(offset)
        self.start_offsets[partition.topic.name, partition.index] = log.start_offset
        self.write_start_offsets()

    def write_start_offsets(self) -> None:
        """Write Kafka's log-start-offset-checkpoint. OSError."""
        write_offsets(self.folder / START_CHECKPOINT, self.start_offsets)

    def opened_logs(self) -> Iterator[tuple[Partition, Log]]:
        """The partitions whose logs are open, with these."""
        for topic in self.by_name.values():
            for partition in topic.partitions:
                if partition.opened is not None:
                    yield partition, partition.opened

    def close(self) -> None:
        """Close all logs in good order."""
        for _, log in self.opened_logs():
            log.close()
        self.pool.close()
