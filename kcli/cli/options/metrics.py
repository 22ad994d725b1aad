"""--metrics HOST:PORT: figures of the traffic, for Prometheus."""

import socket

import click

from kcli.cli.options import Command
from kcli.cli.options.listen import listen_address
from kcli.cli.terminal.lines import print_note
from kcli.client.address import Address
from kcli.errors import UsageError
from kcli.extras import require

HANDED = "fd:"  # a socket that listens already, which this process was given


def metrics_option(command: Command) -> Command:
    """Add --metrics."""
    return click.option(
        "--metrics", metavar="HOST:PORT",
        help="Serve metrics of the traffic at this address, for Prometheus: /metrics, /healthz and /ready.",
    )(command)  # fmt: skip


def metrics_socket(text: str, *, quiet: bool = False) -> socket.socket:
    """Return the socket that --metrics names, and print where it listens, unless the process inherited it. Raises
    UsageError if the address is invalid, or a library is missing. Raises NetworkError if it can't listen there.
    """
    require("--metrics", "metrics")
    if text.startswith(HANDED):
        return handed_socket(text)
    host, port = listen_address("--metrics", text)
    from kcli.metrics.server import listening_socket

    made = listening_socket(host, port)
    if not quiet:
        print_note(f"metrics=http://{Address(host or '127.0.0.1', made.getsockname()[1])}/metrics")
    return made


def handed_socket(text: str) -> socket.socket:
    """Return the socket that this process inherited. Raises UsageError if it has no such socket."""
    try:
        made = socket.socket(fileno=int(text.removeprefix(HANDED)))
        if not made.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            made.detach()
            raise ValueError
    except (OSError, ValueError, OverflowError):
        raise UsageError(f"--metrics {text}: no socket that listens") from None
    return made
