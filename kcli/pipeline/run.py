"""`kcli pipeline run`: new captures of a fleet into the tables of an output folder, by Spark, done once and whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from kcli.capture.events import Event
from kcli.capture.exchanges import MEMORY
from kcli.pipeline.carrying import pack, unpack
from kcli.pipeline.decoding import Decoded, events_only
from kcli.pipeline.derived import Gathered, derive
from kcli.pipeline.holding import holding
from kcli.pipeline.journal import Entry, Journal, published
from kcli.pipeline.naming import KEPT, Names, name_topics, names_in
from kcli.pipeline.ranges import RANGE_BYTES, Range, cut, misread
from kcli.pipeline.sampling import largest_share
from kcli.pipeline.scattering import Scattered, scatter
from kcli.pipeline.shares import Share, deal, dealt, split
from kcli.pipeline.spark import hand_out
from kcli.pipeline.standing import agrees, aim, find, place
from kcli.pipeline.storage import Place, StoredFile, gather
from kcli.pipeline.whole import Whole
from kcli.pipeline.windows import Heavy, Window
from kcli.pipeline.writing import NAMED, TableWriter, Written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Options", "Summary", "run_files", "run_pipeline"]

SHARE_BYTES = 256 << 20  # of packets that one task decodes
TASK_BYTES = 16 << 20  # of a file, or of one connection's packets, at least, that are worth a task of their own
FEW_ROWS = 5000  # that are named without the help of others
FEW = 16  # windows that are placed without the help of others
SMALL = 4 << 20  # bytes of captures below which one task is enough
WHOLE = 4 << 30  # of captures beyond which several tasks show how far the run is
FEW_CORES = 4  # on which as many tasks may read the same
EVEN = 1.2  # times its part of the bytes that a share may have then


@dataclass(frozen=True, slots=True)
class Options:
    """ports, dialect: as `kcli decode pcap`. shares: how many tasks share the connections. range_bytes: of a file that
    one task reads; window_bytes: of the packets of a task that decodes a part of one connection. 0: by size and cores.
    secrets: show them. memory: bytes that a task may hold of connections.
    """

    output: str
    ports: tuple[int, ...] = ()
    dialect: str | None = None
    shares: int = 0
    range_bytes: int = 0
    window_bytes: int = 0
    secrets: bool = False
    memory: int = MEMORY


@dataclass(slots=True)
class Summary:
    """Of one run. problems: of files that were no captures or damaged, told when all else was read."""

    run: int = 0
    files: int = 0
    skipped: int = 0
    packets: int = 0
    exchanges: int = 0
    events: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


Tell = Callable[[str, int, int], None]  # what is being done, how many of its tasks are ready, of how many


def quiet(_what: str, _done: int, _total: int) -> None:
    return


def run_pipeline(
    spark: SparkSession, inputs: Sequence[str], options: Options, tell: Tell = quiet, *, held: bool = False
) -> Summary:
    """Read the captures behind `inputs` that no run has read yet.

    held: the caller holds the output (`kcli.pipeline.holding`). HeldError, InputError, OSError, UsageError.
    """
    with nullcontext() if held else holding(options.output):
        return run_held(spark, inputs, options, tell)


def run_held(spark: SparkSession, inputs: Sequence[str], options: Options, tell: Tell) -> Summary:
    journal = Journal(options.output)
    journal.recover()
    files = gather(list(inputs))
    fresh = journal.fresh(files)
    summary = run_files(spark, journal, fresh, options, tell) if fresh else Summary(journal.last)
    summary.skipped = len(files) - len(fresh)
    summary.problems += [f"{each.uri}: has grown since it was read, not read again" for each in journal.grown(files)]
    return summary


def run_files(
    spark: SparkSession, journal: Journal, fresh: Sequence[tuple[StoredFile, str]], options: Options, tell: Tell = quiet
) -> Summary:
    """One run over these files: both stages, the tables across connections, and the journal's entry."""
    entry = journal.begin()
    entry.inputs = [
        {"uri": file.uri, "size": file.size, "changed": file.changed, "print": mark} for file, mark in fresh
    ]
    entry.drop = journal.passing()
    work = Work(spark, journal, entry, options, tell)
    scattered, decoded = work.read([file for file, _ in fresh])
    work.name(decoded)
    work.put_lineage(scattered, decoded)
    work.derive()
    entry.stats["exchanges"] = sum(each.exchanges for each in decoded)
    journal.commit(entry)
    (journal.home / "staging").remove()
    return summed(entry, scattered, decoded)


