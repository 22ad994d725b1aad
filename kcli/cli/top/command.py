"""`kcli top`: clients, requests, latencies and errors, on the whole terminal."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from kcli.capture.io.capture_files import captures_in
from kcli.cli.options.client import client_options
from kcli.cli.options.inputs import check_files, port_option, quiet_option, read_of, reading_options
from kcli.cli.options.listen import listen_address
from kcli.cli.options.refusal import refused
from kcli.errors import UsageError
from kcli.extras import require
from kcli.input_names import name_of

TICK_S = 0.25  # keys are waited for
DRAW_S = 1.0  # between two screens without a key


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE|DIR...]")
@click.option("-i", "--interface", metavar="IFACE", help="The network interface, as for kcli capture.  [default: any]")
@click.option("--proxy", is_flag=True, help="Run a proxy as kcli proxy does: --bootstrap, --config, --listen.")
@client_options
@click.option("--listen", metavar="HOST:PORT", help="Address of the proxy for clients; any free port by default.")
@refused("/ on the screen chooses rows", "--where", "--since", "--until")
@port_option
@quiet_option("No effect: there are no other messages.", used=False)
@reading_options
def top(files: tuple[str, ...], **options: Any) -> None:
    """Show clients, brokers, topics, groups and APIs by rate, latency, errors and lag, and findings.

    The traffic is live by default (`kcli capture`), that of a proxy (--proxy), or from captures: FILE, DIR with
    captures in it, - for a stream of packets. Figures cover the last ten seconds, or all of a FILE. Latency does not
    include the time for which a Fetch may wait. Fetches without records and those of brokers are hidden. Enter opens
    the exchanges of a row, and the bytes of an exchange; ? shows the keys. It needs a terminal.

    \b
    kcli top
    kcli top -i eth0 --port 9092
    kcli top --proxy --bootstrap kafka:9092 --listen 127.0.0.1:9192
    kcli top night.pcap
    ssh broker tcpdump -i any -U -w - port 9092 | kcli top -
    """
    words = feeding_words(files, options)
    if files:
        check_files(files)
    require("kcli top", "sql")
    from kcli.cli.top.terminal import Terminal

    with interrupted_by(signal.SIGHUP, signal.SIGTERM), Terminal() as terminal:
        run(terminal, files, words, options)


@contextlib.contextmanager
def interrupted_by(*numbers: signal.Signals) -> Iterator[None]:
    """Let these signals end the block as Ctrl-C does: the terminal is restored, and the feeding process ends, too."""
    before = [(number, signal.signal(number, signal.default_int_handler)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def feeding_words(files: Sequence[str], options: dict[str, Any]) -> list[str]:
    """Return the command line of the process that feeds the screen; empty if files are read. Raises UsageError if the
    options don't fit together.
    """
    of_proxy = options["bootstrap"], options["settings"], options["listen"]
    if options["proxy"] and (files or options["interface"]):
        raise UsageError("--proxy shows the proxy's traffic: leave out FILE and --interface")
    if files and options["interface"]:
        raise UsageError("-i and FILE: one of the two expected")
    if not options["proxy"]:
        if any(of_proxy):
            raise UsageError("--bootstrap, --config, --listen: --proxy is missing")
        ports = [word for port in options["ports"] for word in ("--port", str(port))]
        return [] if files else ["capture", "-i", options["interface"] or "any", *ports]
    if options["listen"]:
        listen_address("--listen", options["listen"])
    pairs = [("--bootstrap", options["bootstrap"]), *(("--config", each) for each in options["settings"])]
    pairs.append(("--listen", options["listen"]))
    return ["proxy", *(word for name, value in pairs if value for word in (name, value))]


def run(terminal: Any, files: Sequence[str], words: Sequence[str], options: dict[str, Any]) -> None:
    """Read and show until the user quits."""
    from kcli.cli.top.exchanges import exchanges_of
    from kcli.cli.top.packets import RecentPackets
    from kcli.cli.top.sources import Reader, fed
    from kcli.cli.top.view import View
    from kcli.diagnose.following import LiveInput
    from kcli.metrics.figures import LiveFigures

    figures, feeder, recent = LiveFigures(), None, None
    read = read_of(options)
    if words and words[0] == "proxy":
        read["ports"] = ()
    with contextlib.ExitStack() as stack:
        inputs: list[Any] = []
        if words:
            feeder, stream, recent = stack.enter_context(fed(words))
            inputs.append(stream)
        elif tuple(files) == ("-",):
            recent = RecentPackets(open(0, "rb", buffering=0, closefd=False))  # noqa: SIM115
            inputs.append(LiveInput(recent))
        else:
            inputs.extend(captures_in(tuple(files)))
        reader = Reader(figures, inputs, read)
        reader.start()
        stack.callback(reader.stop)
        paths = [each for each in inputs if isinstance(each, str)]
        view = View(
            figures,
            source_text(files, words),
            lambda wanted: exchanges_of(paths, None if recent is None else recent.recent(), wanted, read),
            whole=bool(paths),
            saved=bool(paths),
        )
        show(terminal, view, reader, feeder)


def show(terminal: Any, view: Any, reader: Any, feeder: Any) -> None:
    """Draw the screen and follow keys, until "q". Raises KcliError if reading has failed."""
    due = 0.0
    while True:
        if feeder is not None:
            feeder.check()
            view.source = feeder_text(view.source, feeder.lines)
        if reader.failure is not None:
            raise reader.failure
        view.over = not reader.is_alive()
        if time.monotonic() >= due:
            view.refresh()
            terminal.draw(view.screen(*terminal.size()))
            due = time.monotonic() + DRAW_S
        for key in terminal.pressed(TICK_S):
            if not view.key(key):
                return
            due = 0.0


def source_text(files: Sequence[str], words: Sequence[str]) -> str:
    """Name the source."""
    if not words:
        return ", ".join(map(name_of, files))
    return "kcli proxy" if words[0] == "proxy" else " ".join(words)


def feeder_text(known: str, lines: Callable[[], list[str]]) -> str:
    """Return the source with the address of the proxy, once it has said that."""
    if known != "kcli proxy":
        return known
    addresses = [line for line in lines() if line.startswith("bootstrap.servers=")]
    return addresses[0] if addresses else known
