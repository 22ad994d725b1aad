"""`kcli produce`: records from a file, standard input or made up, to a topic; latencies at the end."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import click

from kcli.cli.options.client import client_options, configure
from kcli.cli.options.inputs import check_files, format_option, quiet_option
from kcli.cli.terminal.console import is_terminal
from kcli.cli.terminal.lines import print_line, print_note
from kcli.client.cluster import Client
from kcli.client.producing.producer import DISCOVERIES, Producer
from kcli.client.producing.statistics import Statistics
from kcli.client.properties import ClientConfig
from kcli.errors import InputError, NetworkError, UsageError
from kcli.jsontext import dumps

Pair = tuple[bytes | None, bytes | None]
WINDOW_SECONDS = 5.0
MADE_UP = 1000
LONGEST_LINE = 64 << 20


@dataclass(frozen=True, kw_only=True)
class ProduceOptions:
    """The options of `kcli produce`."""

    bootstrap: str | None
    settings: tuple[str, ...]
    num_records: int | None
    record_size: int
    throughput: float
    key_separator: str | None
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
    help="Most records per second; -1: no limit.",
)
@click.option("--key-separator", metavar="TEXT", help="Split each line at the first TEXT into key and value.")
@click.option("--partition", type=click.IntRange(0), metavar="N", help="Send all records to this partition.")
@click.option("--acks", type=click.Choice(["all", "0", "1"]), help="Short for --config acks=...")
@click.option(
    "--compression", type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]), help="Short for compression.type."
)
@click.option(
    "--leader-discovery",
    "discovery",
    type=click.Choice(DISCOVERIES),
    default="hints",
    show_default=True,
    help="When a leader has moved: follow the broker's hint at once (KIP-951), or back off and refresh metadata.",
)
@format_option(
    ("text", "json"), "The figures at the end: a line to read, or one JSON object.", default="text", paged=False
)
@quiet_option("No figures on the way.")
def produce(topic: str, file: str | None, **given: Any) -> None:
    """Write records to TOPIC: the lines of FILE (- or none: standard input), or --num-records made up.

    Idempotent unless acks or the configuration say otherwise; linger.ms, batch.size, compression.type and the like are
    --config. It ends with rates and latency percentiles, as kafka-producer-perf-test prints them.

    \b
    echo hello | kcli produce greetings --bootstrap localhost:9092
    kcli produce load --bootstrap localhost:9092 --num-records 100000 --record-size 100
    """
    options = ProduceOptions(**given)
    short = (("acks", options.acks), ("compression.type", options.compression))
    settings = [f"{name}={value}" for name, value in short if value]
    config = configure(options.bootstrap, (*options.settings, *settings), quiet=options.quiet)
    if options.num_records is not None and file is not None:
        raise UsageError("--num-records generates records: no FILE expected")
    if options.throughput == 0:
        raise UsageError("--throughput 0: records a second, or -1 for no limit")
    check_files([file or "-"])
    if options.num_records is not None:
        records: Iterable[Pair] = made_up(options.num_records, options.record_size)
    else:
        records = lines(file or "-", options.key_separator)
    asyncio.run(run(config, topic, records, options))


async def run(config: ClientConfig, topic: str, records: Iterable[Pair], options: ProduceOptions) -> None:
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
                await send_all(producer, records, options.throughput, options.partition)
        finally:
            if watching is not None:
                watching.cancel()
            show(producer.statistics, time.perf_counter() - start, options.format_)


def check_partition(partition: int | None, producer: Producer) -> None:
    have = producer.partitioner.partitions
    if partition is not None and partition >= have:
        raise NetworkError(f"--partition {partition}: topic {producer.topic} has {have} (0 to {have - 1})")


async def send_all(producer: Producer, records: Iterable[Pair], throughput: float, partition: int | None) -> None:
    """Hand over every record, at the pace asked for."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    for number, (key, value) in enumerate(records):
        if throughput > 0:
            ahead = start + number / throughput - loop.time()
            if ahead > 0.001:
                await asyncio.sleep(ahead)
        elif not number & 0xFF:
            await asyncio.sleep(0)
        await producer.send(key, value, partition)


def made_up(count: int, size: int) -> Iterator[Pair]:
    """Yield values of capital letters, as kafka-producer-perf-test makes them; a thousand different ones, repeated."""
    chance = random.Random(0)
    letters = bytes(range(ord("A"), ord("Z") + 1))
    values = [bytes(chance.choices(letters, k=size)) for _ in range(min(MADE_UP, count))]
    for number in range(count):
        yield None, values[number % len(values)]


def lines(file: str, separator: str | None) -> Iterator[Pair]:
    """Yield a record for each line. Raises InputError for a line without its separator, or longer than any record may
    be.
    """
    if file == "-":
        yield from pairs(sys.stdin.buffer, "standard input", separator)
        return
    with Path(file).open("rb") as stream:
        yield from pairs(stream, file, separator)


def pairs(stream: BinaryIO, name: str, separator: str | None) -> Iterator[Pair]:
    mark = separator.encode() if separator else None
    number = 0
    while line := stream.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise InputError(f"line {number}: longer than {LONGEST_LINE} bytes", file=name)
        value = line.removesuffix(b"\n")
        if mark is None:
            yield None, value
            continue
        key, found, value = value.partition(mark)
        if not found:
            raise InputError(f"line {number}: no {separator!r} in it (--key-separator)", file=name)
        yield key, value


async def watch(statistics: Statistics) -> None:
    """Print a line every few seconds about the time since the last one."""
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
