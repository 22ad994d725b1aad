"""Compares two sets of messages field by field: releases, dialects, folders of definitions.

A release has all messages. A dialect or folder has only those that it defines, so only these are compared.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kcli.errors import UsageError
from kcli.schemas.dialects import SHIPPED, read_dialect, shipped
from kcli.schemas.diff import SchemaChange, between_forms
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Message, release_order
from kcli.schemas.ranges import Range, covering


class SchemaSide(NamedTuple):
    """messages: by name, each in the versions that this side has. whole: a missing message has been removed."""

    messages: Mapping[str, Message]
    whole: bool


def side_of(text: str, stock: Catalog) -> SchemaSide:
    """Return the messages of a release ("3.9"), a dialect ("kip-1018") or a folder. Raises UsageError for another
    text.
    """
    if text in shipped() or (text and Path(text).is_dir()):
        found = read_dialect(SHIPPED / text if text in shipped() else Path(text))
        return SchemaSide({message.name: message for message in found.messages}, whole=False)
    try:
        release = stock.release(text)
    except UsageError:
        known = f"a release (3.9), a dialect ({', '.join(shipped())}) or a folder of definitions expected"
        raise UsageError(f"{text}: {known}") from None
    messages = (stock.message(name) for name in stock.names)
    spoken = {
        message.name: spoken_message
        for message in messages
        if (spoken_message := as_spoken(message, release)) is not None
    }
    return SchemaSide(spoken, whole=True)


def as_spoken(message: Message, release: str) -> Message | None:
    """Return a message in the versions and layouts of a release; None if it lacks the message."""
    releases = next((each for each in message.releases if release in each), None)
    if releases is None:
        return None
    older = [each for each in message.variants if release_order(release) < release_order(each.before)]
    form = min(older, key=lambda each: release_order(each.before)).message if older else message
    return form._replace(name=message.name, versions=releases.versions)


def between_sides(one: SchemaSide, other: SchemaSide) -> list[SchemaChange]:
    """Return the changed messages, versions and fields, by message."""
    names: set[str] = set()
    for side, facing in ((one, other), (other, one)):
        if not side.whole or facing.whole:
            names |= side.messages.keys()
    return [change for name in sorted(names) for change in between(one.messages.get(name), other.messages.get(name))]


def between(before: Message | None, after: Message | None) -> Iterator[SchemaChange]:
    """Yield the changes from one message to another; None means that there is no such message. Changes in versions that
    both have are summarized over these versions; each new version is compared with the one before it.
    """
    if before is None or after is None:
        message = before or after
        assert message is not None
        versions_text = str(message.versions)
        yield SchemaChange(
            message.name,
            "",
            "removed" if before else "added",
            versions_text if before else "",
            versions_text if after else "",
        )
        return
    if before.versions != after.versions:
        yield SchemaChange(after.name, "", "changed", str(before.versions), str(after.versions))
    found: dict[SchemaChange, list[int]] = {}
    for version in before.versions & after.versions:
        for change in between_forms(before, version, after, version):
            found.setdefault(change, []).append(version)
    for change, versions in found.items():
        yield change._replace(versions=str(covering(versions)))
    last = before.versions.hi
    for version in Range(max(last + 1, after.versions.lo), after.versions.hi):
        former = (before, last) if version == last + 1 else (after, version - 1)
        if former[1] in former[0].versions:
            for change in between_forms(*former, after, version):
                yield change._replace(versions=str(version))
