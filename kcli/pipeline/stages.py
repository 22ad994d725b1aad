"""The two stages of a run: packets are sorted by connection, then each connection is decoded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from kcli.capture.decoder import DecodeOptions
from kcli.pipeline.context import Options, RunContext
from kcli.pipeline.packets.decoding import Decoded, DecodingOptions
from kcli.pipeline.packets.direct_decode import DirectDecode
from kcli.pipeline.packets.kept_state import SHARES, Kept, kept_by, of_shares, write
from kcli.pipeline.packets.ranges import RANGE_BYTES, Range, cut, misread
from kcli.pipeline.packets.resync import agrees, aim, find, place
from kcli.pipeline.packets.shards import Shard, deal, split
from kcli.pipeline.packets.shuffle import Dealing, ShuffledRange, grouped, shuffle_ranges
from kcli.pipeline.packets.windows import Heavy, Window
from kcli.pipeline.rows.fetch_positions import Completion, go_on
from kcli.pipeline.rows.row_source import EVERY_TABLE
from kcli.pipeline.rows.topic_name_fill import LearnedNames
from kcli.pipeline.storage import StoragePath, StoredFile
from kcli.pipeline.tables import RECORDS

if TYPE_CHECKING:
    from kcli.payloads.http_schemas import CapturedSchemas

SHARE_BYTES = 256 << 20  # bytes of packets for one task to decode
TASK_BYTES = 16 << 20  # bytes of a file, or of one connection's packets; less is not worth a task
FEW = 16  # up to so many windows are placed by the driver itself
SMALL = 4 << 20  # bytes of captures; for less, one task is enough
WHOLE = 4 << 30  # bytes of captures; for more, several tasks show the progress


class Stages:
    """Both stages over the files of one run. untouched: connections of earlier runs without a packet in this run."""

    def __init__(self, context: RunContext, names: LearnedNames) -> None:
        self.untouched: set[str] = set()
        self.files: Sequence[StoredFile] = ()
        self.context, self.names = context, names
        self.options, self.folder = context.options, context.folder

    def read(self, files: Sequence[StoredFile]) -> tuple[list[ShuffledRange], list[Decoded]]:
        """Read the files. Returns (results of their ranges, results of the shares of connections)."""
        self.files = files
        if self.is_one_task(files):
            return self.read_whole(files)
        scattered = self.scatter(files)
        return scattered, self.decode(scattered)

    def is_one_task(self, files: Sequence[StoredFile]) -> bool:
        """Return whether one task may run both stages at once, because there is little to read, or only one core."""
        size = sum(file.size for file in files)
        cut = self.options.shares or self.options.range_bytes or self.options.window_bytes
        return not cut and size <= WHOLE and (size < SMALL or self.context.cores == 1)

    def read_whole(self, files: Sequence[StoredFile]) -> tuple[list[ShuffledRange], list[Decoded]]:
        """Run both stages at once, in one task."""
        (kept,), clock = self.kept(1)
        options, folder = self.decoding_options(clock, clock), self.folder

        def work(task: DirectDecode) -> tuple[Decoded, list[ShuffledRange]]:
            return task.decode(folder, options)

        ((decoded, read),) = self.context.hand_out("decoding", [DirectDecode(tuple(files), kept)], work)
        self.publish([decoded], max(clock, decoded.last_ns, *(each.last_ns for each in read)))
        return sorted(read, key=lambda each: each.part.uri), [decoded]

    def scatter(self, files: Sequence[StoredFile]) -> list[ShuffledRange]:
        """Run the first stage: read every file in ranges, and sort the packets by share."""
        size = sum(file.size for file in files)
        range_bytes = self.options.range_bytes or self.task_bytes(size, RANGE_BYTES)
        ranges = [part for file in files for part in cut(file, range_bytes)]
        self.shares = self.options.shares or self.count_shares(size)
        self.refer = self.context.local and size <= memory_bytes() // 2
        groups = grouped(ranges, range_bytes)
        results = self.scatter_ranges(list(enumerate(groups)))
        while wrong := list(misread(each.ends for each in results)):
            again = {(each.uri, each.start) for each in wrong}
            results = [each for each in results if (each.part.uri, each.part.start) not in again]
            results += self.scatter_ranges([(len(groups) + number, [each]) for number, each in enumerate(wrong)])
        return sorted(results, key=lambda each: (each.part.uri, each.part.start))

    def scatter_ranges(self, groups: Sequence[tuple[int, list[Range]]]) -> list[ShuffledRange]:
        """Run the first stage over numbered groups of ranges."""
        dealing = Dealing(self.shares, self.context.staging, refer=self.refer, sample=self.options.sample)

        def work(task: tuple[int, list[Range]]) -> list[ShuffledRange]:
            return shuffle_ranges(task[1], task[0], dealing)

        return list(chain(*self.context.hand_out("sorting packets by connection", groups, work)))

    def count_shares(self, size: int) -> int:
        """Return the number of shares for connections of so many bytes."""
        return max(2 * self.context.cores, -(-size // SHARE_BYTES))

    def decode(self, scattered: Sequence[ShuffledRange]) -> list[Decoded]:
        """Run the second stage: decode every share, and the windows of connections that are too big for one task."""
        kept, clock = self.kept(self.shares)
        end = max((each.last_ns for each in scattered), default=0)
        options = self.decoding_options(max(end, clock), clock)
        blocks = (block for each in scattered for block in each.secrets)
        options = replace(options, secret_blocks=(*options.secret_blocks, *blocks))
        shares, windows = self.cut(deal(scattered, kept), options)
        decoded = self.decode_tasks("decoding", [*chain(*windows), *shares], options)
        parts = [decoded.pop(0) for connection in windows for _ in connection]
        for connection in windows:
            made, parts = parts[: len(connection)], parts[len(connection) :]
            decoded += self.join(connection, made, options)
        self.publish(decoded, options.end_ns)
        return decoded

    def decoding_options(self, end_ns: int, clock: int) -> DecodingOptions:
        """Return the options of the tasks. end_ns: time of the last packet; clock: end of the preceding run (ns)."""
        return DecodingOptions(
            end_ns=end_ns,
            clock=clock,
            names=tuple((topic_id, name) for topic_id, (name, _) in self.names.read().items()),
            secret_blocks=tuple(StoragePath(file).read() for file in self.options.key_logs),
            origin=(self.context.entry.run, self.options.origin),
            sample=self.options.sample,
            reading={name: getattr(self.options, name) for name in ("ports", "dialect", "secrets", "memory")},
            **self.of_records(),
        )

    def of_records(self) -> dict[str, Any]:
        """Return the options about records. The driver reads the schemas, also those in the captures."""
        if not self.options.records:
            return {}
        wanted, payloads = EVERY_TABLE | {RECORDS.name}, self.options.payloads
        if payloads is None:
            return {"wanted": wanted}
        from kcli.payloads import PayloadDecoder

        captures = [StoragePath(file.uri) for file in self.files] if payloads.on else []
        schemas = captured_schemas([each.path for each in captures if not each.remote], self.options)
        return {"wanted": wanted, "decoder": PayloadDecoder(payloads, schemas)}

    def publish(self, decoded: Sequence[Decoded], end_ns: int) -> None:
        """Add the written files, and the connections that are still open, to the entry."""
        for each in decoded:
            self.context.entry.add(each.files)
            self.context.entry.add(each.passing, passing=True)
            self.context.entry.keep(each.state)
            self.untouched |= each.untouched
        self.context.entry.stats["clock"] = end_ns

    def decode_tasks(self, title: str, tasks: Sequence[Shard | Window], options: DecodingOptions) -> list[Decoded]:
        """Decode shares and windows in the engine's tasks."""
        folder = self.folder

        def work(task: Shard | Window) -> Decoded:
            return task.decode(folder, options)

        return self.context.hand_out(title, tasks, work)

    def cut(self, shares: Sequence[Shard], options: DecodingOptions) -> tuple[list[Shard], list[list[Window]]]:
        """Return (shares to decode, lists of windows of each connection that is too big for a task)."""
        size = self.options.window_bytes or self.task_bytes(sum(share.size for share in shares), SHARE_BYTES)
        kept, windows = [], []
        for share in shares:
            rest, heavy = split(share, size, options.clock)
            found = self.place(heavy, aim(heavy, size), options) if heavy is not None else []
            kept.append(rest if len(found) > 1 else share)
            windows += [found] if len(found) > 1 else []
        return kept, windows

    def task_bytes(self, size: int, most: int) -> int:
        """Return how many of `size` bytes one task should have, if tasks can be of any size."""
        return TASK_BYTES if size <= TASK_BYTES else max(TASK_BYTES, min(most, -(-size // (2 * self.context.cores))))

    def place(self, heavy: Heavy, aimed: Sequence[Window], options: DecodingOptions) -> list[Window]:
        """Return the windows of a connection as they can be decoded; [] if no place for a cut is found."""
        first = find(aimed[0], None, options) if len(aimed) > 1 else None
        if first is None:
            return []
        work = partial(find, first=first, options=options)
        if len(aimed) <= FEW:  # a few packets of each are enough, which costs less than tasks
            return place(heavy, first, [work(window) for window in aimed[1:]])
        return place(heavy, first, self.context.hand_out("cutting a big connection", aimed[1:], work))

    def join(self, windows: Sequence[Window], made: list[Decoded], options: DecodingOptions) -> list[Decoded]:
        """Decode windows again that did not begin where the window before ended."""
        for number, window in enumerate(windows[1:], start=1):
            before = made[number - 1]
            if not agrees(before, window):
                made[number : number + 1] = self.decode_tasks("decoding again", [window.behind(before)], options)
        completions = go_on(made, self.context.uri)
        self.context.hand_out("completing fetch positions", completions, Completion.write)
        made[-1].state = write(self.folder, f"{made[-1].share:04d}-window-{os.urandom(4).hex()}", made[-1].under_way)
        return made

    def kept(self, count: int) -> tuple[list[Kept], int]:
        """Return the connections that are open since the last run, by share, and the time of its end (ns)."""
        last = self.context.journal.entries[-1] if self.context.journal.entries else None
        before, clock = (None, 0) if last is None else (last.stats.get(SHARES), last.clock)
        self.context.entry.stats[SHARES] = count
        return of_shares(kept_by(last, self.context.journal.output), before, count), clock


def captured_schemas(paths: Sequence[str], options: Options) -> CapturedSchemas:
    """Return the schemas in captures, after reading these."""
    from kcli.payloads.http_schemas import CapturedSchemas

    made = CapturedSchemas(paths, DecodeOptions(memory=options.memory, key_logs=options.key_logs))
    made.entries  # noqa: B018 - read here, once, and not by each task
    return made


def memory_bytes() -> int:
    """Return the memory of this machine, in bytes. A capture that fits into half of it stays in the page cache."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
