"""A whole source as JSON lines, its pieces worked on side by side and written in order.

Where each piece ends is a guess from the size fields; when damage makes a piece end elsewhere, the pieces behind it are
thrown away and read again from there.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator
from queue import SimpleQueue

from kcli.records.damage import Damage
from kcli.records.kernels import records as core
from kcli.records.pieces import PIECE_BYTES, Piece, ReadInto, Wish, cut_pieces
from kcli.records.text import Findings, Hook, new_writer, write_piece

__all__ = ["sweep_lines"]

MOST_WORKERS = 8
Emit = Callable[[memoryview], object]


class Job:
    """A piece on its way: `done` is held until it has been worked on."""

    __slots__ = ("damages", "done", "error", "more", "piece", "resume", "writer")

    def __init__(self, piece: Piece, writer: core.BatchText) -> None:
        self.piece, self.writer = piece, writer
        self.damages: list[Damage] = []
        self.resume, self.more = 0, False
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def work(self, full: bool) -> None:
        try:
            self.resume, self.more = write_piece(self.writer, self.piece, full, True, self.damages)
        except BaseException as error:
            self.error = error
        self.done.release()


def sweep_lines(
    read: ReadInto,
    emit: Emit,
    full: bool,
    *,
    seekable: bool = True,
    record: Hook | None = None,
    payloads: bool = False,
    positions: bool = False,
    progress: Callable[[int], None] | None = None,
    size: int | None = None,
    workers: int | None = None,
) -> Findings:
    """Write each batch of a source as a line of JSON; memory does not grow with the source.

    read(into, position) -> bytes, asked for rising positions unless `seekable`. emit(text): takes the lines, in order.
    size: of the source, where it is known; a small one is not worth other threads.
    """
    if workers is None:
        workers = 0 if not seekable or (size is not None and size < 4 * PIECE_BYTES) else os.cpu_count() or 1
    sweep = Sweep(
        read, emit, full, min(workers, MOST_WORKERS), lambda: new_writer(record, payloads, positions), progress
    )
    try:
        return sweep.run()
    finally:
        sweep.stop()


class Sweep:
    def __init__(
        self,
        read: ReadInto,
        emit: Emit,
        full: bool,
        workers: int,
        writer: Callable[[], core.BatchText],
        progress: Callable[[int], None] | None,
    ) -> None:
        self.read, self.emit, self.full, self.new_writer = read, emit, full, writer
        self.progress = progress
        self.spare: list[bytearray] = []
        self.writers: list[core.BatchText] = []
        self.jobs: deque[Job] = deque()
        self.tasks: SimpleQueue[Job | None] = SimpleQueue()
        self.limit = workers
        self.threads: list[threading.Thread] = []
        self.findings = Findings()

    def run(self) -> Findings:
        pieces = self.cut(0)
        wish: Wish = None
        while True:
            piece = self.next_piece(pieces, wish)
            wish = None
            if piece is not None:
                self.submit(piece)
            if len(self.jobs) > self.limit or piece is None:
                if not self.jobs:
                    break
                job = self.finish()
                if job.more or job.resume != job.piece.base + job.piece.stop:
                    pieces, wish = self.turn_back(pieces, job)
        self.findings.problems.sort()
        return self.findings

    def cut(self, position: int, piece_bytes: int = PIECE_BYTES) -> Generator[Piece, Wish, None]:
        return cut_pieces(self.read, position, piece_bytes, self.spare if self.limit else None)

    @staticmethod
    def next_piece(pieces: Generator[Piece, Wish, None], wish: Wish) -> Piece | None:
        try:
            return next(pieces) if wish is None else pieces.send(wish)
        except StopIteration:
            return None

    def submit(self, piece: Piece) -> None:
        job = Job(piece, self.writers.pop() if self.writers else self.new_writer())
        self.jobs.append(job)
        if self.limit < 2:
            job.work(self.full)
            return
        if len(self.threads) < self.limit:
            self.threads.append(threading.Thread(target=self.labour, daemon=True))
            self.threads[-1].start()
        self.tasks.put(job)

    def labour(self) -> None:
        while job := self.tasks.get():
            job.work(self.full)

    def finish(self) -> Job:
        """The oldest job's lines written, its buffers free again."""
        job = self.jobs.popleft()
        job.done.acquire()
        if job.error is not None:
            raise job.error
        self.emit(job.writer.text())
        self.findings.gather(job.writer)
        self.findings.damages += job.damages
        self.release(job)
        if self.progress is not None:
            self.progress(job.resume)
        return job

    def release(self, job: Job) -> None:
        job.writer.clear()
        self.writers.append(job.writer)
        if self.limit:
            self.spare.append(job.piece.data)

    def turn_back(self, pieces: Generator[Piece, Wish, None], job: Job) -> tuple[Generator[Piece, Wish, None], Wish]:
        """Go on where that job stopped: what was guessed behind it is thrown away."""
        if not self.limit:
            return pieces, (job.resume, job.more)
        while self.jobs:
            late = self.jobs.popleft()
            late.done.acquire()
            late.writer.take_findings()
            self.release(late)
        pieces.close()
        wider = 2 * len(job.piece.data) if job.more else PIECE_BYTES
        return self.cut(job.resume, wider), None

    def stop(self) -> None:
        for _ in self.threads:
            self.tasks.put(None)
