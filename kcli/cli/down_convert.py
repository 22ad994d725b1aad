"""`kcli down-convert`: converts record batches for consumers that are too old for them."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kcli.cli.decode.batch_sources import segments_in
from kcli.cli.options.file_type import refuse_other_files
from kcli.cli.options.inputs import Size, files_argument, format_option, quiet_option
from kcli.cli.terminal.console import progress, warn
from kcli.cli.terminal.lines import print_line
from kcli.cli.terminal.output import one_form_output_option, open_output
from kcli.cli.terminal.streams import standard_input
from kcli.core.records.batches import HEADER_SIZE, LENGTH_END, MAGIC_AT
from kcli.counting import counted
from kcli.endless import refuse_endless
from kcli.errors import InputError, UsageError
from kcli.input_names import name_of
from kcli.jsontext import dumps
from kcli.whole_file import WholeFile

if TYPE_CHECKING:
    from kcli.records.conversion import Slice

# A pipe's size, as long as it is unknown.
UNKNOWN_SIZE = 1 << 62
LARGEST_OFFSET = (1 << 63) - 1
LARGEST_MARKER = 4096  # bytes read of a control batch; a transaction marker has about 80


@dataclass(frozen=True, kw_only=True)
class ConversionOptions:
    """The options of `kcli down-convert`."""

    to_magic: int
    output: str | None
    chunk_size: int
    fetch_size: int | None
    first_offset: int
    tail: str
    plan: bool
    format_: str
    quiet: bool


@click.command()
@files_argument("FILE|DIR...", expand=segments_in)
@click.option("--to-magic", type=click.IntRange(0, 1), required=True, help="The message format to convert to.")
@one_form_output_option
@click.option(
    "--chunk-size", type=Size(), default="128k", show_default=True, help="Bytes of whole batches to convert at a time."
)
@click.option(
    "--fetch-size", type=Size(), help="Write the bytes that a broker sends for one partition of a fetch of N bytes."
)
@click.option("--first-offset", type=int, default=0, help="Start at the batch that contains this offset.")
@click.option(
    "--tail",
    type=click.Choice(["kafka", "kip"]),
    default="kafka",
    show_default=True,
    help="With --fetch-size: cut and pad the end as Kafka does, or as KIP-283's text says.",
)
@click.option("--plan", is_flag=True, help="Report the results and cost of the conversion without converting.")
@format_option(
    ("table", "json"), "The format of --plan's output; json: an object for each file.", default="table", paged=False
)
@quiet_option("No progress, no warnings.")
def down_convert(files: tuple[str, ...], **values: Any) -> None:
    """Convert record batches to magic 0 or 1 (KIP-283), as brokers up to 3.9 do for old consumers.

    FILE: a log segment, or record batches as in a fetch response; - is standard input; DIR: a partition's folder, whose
    segments (*.log) are converted one after another. The whole input is converted; with --fetch-size, only the bytes
    that a broker would send. Offsets and compression stay; headers and control batches are dropped. zstd is refused,
    because magic 0 and 1 do not support it. Records of aborted transactions become normal records, because old formats
    can't mark them. --plan shows the number of each, and the exit code of the conversion.

    \b
    kcli down-convert data/orders-0 --to-magic 1 -o old.log
    kcli down-convert data/orders-0 --to-magic 0 --plan
    """
    options = ConversionOptions(**values)
    if options.chunk_size < 1:
        raise UsageError("--chunk-size: 1 byte or more expected")
    options = replace(options, first_offset=max(min(options.first_offset, LARGEST_OFFSET), 0))
    refuse_other_files(files, "no record batches")
    if options.plan:
        print_plan(files, options)
        return
    if options.output is None and sys.stdout.isatty():
        raise UsageError("the output is binary, and standard output a terminal: -o OUT expected")
    with open_output(options.output, files) as out:
        for file in files:
            try:
                with ExitStack() as stack:
                    if options.fetch_size is not None:
                        write_answer(out, open_source(file, stack, whole=True), options.fetch_size, options)
                    else:
                        convert_file(out, file, open_source(file, stack), options)
            except InputError as error:
                out.flush()
                raise error.within(name_of(file)) from None


def open_source(file: str, stack: ExitStack, whole: bool = False) -> Slice:
    """Open a file or standard input; `whole`: its size must be known, so a pipe is read to its end.

    Raises InputError.
    """
    from kcli.records.conversion import Slice

    if file == "-":
        if whole:
            return Slice.of(sys.stdin.buffer.read())
        return Slice(lambda into, _position: standard_input().readinto1(into), 0, UNKNOWN_SIZE)
    refuse_endless(file)
    handle = stack.enter_context(WholeFile(file)).fileno()
    status = os.fstat(handle)
    if stat.S_ISDIR(status.st_mode):
        raise InputError("a directory: a log segment expected")
    if not stat.S_ISREG(status.st_mode):
        with open(handle, "rb", closefd=False) as pipe:
            return Slice.of(pipe.read())
    return Slice(lambda into, position: os.preadv(handle, [into], position), 0, status.st_size)


def convert_file(out: BinaryIO, file: str, source: Slice, options: ConversionOptions) -> None:
    from kcli.records.conversion import Conversion
    from kcli.records.fetching import cut_slice

    if options.first_offset > 0 and source.size < UNKNOWN_SIZE:
        source = cut_slice(source, source.size, options.first_offset)
    conversion = Conversion(source, options.to_magic, options.first_offset, options.chunk_size)
    with progress(source.size if source.size < UNKNOWN_SIZE else None, file, options.quiet) as bar:
        try:
            for chunk in conversion.chunks():
                out.write(chunk)
                bar(conversion.position - source.start)
        except InputError:
            out.write(conversion.converter.text())
            raise
    if conversion.trailing and conversion.position == source.start:
        raise InputError(f"no record batches: {conversion.trailing}")
    if conversion.trailing:
        warn(f"{name_of(file)}: {conversion.trailing}", options.quiet)


def write_answer(out: BinaryIO, source: Slice, fetch_size: int, options: ConversionOptions) -> None:
    from kcli.records.fetching import FetchSend, cut_slice

    part = cut_slice(source, fetch_size, options.first_offset)
    for sent in FetchSend(part, options.to_magic, options.first_offset, options.chunk_size, options.tail):
        out.write(sent)


def print_plan(files: tuple[str, ...], options: ConversionOptions) -> None:
    """Print what each conversion would cost. Sizes of compressed batches after it are estimates, by their present
    ratio.
    """
    rows = []
    for file in files:
        with ExitStack() as stack:
            try:
                rows.append(plan_file(file, open_source(file, stack, whole=True), options))
            except InputError as error:
                raise error.within(name_of(file)) from None
    if options.format_ == "json":
        for row in rows:
            print_line(dumps(row))
    for row in rows if options.format_ != "json" else ():
        print_line(
            f"{row['file']}: {row['bytesBefore']:,} bytes -> {row['bytesAfter']:,} in magic {options.to_magic}"
            f"{' (estimated)' if row['estimated'] else ''}, {counted(row['records'], 'record')} converted"
        )
        print_line(
            f"  memory at most {row['peakBytesChunked']:,} bytes in chunks of {options.chunk_size:,}, "
            f"{row['peakBytesWhole']:,} without"
        )
        print_line(f"  {counted(row['recordsLosingHeaders'], 'record loses its', 'records lose their')} headers")
        control_batches, plain = row["controlBatchesDropped"], row["abortedRecordsPlain"]
        dropped = f"{counted(control_batches, 'control batch', 'control batches')} dropped"
        print_line(f"  {dropped}, {counted(plain, 'aborted record becomes', 'aborted records become')} plain")
        if row["refused"]:
            print_line(f"  stops: {row['refused']} (the conversion's exit code is {row['exit']})")


def plan_file(file: str, source: Slice, options: ConversionOptions) -> dict[str, Any]:
    """Convert without writing. Return the result's bytes, records and losses, and the most bytes that a broker holds at
    once.
    """
    from kcli.records.conversion import Conversion, UnsupportedCompressionError
    from kcli.records.fetching import cut_slice

    first_offset = options.first_offset
    part = cut_slice(source, source.size, first_offset) if first_offset > 0 else source
    conversion = Conversion(part, options.to_magic, first_offset, options.chunk_size, counting=True)
    refused = None
    try:
        for _ in conversion.chunks():
            pass
    except UnsupportedCompressionError as error:
        refused = str(error)
    counts = conversion.converter
    dropped, plain = transactions_lost(part)
    return {
        "file": name_of(file),
        "toMagic": options.to_magic,
        "bytesBefore": part.size,
        "bytesAfter": counts.planned,
        "estimated": counts.estimated,
        "records": counts.records,
        "recordsLosingHeaders": counts.headers_lost,
        "controlBatchesDropped": dropped,
        "abortedRecordsPlain": plain,
        "chunkBytes": options.chunk_size,
        "peakBytesChunked": conversion.most_held,
        "peakBytesWhole": part.size + counts.planned,
        "refused": refused,
        "exit": 0 if refused is None else InputError.exit_code,
    }


def transactions_lost(source: Slice) -> tuple[int, int]:
    """Count the control batches, and the records of transactions that they abort, by the batches' headers."""
    from kcli.records.batches import CONTROL, TRANSACTIONAL

    head, position = bytearray(HEADER_SIZE), source.start
    controls = aborted = 0
    pending: dict[int, int] = {}  # producer id -> records of its open transaction
    while (have := source.read_at(memoryview(head), position)) > MAGIC_AT:
        size = LENGTH_END + int.from_bytes(head[LENGTH_END - 4 : LENGTH_END], signed=True)
        if size <= LENGTH_END or (head[MAGIC_AT] == 2 and have < HEADER_SIZE):
            break
        if head[MAGIC_AT] == 2:
            attributes, producer = int.from_bytes(head[21:23]), int.from_bytes(head[43:51], signed=True)
            if attributes & CONTROL:
                controls += 1
                records = pending.pop(producer, 0)
                aborted += records if is_abort(source, position, size) else 0
            elif attributes & TRANSACTIONAL:
                pending[producer] = pending.get(producer, 0) + int.from_bytes(head[57:61], signed=True)
        position += size
    return controls, aborted


def is_abort(source: Slice, position: int, size: int) -> bool:
    """Return whether a control batch aborts a transaction."""
    from kcli.records.batches import scan

    data = bytearray(min(size, LARGEST_MARKER))
    have = source.read_at(memoryview(data), position)
    keys = (record.key for batch in scan(bytes(data[:have])) for record in batch.records())
    return any(key is not None and key[2:4] == b"\0\0" for key in keys)
