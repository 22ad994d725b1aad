"""The first stage: distributes the packets of captures by connection into files, one for each share.

A share is the connections of one bucket. A task takes several ranges, and writes into the staging folder one file for
each share (and link layer), with the packets, or with their positions in the capture (`shuffle_files`). The file has a
section for each range, with the times at which its parts begin, so that a share too big for one task can be read in
time windows.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from kcli.capture.io.files import FOREVER, run_source
from kcli.capture.kafka.events import Event
from kcli.errors import InputError
from kcli.pipeline.packets.ranges import Ends, Range, RangeEngine, RangeSource
from kcli.pipeline.packets.shuffle_files import Origin, Part, ShuffleFile
from kcli.pipeline.storage import StoragePath

COUNTS = (
    "packets", "tcp", "others", "cuts", "fragments", "unknown_links", "payload", "outside", "outside_bytes", "first_ns",
    "last_ns", "known", "described",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dealing:
    """The options of distributing packets over `shares` shares, into the staging folder `folder`. only: keep the
    packets of this share alone. refer: if possible, leave the packets in the capture and write their positions. sample:
    the fraction of the connections to read; None: all.
    """

    shares: int
    folder: str
    only: int = -1
    refer: bool = False
    sample: float | None = None


@dataclass(slots=True)
class ShuffledRange:
    """The result for a range. problem: the fault of the file; reported after all packets that can be read. outside,
    outside_bytes: packets of connections not in the sample, which are not staged.
    """

    part: Range
    began: int
    stopped: int
    staged: list[ShuffleFile]
    events: list[Event]
    problem: str | None
    packets: int = 0
    tcp: int = 0
    others: int = 0
    cuts: int = 0
    fragments: int = 0
    unknown_links: int = 0
    payload: int = 0
    outside: int = 0
    outside_bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    known: bytes = b""
    described: bytes = b""
    secrets: tuple[bytes, ...] = ()  # parts of TLS key logs found in the file

    @property
    def ends(self) -> Ends:
        """The ends of the range: where its first packet began, and where its last ended."""
        return Ends(self.part, self.began, self.stopped, self.known, self.described)


class Writer:
    """The staged files of one task; each is opened at its first packet. sections: those of the current range."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder, self.name = StoragePath(folder), name
        self.files: dict[tuple[int, int, str], StagedFile] = {}
        self.sections: dict[tuple[int, int, str], ShuffleFile] = {}
        self.origin: Origin | None = None
        self.capture = ""

    def begin(self, origin: Origin | None, capture: str) -> None:
        """Begin the sections of another range. origin: the capture that has its packets, if the files are indexes."""
        self.sections, self.origin, self.capture = {}, origin, capture

    def write(  # noqa: PLR0913  called by the core
        self, share: int, link: int, copied: bool, first: int, last: int, packets: int, size: int,
        heavy: int, votes: int, data: bytes,
    ) -> None:  # fmt: skip
        kind = "pcap" if copied else "index"
        staged = self.files.get((share, link, kind)) or self.open(share, link, kind)
        section = self.sections.get((share, link, kind))
        if section is None:
            section = ShuffleFile(share, link, staged.uri, None if copied else self.origin, self.capture)
            self.sections[share, link, kind] = section
        start = staged.size
        staged.write(data)
        section.add(Part(start, first, last, size), packets, heavy, votes, staged.size)

    def open(self, share: int, link: int, kind: str) -> StagedFile:
        from kcli.core.capture.packet_shuffle import pcap_header

        place = self.folder / f"{share:04d}-{self.name}-{link}.{kind}"
        made = self.files[share, link, kind] = StagedFile(place.uri, place.create())
        if kind == "pcap":
            made.write(pcap_header(link))
        return made

    def close(self) -> None:
        """Finish all files."""
        for each in self.files.values():
            each.file.close()


@dataclass(slots=True)
class StagedFile:
    """A staged file that is being written. size: the bytes written so far."""

    uri: str
    file: IO[bytes]
    size: int = 0

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self.file.write(data)
        self.size += len(data)


def grouped(ranges: Iterable[Range], size: int) -> list[list[Range]]:
    """Return the ranges in groups of about `size` bytes, with at least one range in each."""
    groups: list[list[Range]] = []
    room = 0
    for part in ranges:
        if part.length > room:
            groups.append([])
            room = size
        groups[-1].append(part)
        room -= part.length
    return groups


def shuffle_ranges(group: Iterable[Range], number: int, dealing: Dealing) -> list[ShuffledRange]:
    """Deal out the packets of one task's ranges to the shares. number: the task's number in this run.

    Two attempts at the same task write files with different names: only the files of the attempt whose result the
    driver gets count.
    """
    writer = Writer(dealing.folder, f"{number:06d}-{os.urandom(4).hex()}")
    try:
        return [deal_out(taken, writer, dealing) for taken in group]
    finally:
        writer.close()


def deal_out(part: Range, writer: Writer, dealing: Dealing) -> ShuffledRange:
    """Deal out the packets of one range to the shares."""
    from kcli.core.capture.packet_shuffle import Scatter

    origin = Origin.of(part.uri) if dealing.refer else None
    writer.begin(origin, part.uri)
    engine = Scatter(
        dealing.shares, writer.write, only=dealing.only, refer=origin is not None, sample=dealing.sample
    )  # fmt: skip
    events: list[Event] = []
    problems: list[str] = []
    secrets: list[bytes] = []
    began = stopped = part.start
    try:
        with contextlib.closing(RangeSource(part, engine, secrets.append)) as source:
            began = source.began
            for _ in read_range(source, engine, part, events, problems):
                pass
            stopped = source.file.offset
    except (InputError, OSError) as error:
        problems.append(problem_text(error, part.uri))
    engine.finish()
    made = ShuffledRange(part, began, stopped, list(writer.sections.values()), events, "; ".join(problems) or None)
    for name in COUNTS:
        setattr(made, name, getattr(engine, name))
    made.secrets = tuple(secrets)
    return made


def read_range(
    source: RangeSource, engine: Any, part: Range, events: list[Event], problems: list[str]
) -> Iterator[int | None]:
    """Read a range of a capture and collect its events and problems; yield after each piece."""
    failures: list[InputError] = []
    limited = RangeEngine(engine, source.file, part.end)
    yield from run_source(source, limited, FOREVER, events.append, failures, lambda count: None)  # type: ignore[arg-type]
    problems += [problem_text(error, part.uri) for error in failures]


def problem_text(error: InputError | OSError, uri: str) -> str:
    """Return an error of a file as a line that names the file."""
    if isinstance(error, InputError):
        return str(error) if error.file else f"{uri}: {error}"
    return f"{uri}: {error.strerror or error}"


def gather_share(uris: Sequence[str], share: int, shares: int, folder: str) -> tuple[list[ShuffleFile], list[str]]:
    """Return the packets of one share from whole files, and the errors of the files. For readers that can't shuffle."""
    made = shuffle_ranges([Range(uri, 0) for uri in uris], 0, Dealing(shares, folder, only=share))
    return [staged for each in made for staged in each.staged], [each.problem for each in made if each.problem]
