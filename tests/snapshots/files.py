"""The test data, unpacked once a run."""

import atexit
import functools
import json
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
TRUTH: dict[str, Any] = json.loads((DATA / "truth.json").read_text())
LAWFUL = {"many-batches", "unknown-tagged-field", "compressed-gzip"}
CONTROL = {
    "SnapshotHeader": "SNAPSHOT_HEADER",
    "SnapshotFooter": "SNAPSHOT_FOOTER",
    "KRaftVersion": "KRAFT_VERSION",
    "KRaftVoters": "KRAFT_VOTERS",
    "LeaderChange": "LEADER_CHANGE",
}
NODES = ("332-single/n3", "391-three/n11", "431-single/n1", "440-three/n1")
LAST_431 = "431-single/n1/__cluster_metadata-0/00000000000000001600-0000000001.checkpoint"


@functools.cache
def unpacked(name: str) -> Path:
    """The folder inside `name`.tar.xz."""
    folder = Path(tempfile.mkdtemp(prefix="kcli-snapshots-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / name


def log_file(path: str) -> Path:
    return unpacked("logs") / path


def partition_folder(node: str) -> Path:
    return unpacked("logs") / node / "__cluster_metadata-0"


def all_files() -> list[tuple[Path, Path]]:
    """(file, Kafka's dump of it) of every snapshot and segment."""
    return [
        (file, file.parent.parent / "dump" / f"{file.name}.txt")
        for node in NODES
        for file in sorted(partition_folder(node).glob("0*"))
    ]


def damaged(case: str) -> Path:
    file = next(each["file"] for each in TRUTH["damaged"] if each["case"] == case)
    return unpacked("damaged").parent / str(file)


def dumped(path: Path) -> Iterator[tuple[int, str, int | None, Any]]:
    """(offset, type, version, data) of the records in a DumpLogSegments text; 3.x tells less of control records."""
    for line in path.read_text(errors="replace").splitlines():
        if found := re.search(r"^\| offset: (\d+) .* payload: (\{.*\})\s*$", line):
            row = json.loads(found[2])
            yield int(found[1]), row["type"], row["version"], row["data"]
        elif found := re.search(r"^\| offset: (\d+) .* headerKeys: \[\] (\w+):? (\{.*\})\s*$", line):
            data = json.loads(found[3])
            yield int(found[1]), CONTROL[found[2]], data["version"], data
        elif found := re.search(r"^\| offset: (\d+) .* controlType: (\w+)\(\d+\)\s*$", line):
            yield int(found[1]), found[2], None, None


def without_ours(value: Any) -> Any:
    """JSON without what kcli adds with a leading underscore."""
    if isinstance(value, dict):
        return {key: without_ours(each) for key, each in value.items() if not key.startswith("_")}
    return [without_ours(each) for each in value] if isinstance(value, list) else value


def without_default_quotas(lines: list[str]) -> list[str]:
    """A tree without default quotas, which the shell lists without the default's part and without values."""
    start = lines.index("  clientQuotas:") + 1
    end = next(place for place in range(start, len(lines)) if not lines[place].startswith("    "))
    entities: list[list[str]] = []
    for line in lines[start:end]:
        if line.startswith("     "):
            entities[-1].append(line)
        else:
            entities.append([line])
    kept = [each for each in entities if len(each) > 1 and "(<default>)" not in each[0]]
    return [*lines[:start], *(line for each in kept for line in each), *lines[end:]]
