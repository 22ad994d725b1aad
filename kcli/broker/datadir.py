"""A broker's data folder (Kafka's log.dir): meta.properties, a lock, and the mark of a clean shutdown."""

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

from kcli.broker.configs import Configs
from kcli.broker.metadata.topics import new_topic_id
from kcli.broker.storage.checkpoints import write_properties
from kcli.errors import InputError, UsageError
from kcli.java_properties import read_properties
from kcli.snapshots.reading.names import META_PROPERTIES
from kcli.temporary import TemporaryFolder, temporary_root

CLEAN = ".kafka_cleanshutdown"
PREFIX = "kcli-broker-"  # of temporary folders
# A broker may not have locked a younger folder yet.
ORPHAN_SECONDS = 60.0


class DataDir:
    """A broker's data folder, which this object locks. path: the folder; clean: the last shutdown was clean; note:
    called with a line about each file that can't be read and each folder that is removed.

    Raises UsageError if another broker uses the folder, or it has another cluster id. looked: this process has already
    looked for folders of killed brokers.
    """

    looked = False

    def __init__(self, path: Path | None, configs: Configs, note: Callable[[str], None] = lambda _: None) -> None:
        if path is None and not DataDir.looked:
            DataDir.looked = True
            remove_orphans(note)
        self._temporary = TemporaryFolder(PREFIX) if path is None else None
        self.path = Path(self._temporary.name) if self._temporary else Path(path or "")
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = (self.path / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise UsageError(f"{self.path}: another broker uses this folder") from None
        mark = self.path / CLEAN
        self.clean = mark.exists()
        mark.unlink(missing_ok=True)
        self.cluster_id = self._identify(configs, note)

    def _identify(self, configs: Configs, note: Callable[[str], None]) -> str:
        """Return the cluster id in meta.properties, else the configured one, else a new one; write it there."""
        try:
            known = read_properties(self.path / META_PROPERTIES)
        except InputError as error:
            note(f"{error}: left out")
            known = {}
        wanted = configs.text("cluster.id")
        if known.get("cluster.id") and wanted not in ("", known["cluster.id"]):
            self._lock.close()
            raise UsageError(f"{self.path / META_PROPERTIES}: cluster.id is {known['cluster.id']}, not {wanted}")
        cluster_id = known.get("cluster.id") or wanted or new_topic_id()
        rest = {"node.id": configs.int("node.id"), "directory.id": new_topic_id()} | known
        write_properties(self.path / META_PROPERTIES, rest | {"version": "1", "cluster.id": cluster_id})
        return cluster_id

    @property
    def lasting(self) -> bool:
        """Return whether the folder stays when the broker stops."""
        return self._temporary is None

    def close(self) -> None:
        """Mark the shutdown as clean and unlock the folder; delete a temporary one."""
        if self._temporary is None:
            (self.path / CLEAN).write_text('{"version":0}')
        self._lock.close()
        if self._temporary is not None:
            self._temporary.cleanup()


def remove_orphans(note: Callable[[str], None]) -> None:
    """Remove the temporary folders of killed brokers: this user's folders that no process has locked."""
    with os.scandir(temporary_root()) as found:
        folders = [Path(each.path) for each in found if each.name.startswith(PREFIX)]
    for folder in folders:
        lock = folder / ".lock"
        try:
            held = folder.lstat()
            if not stat.S_ISDIR(held.st_mode) or held.st_uid != os.getuid():
                continue
            if not (folder / META_PROPERTIES).exists() or lock.lstat().st_mtime > time.time() - ORPHAN_SECONDS:
                continue
            with lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
        except OSError:
            continue  # Another broker uses it, or it was removed in the meantime.
        note(f"{folder}: removed: its broker was killed")
