"""`kcli decode pcap`: what was said in captures of Kafka's traffic."""

from __future__ import annotations

import sys
from typing import Any

import click

from kcli.capture.exchanges import Source
from kcli.cli.inputs import schema_option

__all__ = ["pcap"]


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--port",
    "ports",
    type=click.IntRange(1, 65535),
    multiple=True,
    metavar="N",
    help="A server's port; others are left out.",
)
@click.option("--format", "format_", type=click.Choice(["table", "jsonl", "tree", "parquet"]), default="table")
@click.option("--records", type=click.Choice(["none", "batches", "full", "raw"]), default="none")
@schema_option
def pcap(files: tuple[str, ...], **options: Any) -> None:
    """Decode captures."""
    source = Source(files, ports=options["ports"], dialect=options["dialect"], records=options["records"], text=True)
    source.lines(sys.stdout.buffer.write)
