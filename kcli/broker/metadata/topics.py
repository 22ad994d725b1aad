"""The topics of a broker by name and id, and the folder of their logs."""

import base64
import errno
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from kcli.broker.configs import Configs
from kcli.broker.fetch.tiering import REMOTE, remote_folder
from kcli.broker.partition import Key, Partition, Topic
from kcli.broker.storage.checkpoints import read_offsets, read_topic_id, write_offsets, write_topic_id
from kcli.broker.storage.file_pool import FilePool
from kcli.broker.storage.log import Log
from kcli.broker.storage.recovery import open_log
from kcli.errors import KcliError

START_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

# Files in Kafka's log folder besides partitions.
OWN_FILES = frozenset(
    [".lock", ".kafka_cleanshutdown", "meta.properties", "bootstrap.checkpoint", "lost+found", REMOTE]
)


def new_topic_id() -> str:
    """Make a random UUID in Kafka's base64 form; as in Kafka, it does not begin with a dash."""
    while (text := base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")).startswith("-"):
        continue
    return text


class Topics:
    """All topics by name and by id, with their logs in `folder`.

    clean: the last shutdown was clean; lasting: the folder stays after the broker. A partition's folder is created with
    its first record. note: called with a line about each entry of the folder that is left out.
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
        # The metadata log, by name and by id. It can be fetched, but is not listed among topics.
        self.hidden: dict[str, Topic] = {}
        self.unopened = {path.name for path in folder.iterdir() if path.is_dir()}
        self.start_offsets = self._offsets_in(START_CHECKPOINT)
        # The first offset of each compacted log that was not cleaned yet.
        self.cleaner_offsets = self._offsets_in(CLEANER_CHECKPOINT)
        self.on_delete: Callable[[Topic], None] = lambda topic: None

    def _offsets_in(self, checkpoint: str) -> dict[Key, int]:
        try:
            return read_offsets(self.folder / checkpoint)
        except (KcliError, OSError) as error:
            self.note(f"left out: {error}")
            return {}

    def __iter__(self) -> Iterator[Topic]:
        return iter(self.by_name.values())

    def get(self, name_or_id: str) -> Topic | None:
        """Return the topic with this name or id; None if there is none."""
        return self.by_name.get(name_or_id) or self.by_id.get(name_or_id)

    def find(self, key: Key, by_id: bool = False) -> Partition | None:
        """Return the partition with this topic name (or id) and index; None if there is none."""
        topic = (self.by_id if by_id else self.by_name).get(key[0]) or self.hidden.get(key[0])
        return topic.partition(key[1]) if topic is not None else None

    def partition_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Return the partition counts of topics with these names, by topic id. Unknown topics are left out."""
        found = (topic for name in names if (topic := self.by_name.get(name)) is not None)
        return {topic.id: len(topic.partitions) for topic in found}

    def add(self, name: str, topic_id: str, own: Mapping[str, str], replicas: Iterable[tuple[int, ...]]) -> Topic:
        """Add a topic with a partition for each tuple of replicas, the leader first. own: its configs. Raises
        InputError for an invalid name.
        """
        topic = Topic(self, name, topic_id, self.configs.of_topic(own))
        self.by_name[name] = self.by_id[topic_id] = topic
        self.add_partitions(topic, replicas)
        return topic

    def add_partitions(self, topic: Topic, replicas: Iterable[tuple[int, ...]]) -> None:
        """Add a partition for each tuple of replicas, the leader first."""
        for each in replicas:
            topic.partitions.append(Partition(topic, len(topic.partitions), each[0], each))

    def hide(self, topic: Topic, log: Log, leader: int, epoch: int) -> Partition:
        """Add a topic with one partition that is not listed, with a log that the caller opened. Returns the
        partition.
        """
        partition = Partition(topic, 0, leader, (leader,))
        partition.epoch, partition._log = epoch, log
        topic.partitions.append(partition)
        self.hidden[topic.name] = self.hidden[topic.id] = topic
        return partition

    def remove(self, topic: Topic) -> None:
        """Remove a topic and delete its files."""
        del self.by_name[topic.name], self.by_id[topic.id]
        for each in topic.partitions:
            if each.opened is not None or each.folder_name in self.unopened:
                self.unopened.discard(each.folder_name)
                for segment in each.opened.segments if each.opened else ():
                    self.pool.forget(segment.path)
                shutil.rmtree(self.folder / each.folder_name, ignore_errors=True)
                shutil.rmtree(remote_folder(self.folder / each.folder_name), ignore_errors=True)
        for key in [key for key in self.cleaner_offsets if key[0] == topic.name]:
            del self.cleaner_offsets[key]
        stale = [key for key in self.start_offsets if key[0] == topic.name]
        for key in stale:
            del self.start_offsets[key]
        if stale:
            self.write_start_offsets()
        self.on_delete(topic)

    def reconfigure(self, topic: Topic, own: Mapping[str, str]) -> None:
        """Replace a topic's own configs."""
        topic.configs = self.configs.of_topic(own)
        for each in topic.partitions:
            if each.opened is not None:
                each.opened.settings = topic.configs.settings

    # --- logs

    def tell_strays(self) -> None:
        """Log a line about each entry of the folder that belongs to no topic. It is not deleted."""
        known = {each.folder_name for topic in (*self, *self.hidden.values()) for each in topic.partitions}
        for path in sorted(self.folder.iterdir()):
            if path.name not in known | OWN_FILES and not path.name.endswith(("-checkpoint", ".tmp")):
                self.note(f"{path}: left out: it belongs to no topic")
            elif path.name in known and not path.is_dir():
                self.note(f"{path}: left out: no folder")

    def open(self, partition: Partition) -> Log:
        """Open a partition's log. Raises OSError if it can't be read; the partition is offline from then on."""
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
            # A topic of this name was deleted, and the broker was killed before its files were.
            shutil.rmtree(folder)
            return self.make_log(partition)
        remote = remote_folder(folder) if partition.topic.configs.tiered else None
        settings = partition.topic.configs.settings
        return open_log(folder, self.pool, settings, start, clean=self.clean, remote=remote, note=self.note)

    def make_log(self, partition: Partition) -> Log:
        """Create a partition's log. Raises OSError."""
        folder = self.folder / partition.folder_name
        log = Log.create(folder, self.pool, partition.topic.configs.settings)
        if self.pool.lasting:
            write_topic_id(folder, partition.topic.id)
        return log

    def delete_records(self, partition: Partition, offset: int) -> None:
        """Delete the records before `offset`; `write_start_offsets` keeps that for the next start. Raises OSError."""
        log = partition.made_log()
        log.delete_before(offset)
        self.start_offsets[partition.topic.name, partition.index] = log.start_offset

    def cleaned(self, partition: Partition, first_dirty: int) -> None:
        """Set the first offset of a log that was not cleaned, also in the checkpoint. Raises OSError."""
        self.cleaner_offsets[partition.topic.name, partition.index] = first_dirty
        if self.pool.lasting:
            write_offsets(self.folder / CLEANER_CHECKPOINT, self.cleaner_offsets)

    def write_start_offsets(self) -> None:
        """Write Kafka's log-start-offset-checkpoint. Raises OSError."""
        write_offsets(self.folder / START_CHECKPOINT, self.start_offsets)

    def opened_logs(self) -> Iterator[tuple[Partition, Log]]:
        """Yield the partitions whose logs are open, with the logs."""
        for topic in self.by_name.values():
            for partition in topic.partitions:
                if partition.opened is not None:
                    yield partition, partition.opened

    def close(self) -> None:
        """Close all logs, with their indexes and checkpoints written."""
        for _, log in self.opened_logs():
            log.close()
        self.pool.close()
