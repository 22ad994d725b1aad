"""The first stage: a range of a capture, its packets dealt out into files of whole connections.

A share is the connections of one bucket. Each range writes one file for each share (and link layer) into the staging
folder, of its packets or of where they are (`shuffle_files`), with the times at which its parts begin, so that a share
too big for one task can be read in time windows.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from kcli.capture.io.files import FOREVER, run_source
from kcli.capture.kafka.events import Event
from kcli.errors import InputError
from kcli.pipeline.packets.ranges import Ends, Range, RangeEngine, RangeSource
from kcli.pipeline.packets.shuffle_files import Origin, Part, ShuffleFile
from kcli.pipeline.storage import Place

COUNTS = (
    "packets", "tcp", "others", "cuts", "fragments", "unknown_links", "payload", "first_ns", "last_ns", "known",
    "described",
)  # fmt: skip


@dataclass(slots=True)
class ShuffledRange:
    """The outcome of a range. problem: what was wrong with the file, reported when all that could be read was."""

    taken: Range
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
    first_ns: int = 0
    last_ns: int = 0
    known: bytes = b""
    described: bytes = b""
    secrets: tuple[bytes, ...] = ()  # parts of TLS key logs that stand in the file

    def tcp_alone(self) -> ShuffledRange:
        """Return the result without what another task reports of the same range."""
        return ShuffledRange(
            self.taken, self.began, self.stopped, [], [], None, packets=self.tcp, tcp=self.tcp, payload=self.payload,
            first_ns=self.first_ns, last_ns=self.last_ns,
        )  # fmt: skip

    @property
    def ends(self) -> Ends:
        """Where its first and its last packet were."""
        return Ends(self.taken, self.began, self.stopped, self.known, self.described)


class Writer:
    """The staged files of one range, opened as their packets come. origin: where those are, if these are indexes."""

    def __init__(self, folder: Place, name: str, origin: Origin | None, capture: str) -> None:
        self.folder, self.name, self.origin, self.capture = folder, name, origin, capture
        self.files: dict[tuple[int, int], tuple[ShuffleFile, IO[bytes], list[int]]] = {}

    def write(
        self, share: int, link: int, first: int, last: int, packets: int, size: int, heavy: int, votes: int, data: bytes
    ) -> None:
        staged, file, place = self.files.get((share, link)) or self.open(share, link)
        file.write(data)
        staged.add(Part(place[0], first, last, size), packets, heavy, votes)
        place[0] += len(data)

    def open(self, share: int, link: int) -> tuple[ShuffleFile, IO[bytes], list[int]]:
        from kcli.core.capture.packet_shuffle import pcap_header

        kind = "pcap" if self.origin is None else "index"
        place = self.folder / f"{share:04d}-{self.name}-{link}.{kind}"
        file = place.create()
        header = pcap_header(link) if self.origin is None else b""
        file.write(header)
        made = ShuffleFile(share, link, place.uri, self.origin, self.capture), file, [len(header)]
        self.files[share, link] = made
        return made

    def close(self) -> list[ShuffleFile]:
        for _, file, _ in self.files.values():
            file.close()
        return [staged for staged, _, _ in self.files.values()]


def shuffle_range(
    taken: Range, number: int, shares: int, folder: str, *, only: int = -1, refer: bool = False
) -> ShuffledRange:
    """Deal out one range. number: of the range in this run. only: one share, the others' packets are left out. refer:
    packets stay where they are, if they can.

    Files of two attempts at one task never share a name: only those of the attempt that the driver hears of count.
    """
    from kcli.core.capture.packet_shuffle import Scatter

    origin = Origin.of(taken.uri) if refer else None
    writer = Writer(Place(folder), f"{number:06d}-{os.urandom(4).hex()}", origin, taken.uri)
    engine = Scatter(shares, writer.write, only=only, refer=origin is not None)
    events: list[Event] = []
    problems: list[str] = []
    secrets: list[bytes] = []
    began = stopped = taken.start
    try:
        with contextlib.closing(RangeSource(taken, engine, secrets.append)) as source:
            began = source.began
            for _ in read_range(source, engine, taken, events, problems):
                pass
            stopped = source.file.offset
    except (InputError, OSError) as error:
        problems.append(problem_text(error, taken.uri))
    engine.finish()
    staged = writer.close()
    made = ShuffledRange(taken, began, stopped, staged, events, "; ".join(problems) or None)
    for name in COUNTS:
        setattr(made, name, getattr(engine, name))
    made.secrets = tuple(secrets)
    return made


def read_range(
    source: RangeSource, engine: Any, taken: Range, events: list[Event], problems: list[str]
) -> Iterator[int | None]:
    """Read a range of a capture, collecting its events and problems; yield after each piece."""
    failures: list[InputError] = []
    limited = RangeEngine(engine, source.file, taken.end)
    yield from run_source(source, limited, FOREVER, events.append, failures, lambda count: None)  # type: ignore[arg-type]
    problems += [problem_text(error, taken.uri) for error in failures]


def problem_text(error: InputError | OSError, uri: str) -> str:
    """Return an error of a file, in a line that names it."""
    if isinstance(error, InputError):
        return str(error) if error.file else f"{uri}: {error}"
    return f"{uri}: {error.strerror or error}"


def gather_share(uris: Sequence[str], share: int, shares: int, folder: str) -> tuple[list[ShuffleFile], list[str]]:
    """Return the packets of one share out of whole files, and the errors of those: for readers that cannot shuffle."""
    staged: list[ShuffleFile] = []
    problems: list[str] = []
    for number, uri in enumerate(uris):
        made = shuffle_range(Range(uri, 0), number, shares, folder, only=share)
        staged += made.staged
        problems += [made.problem] if made.problem else []
    return staged, problems
