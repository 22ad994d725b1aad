"""`kcli produce`: writes records to a topic, from a file, standard input or made up, and prints latencies."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import random
import stat
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import click

from kcli.cli.cluster.record_lines import LONGEST_LINE as LONGEST_JSON
from kcli.cli.cluster.record_lines import LineSource, NewRecord, records_in
from kcli.cli.options.client import client_options, configure
from kcli.cli.options.inputs import check_files, format_option, quiet_option
from kcli.cli.options.payloads import encoder_of, encoding_options
from kcli.cli.terminal.console import is_terminal
from kcli.cli.terminal.lines import print_line, print_note
from kcli.client.cluster import Client
from kcli.client.producing.producer import DISCOVERIES, Producer
from kcli.client.producing.statistics import Statistics
from kcli.client.properties import ClientConfig
from kcli.errors import InputError, NetworkError, UsageError
from kcli.input_names import name_of
from kcli.jsontext import dumps
from kcli.records.codecs import CODECS

WINDOW_SECONDS = 5.0
MADE_UP = 1000
LONGEST_LINE = 64 << 20
PIECE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class ProduceOptions:
    """The options of `kcli produce`."""

    bootstrap: str | None
    settings: tuple[str, ...]
    num_records: int | None
    record_size: int
    throughput: float
    key_separator: str | None
    jsonl: bool
    partition: int | None
    acks: str | None
    compression: str | None
    discovery: str
    format_: str
    quiet: bool


@click.command()
@click.argument("topic")
@click.argument("file", required=False, metavar="[FILE]")
@client_options
@click.option("--num-records", type=click.IntRange(1), metavar="N", help="Generate N records instead of reading any.")
@click.option(
    "--record-size",
    type=click.IntRange(0),
    metavar="BYTES",
    default=100,
    show_default=True,
    help="With --num-records: the size of each value, in bytes.",
)
@click.option(
    "--throughput",
    type=float,
    default=-1,
    show_default=True,
    metavar="N",
    help="Maximum records per second; -1: no limit.",
)
@click.option("--key-separator", metavar="TEXT", help="Split each line at the first TEXT into key and value.")
@click.option("--jsonl", is_flag=True, help="Each line is a record, as `kcli records --format jsonl` prints it.")
@encoding_options
@click.option("--partition", type=click.IntRange(0), metavar="N", help="Send all records to this partition.")
@click.option("--acks", type=click.Choice(["all", "0", "1"]), help="Short for --config acks=...")
@click.option("--compression", type=click.Choice(CODECS), help="Short for compression.type.")
@click.option(
    "--leader-discovery",
    "discovery",
    type=click.Choice(DISCOVERIES),
    default="hints",
    show_default=True,
    help="When a leader has moved: follow the broker's hint at once (KIP-951), or back off and refresh metadata.",
)
@format_option(
    ("text", "json"), "The figures at the end: a line of text, or one JSON object.", default="text", paged=False
)
@quiet_option("No progress figures.")
def produce(topic: str, file: str | None, **values: Any) -> None:
    """Write records to TOPIC: the lines of FILE (- or none: standard input), or --num-records generated ones.

    The producer is idempotent unless acks or the configuration disable it; set linger.ms, batch.size, compression.type
    and so on by --config. At the end kcli prints rates and latency percentiles in the form of kafka-producer-perf-test.

    With --jsonl a line has key, value, headers, timestamp and partition (--partition overrides it); its topic is
    ignored. If schemas or formats are given, kcli encodes _key and _value with them, otherwise it writes key and value
    unchanged.

    \b
    echo hello | kcli produce greetings --bootstrap localhost:9092
    kcli produce load --bootstrap localhost:9092 --num-records 100000 --record-size 100
    kcli records night.pcap --topic orders --format jsonl | kcli produce orders-2 --jsonl --bootstrap localhost:9092
    """
    names = {each.name for each in fields(ProduceOptions)}
    options = ProduceOptions(**{name: value for name, value in values.items() if name in names})
    encoder = encoder_of({name: value for name, value in values.items() if name not in names})
    short = (("acks", options.acks), ("compression.type", options.compression))
    settings = [f"{name}={value}" for name, value in short if value]
    config = configure(options.bootstrap, (*options.settings, *settings), quiet=options.quiet)
    if options.num_records is not None and file is not None:
        raise UsageError("--num-records generates records: no FILE expected")
    if options.jsonl and (options.num_records is not None or options.key_separator is not None):
        raise UsageError("--jsonl: lines that are records; no --num-records, no --key-separator")
    if encoder is not None and not options.jsonl:
        raise UsageError("schemas and formats of keys and values are for lines of JSON (--jsonl)")
    if options.throughput == 0:
        raise UsageError("--throughput 0: records a second, or -1 for no limit")
    check_files([file or "-"])
    if options.num_records is not None:
        asyncio.run(run(config, topic, made_up(options.num_records, options.record_size), None, options))
        return
    with contextlib.ExitStack() as closing:
        source = sys.stdin.buffer if file in (None, "-") else closing.enter_context(Path(file).open("rb"))
        name = name_of(file or "-")
        coming = arriving(source, LONGEST_JSON if options.jsonl else LONGEST_LINE)
        stream = source if coming is None else coming
        records: Iterable[NewRecord | None] = (
            records_in(stream, name, topic, encoder) if options.jsonl else pairs(stream, name, options.key_separator)
        )
        asyncio.run(run(config, topic, records, coming, options))


async def run(
    config: ClientConfig,
    topic: str,
    records: Iterable[NewRecord | None],
    coming: ArrivingLines | None,
    options: ProduceOptions,
) -> None:
    async with Client(config) as client:
        producer = Producer(client, topic, discovery=options.discovery)
        start = time.perf_counter()
        watching: asyncio.Task[None] | None = None
        try:
            async with producer:
                check_partition(options.partition, producer)
                start = time.perf_counter()
                if not options.quiet and is_terminal(sys.stderr):
                    watching = asyncio.create_task(watch(producer.statistics))
                await send_all(producer, records, coming, options.throughput, options.partition)
        finally:
            if watching is not None:
                watching.cancel()
            show(producer.statistics, time.perf_counter() - start, options.format_)


def check_partition(partition: int | None, producer: Producer, option: str = "--partition") -> None:
    have = producer.partitioner.partitions
    if partition is not None and partition >= have:
        raise NetworkError(f"{option} {partition}: topic {producer.topic} has {have} (0 to {have - 1})")


async def send_all(
    producer: Producer,
    records: Iterable[NewRecord | None],
    coming: ArrivingLines | None,
    throughput: float,
    partition: int | None,
) -> None:
    """Pass on every record, at the chosen rate. coming: the lines of these records, if they arrive over time."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    each, number = iter(records), -1
    while True:
        if coming is not None and not coming.is_ready:
            await coming.wait()
        try:
            record = next(each)
        except StopIteration:
            return
        if record is None:
            continue
        number += 1
        if throughput > 0:
            ahead = start + number / throughput - loop.time()
            if ahead > 0.001:
                await asyncio.sleep(ahead)
        elif not number & 0xFF:
            await asyncio.sleep(0)
        where = record.partition if partition is None else partition
        check_partition(where, producer, "partition")
        await producer.send(record.key, record.value, where, timestamp=record.timestamp, headers=record.headers)


