"""Finds records that keep a node of another release from starting, because it must replay them and can't.

A node replays every record of its newest snapshot and the log after it, also superseded ones: a level that was raised
and lowered again, an old registration, a record of a type that the release lacks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcli.errors import DecodeError
from kcli.grammar.words.tagged import UNKNOWN_TAGS
from kcli.schemas.catalog import catalog
from kcli.schemas.model import release_order
from kcli.snapshots.quorum.startup import BOOTSTRAP
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.files import open_file
from kcli.snapshots.reading.old_fields import feature_level
from kcli.snapshots.reading.walk import SOFT, Row, metadata_rows
from kcli.snapshots.rules.levels import FEATURE, level_name
from kcli.snapshots.rules.supported import supported_levels

FEATURE_LEVEL = 12
LEVEL_ONLY = "4.0"  # from this release on, a bootstrap.checkpoint may have a level that the release lacks

FINE, LOOK, UNKNOWN = "", "look", "unknown"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A record that keeps nodes of a release from starting. features: (name, level) of the feature that it sets, None
    for other records.
    """

    file: str
    offset: int
    what: str
    features: tuple[str, int] | None = None

    @property
    def is_bootstrap(self) -> bool:
        """Return whether the obstacle is in the bootstrap.checkpoint, so that a new snapshot does not remove it."""
        return Path(self.file).name == BOOTSTRAP


class Preflight:
    """Judges records as nodes of a release read them, by their type and version. release: "3.7"."""

    def __init__(self, release: str, dialect: str | None = None) -> None:
        self.release, self.decoder = release, Decoder(dialect)
        self.verdicts: dict[tuple[int, int], str] = {}

    def obstacles(self, paths: Iterable[str], since: int = 0) -> Iterator[Obstacle]:
        """Yield the records in these files that stop a node. since: in segments skip records before this log offset."""
        for path in paths:
            is_log = path.endswith(".log")
            with open_file(path) as file:
                for row, records in metadata_rows(file.data, file.mapped):
                    if is_log and row[0] < since:
                        continue
                    if (found := self.judge(path, row, records)) is not None:
                        yield found

    def bootstrap(self, folder: Path) -> Iterator[Obstacle]:
        """Yield the records in the bootstrap.checkpoint of a log directory that stop a node."""
        path = folder / BOOTSTRAP
        if release_order(self.release) < release_order(LEVEL_ONLY) and path.is_file():
            yield from self.obstacles([str(path)])

    def judge(self, path: str, row: Row, records: memoryview) -> Obstacle | None:
        """Return a record's obstacle; None if it is none."""
        offset, key, version, start, end, problem = row
        if key is None or version is None or (problem and problem not in SOFT):
            return None  # `verify` reports it
        verdict = self.verdicts.get((key, version))
        if verdict is None:
            verdict = self.verdicts[key, version] = self.verdict(key, version)
        if verdict == UNKNOWN:
            return Obstacle(path, offset, f"{self.release} has no {self.decoder.names[key]}")
        try:
            if key == FEATURE_LEVEL:
                return self.feature(path, offset, self.decoder.read(key, version, records[start:end]))
            if verdict == LOOK and not self.accepts(key, version, records[start:end]):
                text = f"{self.decoder.names[key]} v{version}; {self.release} reads up to v{self.newest(key)}"
                return Obstacle(path, offset, text)
        except DecodeError:
            return None
        return None

    def verdict(self, key: int, version: int) -> str:
        """Return FINE, UNKNOWN (the release has no such type), or LOOK (the version is newer: its contents decide)."""
        if self.decoder.codec(key, version) is None:
            return FINE  # no release knows it: `verify` reports it
        newest = self.newest(key)
        return UNKNOWN if newest is None else LOOK if version > newest else FINE

    def newest(self, key: int) -> int | None:
        """Return the newest version of a type that the release has; None if it does not have the type."""
        spans = catalog(self.decoder.dialect).message(self.decoder.names[key]).releases
        return next((each.versions.hi for each in spans if self.release in each), None)

    def accepts(self, key: int, version: int, data: memoryview) -> bool:
        """Return whether the release can read a record of a version that is newer than its own.

        Kafka reads the record as the newest version that it has. It ignores new tagged fields, but refuses a struct by
        its version, and bytes that are left over.
        """
        newest = self.newest(key)
        if newest is None or has_structs(self.decoder.read(key, version, data)):
            return False
        try:
            self.decoder.read(key, newest, data)
        except DecodeError:
            return False
        return True

    def feature(self, path: str, offset: int, value: dict[str, Any]) -> Obstacle | None:
        """Return the obstacle of a FeatureLevelRecord whose level the release does not support; None for a supported
        one.
        """
        name, level = value["name"], feature_level(value)
        least, most = supported_levels(name, self.release)
        if least <= level <= most:
            return None
        named = f" ({level_name(level)})" if name == FEATURE else ""
        known = f"has levels {least} to {most} of it" if most else "does not have it"
        text = f"FeatureLevelRecord {name} {level}{named}; {self.release} {known}"
        return Obstacle(path, offset, text, (name, level))


def has_structs(value: dict[str, Any]) -> bool:
    """Return whether a field is a non-empty array of structs; unknown tagged fields are ignored."""
    fields = (each for name, each in value.items() if name != UNKNOWN_TAGS)
    return any(isinstance(each, list) and each and isinstance(each[0], dict) for each in fields)
