"""`kcli capture`: packets off an interface, shown as they come, and saved."""

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

from kcli.cli.capture.flight_recorder import FlightRecorder
from kcli.cli.capture.live_findings import finder, findings_option
from kcli.cli.capture.live_output import open_live_output, tell_next
from kcli.cli.capture.live_traces import tracer
from kcli.cli.capture.live_view import LiveView, view_of, view_options
from kcli.cli.capture.packet_capture import PacketCapture, capture_words
from kcli.cli.capture.ring import ring_options, take_ring, watch
from kcli.cli.options.filter import FilterCommand
from kcli.cli.options.inputs import key_log_option, port_option, quiet_option
from kcli.cli.options.metrics import metrics_option, metrics_socket
from kcli.cli.options.traces import traces_option
from kcli.cli.terminal.lines import print_note
from kcli.errors import InputError, UsageError


@click.command(cls=FilterCommand)
@click.option("-i", "--interface", metavar="IFACE", default="any", show_default=True, help="The network interface.")
@port_option
@click.option(
    "--host", "hosts", multiple=True, metavar="HOST", help="Only packets of this host or network; repeatable."
)
@click.option(
    "-o", "--output", metavar="OUT", help="Save the packets in OUT, a pcap file; with --last or --size, a directory."
)
@click.option("--overwrite", is_flag=True, help="Replace an existing OUT.")
@ring_options
@findings_option
@metrics_option
@traces_option
@key_log_option
@view_options
@quiet_option("No closing summary; rows only with --format.")
def capture(
    interface: str,
    hosts: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    findings: bool,
    metrics: str | None,
    traces: str | None,
    **options: Any,
) -> None:
    """Capture Kafka's traffic on an interface, until Ctrl-C, and show it as `kcli decode pcap` does.

    kcli runs tcpdump or dumpcap, which needs permission to capture (root, or the capability CAP_NET_RAW). It captures
    all TCP packets, or those of --port and --host. With --last or --size OUT is a flight recorder: a directory of
    files, in which new files replace the oldest. --when saves the packets before and after each matching exchange in a
    separate directory.

    \b
    kcli capture -i eth0 --port 9092 --errors
    kcli capture --port 9092 -o recorder --last 10m --quiet
    """
    quiet = options.pop("quiet")
    ring = take_ring(options, output)
    if output and not ring.keeps and not overwrite and Path(output).is_file() and Path(output).stat().st_size:
        raise UsageError(f"-o {output}: exists already (--overwrite replaces it)")
    view = view_of(options, output, quiet=quiet)
    packets = PacketCapture(
        capture_words(interface, options["ports"], hosts), lambda count: tell_dropped(count, quiet, " so far")
    )
    with contextlib.ExitStack() as stack:
        served = stack.enter_context(metrics_socket(metrics, quiet=quiet)) if metrics else None
        found = (
            finder(options, view, shows_findings=findings, quiet=quiet, served=served) if findings or served else None
        )
        traced = tracer(options, traces) if traces else None
        kept = FlightRecorder(Path(str(output)), ring.last, ring.size) if ring.keeps else None
        out = stack.enter_context(open_live_output(output)) if output and not ring.keeps else None
        watcher = None
        if kept is not None:
            if ring.when is not None:
                watcher = watch(ring.when, options, kept.keep, lambda: kept.moments)
            kept.make_folder()
            stack.callback(kept.close)
        try:
            asyncio.run(run(packets, [view, watcher, found, traced], out, kept))
        finally:
            tell_dropped(packets.dropped, quiet)
    tell_next(output, quiet)


def tell_dropped(count: int, quiet: bool, when: str = "") -> None:
    """Write a line about packets that the kernel dropped."""
    if count and not quiet:
        remedy = "--port and --host capture fewer"
        print_note(f"kcli: the kernel dropped {count:,} packets{when} that came too fast ({remedy})")


async def run(
    packets: PacketCapture,
    lookers: Sequence[LiveView | None],
    out: BinaryIO | None,
    kept: FlightRecorder | None,
) -> None:
    """Capture until a signal, or until no output is open any more.

    lookers: the processes that read packets: the view, the watcher for --when, and others. Raises OSError if packets
    can't be saved. Raises InputError if the watcher has ended before.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, packets.stop)
    view, watcher, *_ = lookers
    views = [each for each in lookers if each is not None]
    async with contextlib.AsyncExitStack() as stack:
        pieces = await stack.enter_async_context(contextlib.aclosing(packets.pieces()))
        header = b""
        async for piece in pieces:
            data = piece.packets
            if not header:
                header = packets.reader.header
                data = header + data
                for each in views:
                    await stack.enter_async_context(each)
            for each in views:
                each.write(data)
            if out is not None:
                out.write(data)
                out.flush()
            if kept is not None and piece.packets:
                kept.write(header, piece)
            if watcher is not None and watcher.is_over:
                raise InputError("--when: the process that looks for such exchanges has ended, and so does the capture")
            if view is not None and view.is_over and out is None and kept is None:
                packets.stop()
