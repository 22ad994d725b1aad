"""kcli snapshot create: a snapshot from a metadata log, as a controller would write it."""

import time
from pathlib import Path

import click

from kcli.calendar import now_ms
from kcli.cli.options.inputs import dialect_option, quiet_option
from kcli.cli.snapshot.files import place_snapshot
from kcli.cli.terminal.lines import print_line, print_note
from kcli.errors import InputError, UsageError
from kcli.snapshots.reading.api import Wanted, load_image
from kcli.snapshots.reading.files import metadata_directory
from kcli.snapshots.reading.names import SnapshotId


@click.command()
@click.option(
    "--log", required=True, metavar="DIR", help="The metadata log: the directory `__cluster_metadata-0`, or its parent."
)
@click.option("--snapshot", metavar="FILE", help="The snapshot to start from; by default the newest one in the log.")
@click.option(
    "--at-offset",
    type=click.IntRange(min=1),
    metavar="N",
    help="The end offset of the new snapshot; by default the log's end.",
)
@click.option("-o", "--output", metavar="DIR", help="The directory to write to; by default the log's.")
@click.option(
    "--max-batch-bytes",
    type=click.IntRange(min=1),
    default=8 << 20,
    show_default=True,
    help="Maximum bytes of a data batch.",
)
@click.option("--stats", is_flag=True, help="Print the KIP's metrics to standard error.")
@quiet_option("Print nothing but errors.")
@dialect_option
def create(  # noqa: PLR0913  the command's options
    log: str,
    snapshot: str | None,
    at_offset: int | None,
    output: str | None,
    max_batch_bytes: int,
    stats: bool,
    quiet: bool,
    dialect: str | None,
) -> int:
    """Write a snapshot of the state at an offset of a metadata log: `<offset>-<epoch>.checkpoint`.

    The offset is the first one that the snapshot does not contain. It must be between two batches and outside a
    metadata transaction, and should be at or below the high watermark, which no file records: choose an offset that is
    committed. The file is written under a temporary name, then renamed.

    \b
    kcli snapshot create --log __cluster_metadata-0 --at-offset 1600 -o snapshots/
    """
    from kcli.snapshots.writing.write import write_snapshot

    began = time.perf_counter()
    wanted = Wanted(snapshot or log, log, at_offset)
    loaded = load_image(wanted, dialect=dialect, strict=True)
    loader = loaded.loader
    if loader.split is not None:
        first, after = loader.split
        raise UsageError(f"--at-offset {at_offset} is inside a batch: {first} or {after} would not")
    if loader.held is not None:
        raise InputError(f"offset {loader.image.provenance.end_offset} is inside a metadata transaction", file=log)
    if not loader.image.provenance.end_offset:
        raise InputError("the log is empty: there is nothing to take a snapshot of", file=log)
    provenance = loader.image.provenance
    folder = Path(output) if output else metadata_directory(log)
    with place_snapshot(folder, SnapshotId(provenance.end_offset, provenance.epoch)) as (stream, path):
        written = write_snapshot(loader.image, stream.write, now_ms=now_ms(), most_batch=max_batch_bytes)
    if not quiet:
        print_line(str(path))
    if stats:
        took = (time.perf_counter() - began) * 1000
        print_note(f"SnapshotSizeBytes {written.size}  GenSnapshotLatencyMs {took:.1f}  records {written.records:,}")
    return 0