def summed(entry: Entry, scattered: Sequence[Scattered], decoded: Sequence[Decoded]) -> Summary:
    made = Summary(entry.run, len(entry.inputs))
    made.packets = sum(each.packets for each in scattered)
    made.exchanges = sum(each.exchanges + each.open_rows[0] for each in decoded)
    for where in entry.files:
        made.rows[where["table"]] = made.rows.get(where["table"], 0) + where["rows"]
    made.events = made.rows.get("undecodable", 0)
    made.problems = [each.problem for each in scattered if each.problem]
    return made


class Work:
    """One run on its way."""

    def __init__(self, spark: SparkSession, journal: Journal, entry: Entry, options: Options, tell: Tell) -> None:
        self.spark, self.journal, self.entry, self.options, self.tell = spark, journal, entry, options, tell
        self.folder = journal.folder(entry)
        self.staging = (journal.home / "staging").uri
        self.known: Names = {}
        self.heard: dict[str, Names] = {}  # in each file of `topic_names`

    def hand_out(self, what: str, tasks: Sequence[Any], work: Callable[[Any], Any]) -> list[Any]:
        self.tell(what, 0, len(tasks))
        results = hand_out(self.spark, tasks, work, lambda done: self.tell(what, done, len(tasks)))
        self.tell(what, len(tasks), len(tasks))
        return results

    def read(self, files: Sequence[StoredFile]) -> tuple[list[Scattered], list[Decoded]]:
        """What became of the files, and of the connections."""
        count = self.whole_tasks(files)
        if count:
            return self.read_whole(files, count)
        scattered = self.scatter(files)
        return scattered, self.decode(scattered)

    def whole_tasks(self, files: Sequence[StoredFile]) -> int:
        """How many tasks may as well read everything, each for its share of the connections; 0: packets are sorted
        first. That pays where tasks are many, files are big, or one connection has most of the bytes."""
        size = sum(file.size for file in files)
        if self.options.shares or self.options.range_bytes or self.options.window_bytes or size > WHOLE:
            return 0
        if size < SMALL or self.cores == 1:
            return 1
        few = self.local and self.cores <= FEW_CORES
        return self.cores if few and largest_share(files, self.cores) < EVEN / self.cores else 0

    def read_whole(self, files: Sequence[StoredFile], count: int) -> tuple[list[Scattered], list[Decoded]]:
        carried, clock = self.carried()
        options, folder = self.decoding_options(clock, clock), self.folder
        tasks = [Whole(tuple(files), kept, share, count) for share, kept in enumerate(dealt(carried, count))]

        def work(task: Whole) -> tuple[Decoded, list[Scattered]]:
            return task.decode(folder, options)

        made = self.hand_out("decoding", tasks, work)
        scattered = sorted((each for _, parts in made for each in parts), key=lambda each: each.taken.uri)
        decoded = [each for each, _ in made]
        self.publish(decoded, max(clock, *(each.last_ns for each in (*scattered, *decoded))))
        return scattered, decoded

    # The two stages

    def scatter(self, files: Sequence[StoredFile]) -> list[Scattered]:
        size = sum(file.size for file in files)
        range_bytes = self.options.range_bytes or self.task_bytes(size, RANGE_BYTES)
        ranges = [part for file in files for part in cut(file, range_bytes)]
        self.shares = self.options.shares or self.count_shares(size)
        self.refer = self.local and size <= memory_bytes() // 2
        results = self.scatter_ranges(list(enumerate(ranges)))
        while wrong := list(misread(each.ends for each in results)):
            again = {(each.uri, each.start) for each in wrong}
            results = [each for each in results if (each.taken.uri, each.taken.start) not in again]
            results += self.scatter_ranges([(len(ranges) + number, each) for number, each in enumerate(wrong)])
        return sorted(results, key=lambda each: (each.taken.uri, each.taken.start))

    def scatter_ranges(self, ranges: Sequence[tuple[int, Range]]) -> list[Scattered]:
        shares, staging, refer = self.shares, self.staging, self.refer

        def work(task: tuple[int, Range]) -> Scattered:
            return scatter(task[1], task[0], shares, staging, refer=refer)

        return self.hand_out("sorting packets by connection", ranges, work)

    def count_shares(self, size: int) -> int:
        return max(2 * self.cores, -(-size // SHARE_BYTES))

    def decode(self, scattered: Sequence[Scattered]) -> list[Decoded]:
        carried, clock = self.carried()
        end = max((each.last_ns for each in scattered), default=0)
        options = self.decoding_options(max(end, clock), clock)
        shares, windows = self.cut(deal(scattered, carried, self.shares), options)
        decoded = self.decode_tasks("decoding", [*chain(*windows), *shares], options)
        parts = [decoded.pop(0) for connection in windows for _ in connection]
        for connection in windows:
            made, parts = parts[: len(connection)], parts[len(connection) :]
            decoded += self.join(connection, made, options)
        self.publish(decoded, options["end_ns"])
        return decoded

    def decoding_options(self, end_ns: int, clock: int) -> dict[str, Any]:
        names = [(topic_id, name) for topic_id, (name, _) in self.read_names().items()]
        chosen = {name: getattr(self.options, name) for name in ("ports", "dialect", "secrets", "memory")}
        return {**chosen, "end_ns": end_ns, "clock": clock, "names": names}

    def publish(self, decoded: Sequence[Decoded], end_ns: int) -> None:
        for each in decoded:
            self.entry.add(each.files)
            self.entry.add(each.passing, passing=True)
        self.keep([flow for each in decoded for flow in each.under_way], end_ns)

    def decode_tasks(self, what: str, tasks: Sequence[Share | Window], options: dict[str, Any]) -> list[Decoded]:
        folder = self.folder

        def work(task: Share | Window) -> Decoded:
            return task.decode(folder, options)

        return self.hand_out(what, tasks, work)

    def cut(self, shares: Sequence[Share], options: dict[str, Any]) -> tuple[list[Share], list[list[Window]]]:
        """The shares as they are decoded, and the windows of each connection that is too big for a task."""
        size = self.options.window_bytes or self.task_bytes(sum(share.size for share in shares), SHARE_BYTES)
        kept, windows = [], []
        for share in shares:
            rest, heavy = split(share, size, options["clock"])
            found = self.place(heavy, aim(heavy, size), options) if heavy is not None else []
            kept.append(rest if len(found) > 1 else share)
            windows += [found] if len(found) > 1 else []
        return kept, windows

    def task_bytes(self, size: int, most: int) -> int:
        """Of `size` bytes how many are for one task, where tasks can be of any size."""
        return TASK_BYTES if size <= TASK_BYTES else max(TASK_BYTES, min(most, -(-size // (2 * self.cores))))

    @property
    def cores(self) -> int:
        return int(self.spark.sparkContext.defaultParallelism)

    @property
    def local(self) -> bool:
        """Whether all tasks are on this machine."""
        return str(self.spark.sparkContext.master).startswith("local")

    def place(self, heavy: Heavy, aimed: Sequence[Window], options: dict[str, Any]) -> list[Window]:
        """The windows of a connection, as they can be decoded; none where it is nowhere in step."""
        first = find(aimed[0], None, options) if len(aimed) > 1 else None
        if first is None:
            return []
        work = partial(find, first=first, options=options)
        if len(aimed) <= FEW:  # a few packets of each are enough: that is less than handing them out
            return place(heavy, first, [work(window) for window in aimed[1:]])
        return place(heavy, first, self.hand_out("cutting a big connection", aimed[1:], work))

    def join(self, windows: Sequence[Window], made: list[Decoded], options: dict[str, Any]) -> list[Decoded]:
        """Decode again what did not begin as the window before it ended."""
        for number, window in enumerate(windows[1:], start=1):
            before = made[number - 1]
            if not agrees(before, window):
                made[number : number + 1] = self.decode_tasks("decoding again", [window.behind(before)], options)
            before.under_way = []
        return made

    def carried(self) -> tuple[list[Any], int]:
        """Connections under way since the last run, and the time of its end."""
        places = [place for entry in self.journal.entries[-1:] for place in entry.carry]
        kept = [each for place in places for each in unpack((self.journal.output / place).read())]
        return kept, int(self.journal.entries[-1].stats["clock"]) if self.journal.entries else 0

    def keep(self, flows: Sequence[Any], clock: int) -> None:
        self.entry.stats["clock"] = clock
        (Place(self.folder) / "under-way").write(pack(flows))
        where = {"table": "", "day": None, "path": "under-way", "rows": len(flows), "passing": True}
        self.entry.files.append(where)
        self.entry.carry = [published(self.entry.run, where)]

    # What looks across connections

    def name(self, decoded: Sequence[Decoded]) -> None:
        """Give topics their names where a share's own connections did not say them."""
        self.known = self.read_names()
        learnt = [each.unnamed & self.known.keys() for each in decoded]
        known = {topic: self.known[topic] for topics in learnt for topic in topics}
        files = [file for each, topics in zip(decoded, learnt, strict=True) for file in to_name(each, topics)]
        tasks = [(self.uri(file.path), file.table) for file in files]
        if sum(file.rows for file in files) <= FEW_ROWS:  # sooner done than handed out
            rename(known, tasks)
            return
        count = 2 * self.cores if len(tasks) > 1 else 1
        groups = [group for number in range(count) if (group := tasks[number::count])]
        self.hand_out("naming topics", groups, partial(rename, known))

    def uri(self, path: str) -> str:
        return (Place(self.folder) / path).uri

    def read_names(self) -> Names:
        """The first time each topic id had a name, over all runs."""
        return self.named_in(self.files("topic_names"))

    def named_in(self, uris: Sequence[str]) -> Names:
        """The first time each topic id had a name, in files of `topic_names`, each of which is read once a run."""
        known: dict[str, tuple[str, int]] = {}
        for uri in uris:
            if uri not in self.heard:
                self.heard[uri] = names_in(uri)
            for topic_id, (name, since) in self.heard[uri].items():
                if topic_id not in known or since < known[topic_id][1]:
                    known[topic_id] = name, since
        return known

    def files(self, table: str) -> list[str]:
        """Of all runs and this one."""
        return self.journal.standing(table) + self.own_files(table)

    def own_files(self, table: str) -> list[str]:
        return [self.uri(where["path"]) for where in self.entry.files if where["table"] == table]

    def fresh_files(self, table: str) -> list[str]:
        """Of this run, and those that it replaces: what has another state now than for the run before."""
        return self.journal.passed(table) + self.own_files(table)

    def derive(self) -> None:
        self.tell("sessions, leader changes, clients", 0, 1)
        names = {topic: name for topic, (name, _) in self.known.items()}
        gathered = Gathered(self.spark, self.files, self.folder, names)
        if self.journal.entries:
            known = self.named_in(self.journal.standing("topic_names") + self.journal.passed("topic_names"))
            renamed = names != {topic: name for topic, (name, _) in known.items()}
            gathered = replace(gathered, fresh=self.fresh_files, before=self.journal.passed, renamed=renamed)
        written = derive(gathered)
        self.entry.add(written, passing=True)
        self.tell("sessions, leader changes, clients", 1, 1)

    def put_lineage(self, scattered: Sequence[Scattered], decoded: Sequence[Decoded]) -> None:
        writer = TableWriter(self.folder, "lineage")
        damage: list[Event] = [event for each in scattered for event in each.events]
        events_only(damage, writer.put)
        for row in lineage_rows(self.entry.run, scattered, decoded):
            writer.put("lineage", row)
        written: list[Written] = writer.close()
        self.entry.add(written)
        ends = TableWriter(self.folder, "lineage-open")
        for row in open_rows(self.entry.run, decoded):
            ends.put("lineage", row)
        self.entry.add(ends.close(), passing=True)


def memory_bytes() -> int:
    """Of this machine. A capture that fits into half of it can be read again and again without a disk."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def to_name(decoded: Decoded, topics: set[str]) -> list[Written]:
    """The files that have topic ids without a name, of which these have one now. What Kafka keeps for itself is not
    looked for in rows: where such an id has a name all the same, all rows may lack it."""
    everywhere = not topics.isdisjoint(KEPT)
    files = [file for file in (*decoded.files, *decoded.passing) if file.table in NAMED]
    return [file for file in files if topics and (file.nameless or everywhere)]


def rename(known: Names, files: Sequence[tuple[str, str]]) -> None:
    for uri, table in files:
        name_topics(uri, table, known)


def lineage_rows(run: int, scattered: Sequence[Scattered], decoded: Sequence[Decoded]) -> list[tuple[Any, ...]]:
    files: dict[str, list[Scattered]] = {}
    for each in scattered:
        files.setdefault(each.taken.uri, []).append(each)
    return [file_row(run, uri, parts) for uri, parts in files.items()] + [share_row(run, each) for each in decoded]


def file_row(run: int, uri: str, parts: Sequence[Scattered]) -> tuple[Any, ...]:
    names = ("packets", "tcp", "others", "cuts", "fragments", "unknown_links", "payload")
    counts = [sum(getattr(each, name) for each in parts) for name in names]
    first = min((each.first_ns for each in parts if each.first_ns), default=0) // 1000
    last = max((each.last_ns for each in parts), default=0) // 1000
    nothing = (None,) * 5
    events = sum(len(each.events) for each in parts)
    return (run, "file", uri, parts[0].taken.size, *counts, *nothing, None, events, first, last)


def share_row(run: int, each: Decoded) -> tuple[Any, ...]:
    counts = (each.packets, each.packets, 0, 0, 0, 0, each.payload)
    bytes_ = (each.exchange_bytes, each.event_bytes, each.duplicates, each.strays, each.carried)
    return (
        run,
        "share",
        str(each.share) if each.window is None else f"{each.share}, window {each.window}",
        None,
        *counts,
        *bytes_,
        each.exchanges,
        each.events,
        each.first_ns // 1000,
        each.last_ns // 1000,
    )


def open_rows(run: int, decoded: Sequence[Decoded]) -> list[tuple[Any, ...]]:
    """What is told of connections under way, for as long as no later run knows better: it takes back what is
    carried."""
    rows: list[tuple[Any, ...]] = []
    for each in decoded:
        exchange_bytes, event_bytes = each.open_bytes
        exchanges, events = each.open_rows
        if exchange_bytes or event_bytes or exchanges or events:
            bytes_ = (exchange_bytes, event_bytes, 0, 0, -exchange_bytes - event_bytes)
            rows.append(
                (run, "open", str(each.share), None, *(0,) * 7, *bytes_, exchanges, events, None, each.last_ns // 1000)
            )
    return rows
