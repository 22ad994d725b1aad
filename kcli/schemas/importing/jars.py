"""Imports message definitions and error codes from Kafka's jars."""

import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kcli.errors import InputError, SchemaError
from kcli.schemas.definition import LARGEST, build, parse_text
from kcli.schemas.importing.classfile import ErrorCode, read_errors, read_member
from kcli.schemas.model import Message, Releases
from kcli.schemas.vectors.notes import Notes, notes_of

FOLDERS = ("common/message/", "common/metadata/")
NAME = re.compile(r"(?P<artifact>[\w.-]+?)-(?P<release>\d+\.\d+)[\w.-]*\.jar$")
# A jar's artifact -> component. The broker's jar had the messages that are now in the coordinators' jars.
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
    """Return ("kafka-clients", "4.4") from a jar's file name. Raises InputError."""
    found = NAME.search(path.name)
    if not found:
        raise InputError("its name says no release (as kafka-clients-4.4.0.jar does)", file=str(path))
    return found["artifact"], found["release"]


@dataclass(slots=True)
class Definitions:
    """The definitions in the jars of one release: messages by kind and name, notes on their fields, and error codes."""

    messages: dict[tuple[str, str], Message] = field(default_factory=dict)
    notes: dict[str, Notes] = field(default_factory=dict)
    errors: list[ErrorCode] = field(default_factory=list)


def read_jars(paths: Sequence[Path], done: Callable[[int], None] = lambda _: None) -> dict[str, Definitions]:
    """Return the definitions in the jars, by release. If two jars of a release define a message, the later path counts.

    done: called with the total bytes read so far. Raises InputError for a path that is no jar, or has no release in its
    name.
    """
    found: dict[str, Definitions] = {}
    size = 0
    for path in paths:
        artifact, release = release_of(path)
        try:
            with zipfile.ZipFile(path) as jar:
                read_jar(jar, artifact, release, found.setdefault(release, Definitions()))
        except zipfile.BadZipFile as error:
            raise InputError(f"not a jar: {error}", file=str(path)) from None
        except InputError as error:
            raise error.within(str(path)) from None
        size += path.stat().st_size
        done(size)
    return {release: each for release, each in found.items() if each.messages or each.errors}


def read_jar(jar: zipfile.ZipFile, artifact: str, release: str, found: Definitions) -> None:
    for info in sorted(jar.infolist(), key=lambda info: info.filename):
        if info.filename.startswith(FOLDERS) and info.filename.endswith(".json"):
            message, notes = definition(jar, info, artifact, release)
            found.messages[message.kind, message.name] = message
            found.notes[message.name] = notes
    found.errors = read_errors(jar) or found.errors


def definition(jar: zipfile.ZipFile, info: zipfile.ZipInfo, artifact: str, release: str) -> tuple[Message, Notes]:
    data = read_member(jar, info)
    if len(data) > LARGEST:
        raise SchemaError(f"{info.filename}: more than {LARGEST} bytes are too many for a message definition")
    try:
        raw = parse_text(data.decode("utf-8", "replace"))
        message = build(raw)
    except SchemaError as error:
        raise SchemaError(f"{info.filename}: {error.text}") from None
    unstable = raw.get("latestVersionUnstable") is True
    releases = Releases(release, release, message.versions, unstable, tuple(raw.get("listeners", ())))
    where = component(artifact, message.name)
    return message._replace(releases=(releases,) if message.versions else (), component=where), notes_of(raw)


def component(artifact: str, name: str) -> str:
    moved = next((where for prefix, where in MOVED.items() if name.startswith(prefix)), None)
    return moved or COMPONENTS.get(artifact, "group")