def made_up(count: int, size: int) -> Iterator[NewRecord]:
    """Yield values of capital letters, as kafka-producer-perf-test does: a thousand different ones, repeated."""
    chance = random.Random(0)
    letters = bytes(range(ord("A"), ord("Z") + 1))
    values = [bytes(chance.choices(letters, k=size)) for _ in range(min(MADE_UP, count))]
    for number in range(count):
        yield NewRecord(None, values[number % len(values)])


def pairs(stream: LineSource, name: str, separator: str | None) -> Iterator[NewRecord]:
    mark = separator.encode() if separator else None
    number = 0
    while line := stream.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise InputError(f"line {number}: longer than {LONGEST_LINE} bytes", file=name)
        value = line.removesuffix(b"\n")
        if mark is None:
            yield NewRecord(None, value)
            continue
        key, found, value = value.partition(mark)
        if not found:
            raise InputError(f"line {number}: no {separator!r} in it (--key-separator)", file=name)
        yield NewRecord(key, value)


async def watch(statistics: Statistics) -> None:
    """Print statistics of the last interval every few seconds."""
    before = 0
    while True:
        await asyncio.sleep(WINDOW_SECONDS)
        done = statistics.records - before
        before = statistics.records
        print_note(
            f"{done} records sent, {done / WINDOW_SECONDS:.1f} records/sec, {statistics.average():.1f} ms avg latency, "
            f"{statistics.latencies.most / 1e6:.1f} ms max latency, {statistics.retries} retries."
        )


def show(statistics: Statistics, seconds: float, format_: str) -> None:
    seconds = max(seconds, 1e-9)
    print_line(dumps(statistics.as_dict(seconds)) if format_ == "json" else statistics.line(seconds))


class ArrivingLines:
    """A stream of lines that an event loop waits for before it reads. longest: most bytes of a line to wait for."""

    def __init__(self, handle: int, longest: int) -> None:
        self.handle, self.longest = handle, longest
        self.whole: deque[bytes] = deque()
        self.rest: list[bytes] = []  # parts of a line without its end
        self.held = 0  # bytes of that line
        self.ended = False

    @property
    def is_ready(self) -> bool:
        """Return whether `readline` has something to return at once."""
        return bool(self.whole) or self.ended or self.held >= self.longest

    async def wait(self) -> None:
        """Wait for a whole line, for `longest` bytes, or for the end."""
        loop = asyncio.get_running_loop()
        while not self.is_ready:
            readable = asyncio.Event()
            loop.add_reader(self.handle, readable.set)
            try:
                await readable.wait()
            finally:
                loop.remove_reader(self.handle)
            self.read()

    def readline(self, most: int) -> bytes:
        """Return the next line with its line end, at most `most` bytes of it; empty at the end of the stream."""
        while not self.is_ready and self.held < most:
            self.read()
        if self.whole:
            return self.whole.popleft()[:most]
        line = b"".join(self.rest)[:most]
        self.rest, self.held = [], 0
        return line

    def read(self) -> None:
        """Read the bytes that are there; wait if there are none."""
        data = os.read(self.handle, PIECE)
        first, *more = data.split(b"\n")
        self.ended = not data
        if not more:
            self.rest.append(first)
            self.held += len(first)
            return
        self.whole.append(b"".join([*self.rest, first, b"\n"]))
        self.whole.extend(line + b"\n" for line in more[:-1])
        self.rest, self.held = [more[-1]], len(more[-1])


def arriving(stream: BinaryIO, longest: int) -> ArrivingLines | None:
    """Wrap a stream whose reader may have to wait. Returns None for a file, or a stream within this process. longest:
    the most bytes of a line to wait for.
    """
    try:
        handle = stream.fileno()
    except io.UnsupportedOperation:
        return None
    mode = os.fstat(handle).st_mode
    waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(handle)
    return ArrivingLines(handle, longest) if waits else None
