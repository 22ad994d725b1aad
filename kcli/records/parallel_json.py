"""Writes a whole source as JSON lines: decodes its parts in parallel, writes them in order.

A file is read by stripes while its batches are sound; after damage, and for other inputs, by chunks. The end of a chunk
is a guess from the size fields. If damage makes a chunk end elsewhere, the chunks after it are dropped and read again
from there.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from mmap import mmap
from queue import SimpleQueue

from kcli.core.records import batches as core
from kcli.records.chunks import CHUNK_BYTES, Chunk, ReadInto, Wish, cut_chunks
from kcli.records.damage import Damage
from kcli.records.parallel_checksums import STRIPE_BYTES, Stripe, new_buffer
from kcli.records.text import Findings, Hook, drop_findings, new_writer, write_chunk

MOST_WORKERS = 8
Emit = Callable[[memoryview], object]


class Job:
    """A chunk in work. done: locked until the chunk is decoded."""

    __slots__ = ("chunk", "damages", "done", "error", "more", "resume", "writer")

    def __init__(self, chunk: Chunk, writer: core.BatchText) -> None:
        self.chunk, self.writer = chunk, writer
        self.damages: list[Damage] = []
        self.resume, self.more = 0, False
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def work(self, full: bool) -> None:
        try:
            self.resume, self.more = write_chunk(self.writer, self.chunk, full, True, self.damages)
        except BaseException as error:  # noqa: BLE001  raised again in the thread that waits
            self.error = error
        self.done.release()


@dataclass(frozen=True, slots=True)
class LineForm:
    """The form of lines.

    full: with the records of each batch; record: decodes records further; payloads: add what an exact encode needs;
    positions: add each batch's position; secrets: show them; metadata: the source is Kafka's metadata log
    """

    full: bool
    record: Hook | None = None
    payloads: bool = False
    positions: bool = False
    secrets: bool = False
    metadata: bool = False

    def new_writer(self) -> core.BatchText:
        """Return a new writer of such lines."""
        return new_writer(self.record, self.payloads, self.positions, self.secrets, metadata=self.metadata)


def write_json_lines(
    read: ReadInto,
    emit: Emit,
    form: LineForm,
    *,
    seekable: bool = True,
    progress: Callable[[int], None] | None = None,
    size: int | None = None,
    workers: int | None = None,
) -> Findings:
    """Write each batch of a source as a line of JSON; memory does not grow with the source.

    read(into, position): returns the number of bytes read; positions rise unless `seekable`. emit(text): takes the
    lines, in order. size: of the source in bytes, if known; a small one is decoded without other threads.
    """
    if workers is None:
        workers = 0 if not seekable or (size is not None and size < 4 * CHUNK_BYTES) else os.cpu_count() or 1
    workers = min(workers, MOST_WORKERS)
    running = ParallelWriter(read, emit, form, workers, progress)
    try:
        return running.run(size if workers > 1 and size is not None else 0)
    finally:
        running.stop()


class ParallelWriter:
    """Writes the lines of a source, with up to `workers` threads."""

    def __init__(
        self, read: ReadInto, emit: Emit, form: LineForm, workers: int, progress: Callable[[int], None] | None
    ) -> None:
        self.read, self.emit, self.form, self.progress = read, emit, form, progress
        self.spare: list[bytearray] = []
        self.writers: list[core.BatchText] = []
        self.jobs: deque[Job] = deque()
        self.stripes: deque[Stripe] = deque()
        self.stripe_buffers: list[mmap] = []
        self.tasks: SimpleQueue[Job | Stripe | None] = SimpleQueue()
        self.limit = workers
        self.threads: list[threading.Thread] = []
        self.findings = Findings()

    def run(self, size: int = 0) -> Findings:
        """Write the lines of the source. size: the number of bytes that may be read by stripes."""
        chunks = self.cut(self.run_stripes(size))
        wish: Wish = None
        while True:
            chunk = self.next_chunk(chunks, wish)
            wish = None
            if chunk is not None:
                self.submit(chunk)
            if len(self.jobs) > self.limit or chunk is None:
                if not self.jobs:
                    break
                job = self.finish()
                if job.more or job.resume != job.chunk.base + job.chunk.stop:
                    chunks, wish = self.turn_back(chunks, job)
        self.findings.problems.sort()
        return self.findings

    def run_stripes(self, size: int) -> int:
        """Write the sound batches at the start of the source. Returns the position where they end."""
        base = resume = 0
        while self.stripes or base < size:
            if base < size:
                self.submit_stripe(base)
                base += STRIPE_BYTES
            if len(self.stripes) > self.limit or base >= size:
                stripe = self.stripes.popleft()
                stripe.done.acquire()
                if stripe.unsound:
                    self.drop_stripes(stripe)
                    break
                self.finish_stripe(stripe)
                resume = stripe.end
        self.stripe_buffers.clear()
        return resume

    def finish_stripe(self, stripe: Stripe) -> None:
        if stripe.error is not None:
            raise stripe.error
        self.write_out(stripe.writer)
        self.stripe_buffers.append(stripe.data)
        if self.progress is not None:
            self.progress(stripe.end)

    def submit_stripe(self, base: int) -> None:
        data = self.stripe_buffers.pop() if self.stripe_buffers else new_buffer(2 * STRIPE_BYTES)
        before = self.stripes[-1] if self.stripes else None
        self.stripes.append(Stripe(self.read, base, STRIPE_BYTES, data, self.take_writer(), before))
        self.hand_over(self.stripes[-1])

    def drop_stripes(self, unsound: Stripe) -> None:
        """Drop this stripe and all after it."""
        for stripe in self.stripes:
            stripe.done.acquire()
        for stripe in (unsound, *self.stripes):
            drop_findings(stripe.writer)
            self.free(stripe.writer)
        self.stripes.clear()

    def cut(self, position: int, chunk_bytes: int = CHUNK_BYTES) -> Generator[Chunk, Wish, None]:
        return cut_chunks(self.read, position, chunk_bytes, self.spare if self.limit else None)

    @staticmethod
    def next_chunk(chunks: Generator[Chunk, Wish, None], wish: Wish) -> Chunk | None:
        try:
            return next(chunks) if wish is None else chunks.send(wish)
        except StopIteration:
            return None

    def submit(self, chunk: Chunk) -> None:
        job = Job(chunk, self.take_writer())
        self.jobs.append(job)
        if self.limit < 2:
            job.work(self.form.full)
        else:
            self.hand_over(job)

    def take_writer(self) -> core.BatchText:
        return self.writers.pop() if self.writers else self.form.new_writer()

    def hand_over(self, job: Job | Stripe) -> None:
        if len(self.threads) < self.limit:
            self.threads.append(threading.Thread(target=self.labour, daemon=True))
            self.threads[-1].start()
        self.tasks.put(job)

    def labour(self) -> None:
        while job := self.tasks.get():
            job.work(self.form.full)

    def finish(self) -> Job:
        """Write the oldest job's lines, free its buffers, and return the job."""
        job = self.jobs.popleft()
        job.done.acquire()
        if job.error is not None:
            raise job.error
        self.write_out(job.writer)
        self.findings.damages += job.damages
        if self.limit:
            self.spare.append(job.chunk.data)
        if self.progress is not None:
            self.progress(job.resume)
        return job

    def write_out(self, writer: core.BatchText) -> None:
        self.emit(writer.text())
        self.findings.gather(writer)
        self.free(writer)

    def free(self, writer: core.BatchText) -> None:
        writer.clear()
        self.writers.append(writer)

    def turn_back(self, chunks: Generator[Chunk, Wish, None], job: Job) -> tuple[Generator[Chunk, Wish, None], Wish]:
        """Resume where this job stopped, and drop the jobs after it, which began at a wrong position."""
        if not self.limit:
            return chunks, (job.resume, job.more)
        while self.jobs:
            late = self.jobs.popleft()
            late.done.acquire()
            drop_findings(late.writer)
            self.free(late.writer)
            self.spare.append(late.chunk.data)
        chunks.close()
        wider = 2 * len(job.chunk.data) if job.more else CHUNK_BYTES
        return self.cut(job.resume, wider), None

    def stop(self) -> None:
        for _ in self.threads:
            self.tasks.put(None)
