"""Judges whether a metadata image can start a new quorum, and puts the new quorum's voters into the image.

A controller that finds a snapshot and no log begins its log where the snapshot ends (KIP-630). While kraft.version is
0, the property `controller.quorum.voters` names the voters. From kraft.version 1 on the VotersRecord names them
(KIP-853), so that voters on other hosts need another record.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kcli.counting import counted
from kcli.errors import UsageError
from kcli.legible import host_port
from kcli.snapshots.image.image import Image
from kcli.snapshots.rules.compatibility import (
    MIGRATION_ADVICE,
    ZOOKEEPER_GONE,
    features,
    parse_level,
    unfinished_migration,
)
from kcli.snapshots.rules.levels import level_name

VOTER = re.compile(r"([0-9]{1,10})@(\[[0-9A-Fa-f:.%]+\]|[^\s:@\[\],]+):([0-9]{1,5})(?::([A-Za-z0-9_-]{22}))?")
DYNAMIC_LEVEL = 21  # 3.9-IV0, the first metadata.version that allows kraft.version 1
MOST_ID, MOST_PORT = (1 << 31) - 1, 65535
LISTENER = "CONTROLLER"


class Voter(NamedTuple):
    """A voter of the new quorum. directory: the id of its metadata log's directory; None if not known, or not needed
    (kraft.version 0).
    """

    id: int
    host: str
    port: int
    directory: str | None = None

    @property
    def address(self) -> str:
        """The address as in Kafka's properties, "h:9093"."""
        return host_port(self.host, self.port)

    def __str__(self) -> str:
        return f"{self.id}@{self.address}" + (f":{self.directory}" if self.directory else "")


class Fitness(NamedTuple):
    """A statement about an image. severity: "error" if it keeps the quorum from starting, or from being the same
    cluster; else "note".
    """

    severity: str
    what: str


def parse_voters(text: str) -> list[Voter]:
    """Parse `ID@HOST:PORT,...`, as in `controller.quorum.voters`, each perhaps with `:DIRECTORY_ID` as in
    kafka-storage's `--initial-controllers`. Raises UsageError.
    """
    voters = []
    for part in text.split(","):
        found = VOTER.fullmatch(part.strip())
        if found is None or int(found[1]) > MOST_ID or not 0 < int(found[3]) <= MOST_PORT:
            raise UsageError(f"--voters {part}: ID@HOST:PORT or ID@HOST:PORT:DIRECTORY_ID expected")
        voters.append(Voter(int(found[1]), found[2].strip("[]"), int(found[3]), found[4]))
    if len({each.id for each in voters}) < len(voters):
        raise UsageError(f"--voters {text}: a node is named twice")
    return voters


def release_level(text: str) -> int:
    """Return the newest metadata.version of a release, "3.9" or "3.9.1". Raises UsageError."""
    return parse_level(".".join(text.split(".")[:2]))


def voters_of(image: Image) -> list[Voter]:
    """Return the voters in an image (KIP-853), each with its first endpoint."""
    found = []
    for each in image.voters or () if image.kraft_version else ():
        host, port = next(((end["host"], end["port"]) for end in each["endpoints"]), ("?", 0))
        found.append(Voter(each["voterId"], host, port, each["voterDirectoryId"]))
    return found


def new_voters(image: Image, requested: Sequence[Voter]) -> list[Voter]:
    """Return the voters of the new quorum: those given, or else the image's. A given voter without a directory id keeps
    the one that it has in the image.

    If any voter has a directory id, the quorum is dynamic; if none has, the properties name the voters.
    """
    known = {each.id: each for each in voters_of(image)}
    if not requested:
        return list(known.values())
    return [
        each._replace(directory=known[each.id].directory) if not each.directory and each.id in known else each
        for each in requested
    ]


def is_dynamic(image: Image, voters: Sequence[Voter]) -> bool:
    return bool(image.kraft_version) or any(each.directory for each in voters)


def with_voters(image: Image, voters: Sequence[Voter]) -> bool:
    """Put the voters into a dynamic quorum's image. Returns whether that changes the image."""
    if not is_dynamic(image, voters) or voters == voters_of(image):
        return False
    listener = next((end["name"] for each in image.voters or () for end in each["endpoints"]), LISTENER)
    image.kraft_version = image.kraft_version or 1
    image.voters = [
        {
            "voterId": each.id,
            "voterDirectoryId": each.directory,
            "endpoints": [{"name": listener, "host": each.host, "port": each.port}],
            "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
        }
        for each in voters
    ]
    return True


def fitness(image: Image, voters: Sequence[Voter], release: int | None = None) -> Iterator[Fitness]:
    """Yield notes and errors on an image before a quorum of these voters starts with it.

    release: the newest level of metadata.version that the new nodes support
    """
    yield from levels(image, release)
    if is_dynamic(image, voters):
        yield from dynamic(image, voters)
    yield from registrations(image, voters)


def levels(image: Image, release: int | None) -> Iterator[Fitness]:
    if image.level is None:
        yield Fitness("error", "no metadata.version: a controller of 3.3 or later does not load it")
    elif release is not None and image.level > release:
        text = f"metadata.version {level_name(image.level)} is newer than the release, which has {level_name(release)}"
        yield Fitness("error", text)
    else:
        yield Fitness("note", f"metadata.version {level_name(image.level)}: nodes of that release or later load it")
    if (state := unfinished_migration(image)) is not None:
        severity = "error" if release is not None and release >= ZOOKEEPER_GONE else "note"
        yield Fitness(severity, f"{state}: {MIGRATION_ADVICE}")
    for each in features(image, release) if release is not None else ():
        yield Fitness(each.severity, f"{each.what} by the release" if each.severity == "error" else each.what)


def dynamic(image: Image, voters: Sequence[Voter]) -> Iterator[Fitness]:
    """Check the voters in the records: whether each is complete, and how they differ from the former ones."""
    if image.level is not None and image.level < DYNAMIC_LEVEL:
        text = f"voters with directory ids need kraft.version 1, which needs metadata.version {level_name(21)}"
        yield Fitness("error", text)
    for each in voters:
        if not each.directory:
            text = f"voter {each}: its directory id is needed (ID@HOST:PORT:DIRECTORY_ID; kafka-storage random-uuid)"
            yield Fitness("error", text)
    known, then = {each.id: each for each in voters_of(image)}, {each.id for each in voters}
    if not known:
        yield Fitness("note", "kraft.version 0 becomes 1: the voters are in the metadata from now on (KIP-853)")
        return
    for each in voters:
        was = known.get(each.id)
        if was is None:
            yield Fitness("note", f"voter {each} is new")
        elif was != each:
            yield Fitness("note", f"voter {was} becomes {each}")
    for number in sorted(known.keys() - then):
        yield Fitness("note", f"voter {known[number]} is no voter any more")


def registrations(image: Image, voters: Sequence[Voter]) -> Iterator[Fitness]:
    """Yield notes on registrations of nodes that stay in the image."""
    alive = [number for number, each in sorted(image.brokers.items()) if not each["fenced"]]
    if alive:
        text = f"alive in the snapshot: {counted(len(alive), 'broker')} ({named(alive)}); a broker that starts anew is "
        yield Fitness("note", f"{text}refused until broker.session.timeout.ms has passed, and asks again")
    leftover = sorted(image.controllers.keys() - {each.id for each in voters}) if voters else []
    if leftover:
        yield Fitness("note", f"registered as controllers, but none of the voters: {named(leftover)}")


def named(numbers: Sequence[int], most: int = 8) -> str:
    """Format numbers as "1, 2, ...", at most `most` of them."""
    return ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")
