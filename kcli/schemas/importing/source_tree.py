"""Finds message definitions in a tree of Kafka's sources that the tables lack or have otherwise."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kcli.errors import InputError, SchemaError
from kcli.schemas.definition import build, check_size, parse_text
from kcli.schemas.diff import between_forms
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Message

# `clients/src/main/resources/common/message/`, `metadata/src/main/resources/common/metadata/`, `storage/.../message/`.
FOLDERS = ("message", "metadata")
RESOURCES, TESTS = "resources", "test"
SKIPPED = frozenset([".git", ".gradle", "build", "node_modules", "out"])
COORDINATOR = ("coordinator-key", "coordinator-value")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,200}")  # it becomes the name of a file
RELEASE = re.compile(r"^version\s*=\s*(\S+)", re.MULTILINE)


@dataclass(slots=True)
class SourceTree:
    """new: the text of each definition to keep, by the message's name. known: names of messages that are the same in
    the tables. tests: the number of definitions for tests. problems: files with invalid definitions.
    """

    new: dict[str, str] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)
    tests: int = 0
    problems: list[InputError] = field(default_factory=list)


def read_tree(folder: Path, stock: Catalog) -> SourceTree:
    """Return the messages in a source tree. Raises InputError if there are no definitions in it."""
    found = SourceTree()
    for path in definitions(folder):
        if TESTS in path.relative_to(folder).parts:
            found.tests += 1
            continue
        try:
            check_size(path)
            text = path.read_text("utf-8", "replace")
            message = build(parse_text(text))
            if not NAME.fullmatch(message.name):
                raise SchemaError(f'"name": {message.name!r} is no name of a message')
        except InputError as error:
            found.problems.append(error.within(str(path)))
            continue
        if is_known(stock, message):
            found.known.append(message.name)
        elif message.versions:  # a message without versions is not sent any more
            found.new[message.name] = text
    if not (found.new or found.known or found.problems):
        where = "src/main/resources/common/message/*.json expected, as in clients/"
        raise InputError(f"no message definitions in this tree, and no jars ({where})", file=str(folder))
    return found


def definitions(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that may be definitions, in order; links to folders are not followed."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - SKIPPED)
        root = Path(place).resolve()
        if root.name in FOLDERS and RESOURCES in root.parts:
            paths = (Path(place, file) for file in sorted(files) if file.endswith(".json"))
            yield from (path for path in paths if path.is_file())  # no pipes


def is_known(stock: Catalog, message: Message) -> bool:
    """Return whether the tables have each version of a message with the same fields, types, names, defaults and
    flexibility.

    Before Kafka 4.1, records of coordinators had the type "data" and no key.
    """
    name = stock.current_names.get(message.name, message.name)
    if name not in stock.lines and name not in stock.embedded_lines:
        return not message.versions
    known = stock.message(name)
    unkeyed = known.kind in COORDINATOR and (message.kind, message.api_key) == ("data", None)
    return (unkeyed or (known.kind, known.api_key) == (message.kind, message.api_key)) and all(
        version in known.versions and not between_forms(known, version, message, version)
        for version in message.versions
    )


def release_of_tree(folder: Path) -> str:
    """Return the release that gradle.properties states; "" if there is none."""
    try:
        found = RELEASE.search((folder / "gradle.properties").read_text("utf-8", "replace"))
    except OSError:
        return ""
    return found[1] if found else ""
