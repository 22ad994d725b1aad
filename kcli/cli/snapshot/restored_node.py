"""The log directory of a controller that will begin with a snapshot: checks its files, and puts the snapshot there."""

import fcntl
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kcli.cli.snapshot.files import publish
from kcli.cli.terminal.output import open_output
from kcli.counting import counted
from kcli.errors import UsageError
from kcli.java_properties import read_properties
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.names import META_PROPERTIES
from kcli.snapshots.writing.restoration import Fitness, Voter
from kcli.topic_names import METADATA_FOLDER

# The files of a log in a partition's folder; `partition.metadata` can stay.
LOG_FILE = re.compile(
    r"\d{20}.*\.(log|index|timeindex|txnindex|snapshot|checkpoint|part|deleted|swap|cleaned)"
    r"|quorum-state(\.tmp)?|leader-epoch-checkpoint(\.tmp)?"
)


class RestoredNode:
    """log_dir: the directory that holds, or will hold, `__cluster_metadata-0`; partition: that one.

    node_id, cluster_id: as given or, None, as its meta.properties says; known: what these say.
    """

    def __init__(self, path: str, node_id: int | None, cluster_id: str | None) -> None:
        self.log_dir = Path(path).parent if Path(path).name == METADATA_FOLDER else Path(path)
        self.partition = self.log_dir / METADATA_FOLDER
        self.known = read_properties(self.log_dir / META_PROPERTIES)
        text = self.known.get("node.id", "")
        self.node_id = int(text) if node_id is None and re.fullmatch("[0-9]{1,10}", text) else node_id
        self.cluster_id = cluster_id or self.known.get("cluster.id")
        if self.node_id is None:
            raise UsageError(f"{self.log_dir}: --node-id is needed, as there is no {META_PROPERTIES} with one")
        if self.cluster_id is None:
            raise UsageError(f"{self.log_dir}: --cluster-id is needed, as there is no {META_PROPERTIES} with one")

    def fitness(self, image: Image, voters: list[Voter]) -> Iterator[Fitness]:
        """Yield differences between this node and the one in the image and the voters, and the files that it would
        lose.
        """
        voter = next((each for each in voters if each.id == self.node_id), None)
        if voters and voter is None:
            yield Fitness("error", f"node {self.node_id} is not among the voters ({', '.join(map(str, voters))})")
        directory = voter.directory if voter else None
        expected = {"node.id": self.node_id, "cluster.id": self.cluster_id, "directory.id": directory}
        for name, value in expected.items() if self.known else ():
            found = self.known.get(name, "none")
            if value is not None and found != str(value):
                yield Fitness("error", f"{self.log_dir / META_PROPERTIES}: {name} {found} ({value} expected)")
        strays = sorted(self.strays(image))
        if strays:
            files_text = counted(len(strays), "partition here is", "partitions here are")
            named = ", ".join(strays[:3]) + ", ..." * (len(strays) > 3)
            yield Fitness("note", f"{files_text} not in the snapshot ({named}): a broker puts such aside as strays")

    def strays(self, image: Image) -> Iterator[str]:
        """Yield folders of partitions of topics that the image lacks."""
        from kcli.broker.storage.checkpoints import read_topic_id

        ids = {topic.id_text for topic in image.topics.values()}
        folders = self.log_dir.iterdir() if self.log_dir.is_dir() else ()
        for each in (folder for folder in folders if folder.name != METADATA_FOLDER):
            if (each / "partition.metadata").is_file() and read_topic_id(each) not in ids:
                yield each.name

    def in_the_way(self, keep: Path | None) -> list[Path]:
        """Return the files of an existing metadata log; keep: the one that is to stay."""
        if not self.partition.is_dir():
            return []
        files = [each for each in self.partition.iterdir() if LOG_FILE.fullmatch(each.name)]
        return sorted(each for each in files if keep is None or not each.samefile(keep))

    def meta(self, directory: str | None) -> dict[str, object]:
        """Return the values of its meta.properties. Kafka adds a directory id if it needs one."""
        values: dict[str, object] = {"version": 1, "cluster.id": self.cluster_id, "node.id": self.node_id}
        return values | ({"directory.id": directory} if directory else {})

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory's lock, as a broker that runs on it does. Raises UsageError if one does."""
        self.log_dir.mkdir(parents=True, exist_ok=True)
        with (self.log_dir / ".lock").open("a") as lock:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"{self.log_dir}: a broker runs on it: stop it first") from None
            yield

    def put(
        self, name: str, write: Callable[[IO[bytes]], object] | None, directory: str | None, remove: list[Path]
    ) -> Iterator[str]:
        """Make the snapshot of that name the metadata log's only file; yield the steps done. write: writes it; None: it
        exists. It is complete, under another name, before any file is removed.
        """
        self.partition.mkdir(exist_ok=True)
        part = self.partition / f"{name}.part"
        if write is not None:
            with open_output(part, (), sealed=True) as stream:
                write(stream)
        for each in remove:
            if each != part:
                each.unlink()
                yield f"removed {each}"
        if write is not None:
            publish(part, self.partition / name)
        yield f"{'wrote' if write else 'kept'} {self.partition / name}"
        if not self.known:
            from kcli.broker.storage.checkpoints import write_properties

            write_properties(self.log_dir / META_PROPERTIES, self.meta(directory))
            yield f"wrote {self.log_dir / META_PROPERTIES}"
