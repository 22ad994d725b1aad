"""`kcli decode batch` and `kcli decode segment`."""

from __future__ import annotations

import os
import sys

import click

from kcli.cli.console import open_output, progress
from kcli.cli.inputs import binary_input, name_of, read_bytes
from kcli.errors import InputError

__all__ = ["batch", "segment"]


@click.command()
@click.argument("file", default="-")
@binary_input
def batch(file: str, hex_: bool, base64_: bool) -> None:
    """Decode record batches."""
    from kcli.records.text import Findings, batches_json

    data = read_bytes(file, hex_, base64_)
    sys.stdout.buffer.write(batches_json(data, "full", Findings()))


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--records", type=click.Choice(["none", "batches", "full"]), default="batches")
@click.option("--format", "format_", default="jsonl")
@click.option("-o", "output", default=None)
@click.option("--quiet", is_flag=True)
@click.option("--workers", type=int)
def segment(files: tuple[str, ...], records: str, format_: str, output: str | None, quiet: bool, workers: int) -> None:
    """Decode log segments."""
    from kcli.records.sweep import sweep_lines

    with open_output(output) as out:
        for file in files:
            fd = os.open(file, os.O_RDONLY)
            with progress(os.fstat(fd).st_size, file, quiet) as bar:
                found = sweep_lines(
                    lambda view, at: os.preadv(fd, [view], at), out.write, records == "full", progress=bar, workers=workers
                )
            os.close(fd)
            if found.damaged:
                problem = found.problems[0] if found.problems else found.damages[0] if found.damages else "crc"
                raise InputError(str(problem), file=name_of(file))
