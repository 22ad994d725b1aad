"""`kcli proxy`: a proxy before a Kafka cluster."""

from __future__ import annotations

import asyncio
import signal
import sys

import click

from kcli.cli.broker import allow_files
from kcli.cli.client_options import client_options, configure
from kcli.cli.inputs import dialect_option, quiet_option
from kcli.cli.lines import print_note
from kcli.client.address import Address
from kcli.errors import UsageError
from kcli.proxy import Proxy

__all__ = ["proxy"]

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@click.command()
@client_options
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:0",
    show_default=True,
    help="Where clients connect first; brokers have the ports behind it. Port 0: any free ones.",
)
@quiet_option("Print only the address.")
@dialect_option
def proxy(bootstrap: str | None, settings: tuple[str, ...], listen: str, quiet: bool, dialect: str | None) -> None:
    """Stand between clients and a Kafka cluster, until Ctrl-C.

    Clients whose bootstrap.servers is --listen reach every broker of the cluster through the proxy: each has a listener
    of its own, whose address stands in responses instead of the broker's. All else passes as it is, SASL, too. Once it
    listens, it prints `bootstrap.servers=HOST:PORT` on standard error.
    """
    config = configure(bootstrap, settings, quiet=quiet)
    host, port = listen_address(listen)
    made = Proxy(config, host=host, port=port, dialect=dialect, note=ignore if quiet else tell)
    asyncio.run(run(made))


def listen_address(text: str) -> Address:
    """HOST:PORT, an IPv6 host in brackets; without a host all addresses of the machine. UsageError."""
    host, colon, port = text.strip().rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not port.isdecimal() or int(port) >= 1 << 16 or (":" in bare) != (bare != host):
        raise UsageError(f"--listen {text}: HOST:PORT expected (an IPv6 host in brackets: [::1]:9192)")
    return Address(bare, int(port))


async def run(made: Proxy) -> None:
    """Serve until a signal says stop; a second one does not wait for requests under way."""
    allow_files()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in STOP_SIGNALS:
        loop.add_signal_handler(each, stopped.set)
    async with made:
        tell(f"bootstrap.servers={made.bootstrap}")
        await stopped.wait()
        for each in STOP_SIGNALS:
            loop.add_signal_handler(each, made.abort)


def tell(text: str) -> None:
    print_note(text)
    sys.stderr.flush()


def ignore(_text: str) -> None:
    pass
