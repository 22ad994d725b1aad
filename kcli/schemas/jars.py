"""Message definitions out of Kafka's own jars."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kcli.errors import InputError, SchemaError
from kcli.schemas.definition import build, parse_text
from kcli.schemas.model import Message, Releases, release_order

__all__ = ["read_jar", "read_jars", "release_of"]

FOLDERS = ("common/message/", "common/metadata/")
LARGEST = 1 << 20
NAME = re.compile(r"(?P<artifact>[\w.-]+?)-(?P<release>\d+\.\d+)[\w.-]*\.jar$")
# A jar's artifact -> component; the broker's own jar held what later moved into the coordinators' jars.
COMPONENTS = {
    "kafka-clients": "clients",
    "kafka-metadata": "metadata",
    "kafka-group-coordinator": "group",
    "kafka-transaction-coordinator": "transaction",
    "kafka-share-coordinator": "share",
    "kafka-raft": "raft",
}
MOVED = {"TransactionLog": "transaction", "QuorumState": "raft"}


def release_of(path: Path) -> tuple[str, str]:
    """("kafka-clients", "4.4") from a jar's file name."""
    found = NAME.search(path.name)
    if not found:
        raise InputError("its name says no release (as kafka-clients-4.4.0.jar does)", file=str(path))
    return found["artifact"], found["release"]


def read_jars(paths: Sequence[Path], done: Callable[[int], None] = lambda _: None) -> dict[str, list[Message]]:
    """Messages by release, oldest release first. Of two jars with one message in one release the later path counts.

    done: is told the bytes of the jars read so far.
    """
    found: dict[str, dict[tuple[str, str], Message]] = {}
    size = 0
    for path in paths:
        _, release = release_of(path)
        for message in read_jar(path):
            found.setdefault(release, {})[message.kind, message.name] = message
        size += path.stat().st_size
        done(size)
    return {release: list(found[release].values()) for release in sorted(found, key=release_order)}


def read_jar(path: Path) -> Iterator[Message]:
    """The messages that a jar defines, each with its release. InputError when it is no jar."""
    artifact, release = release_of(path)
    try:
        with zipfile.ZipFile(path) as jar:
            for info in sorted(jar.infolist(), key=lambda info: info.filename):
                if info.filename.startswith(FOLDERS) and info.filename.endswith(".json"):
                    yield definition(jar, info, artifact, release)
    except zipfile.BadZipFile as error:
        raise InputError(f"not a jar: {error}", file=str(path)) from None
    except InputError as error:
        raise error.within(str(path)) from None


def definition(jar: zipfile.ZipFile, info: zipfile.ZipInfo, artifact: str, release: str) -> Message:
    if info.file_size > LARGEST:
        raise SchemaError(f"{info.filename}: {info.file_size} bytes are too many for a message definition")
    try:
        raw = parse_text(jar.read(info).decode("utf-8", "replace"))
        message = build(raw)
    except SchemaError as error:
        raise SchemaError(f"{info.filename}: {error.text}") from None
    unstable = raw.get("latestVersionUnstable") is True
    said = Releases(release, release, message.versions, unstable, tuple(raw.get("listeners", ())))
    return replace(message, releases=(said,) if message.versions else (), component=component(artifact, message.name))


def component(artifact: str, name: str) -> str:
    moved = next((where for prefix, where in MOVED.items() if name.startswith(prefix)), None)
    return moved or COMPONENTS.get(artifact, "group")
