"""`kcli proxy`: a proxy before a Kafka cluster."""

import asyncio
import contextlib
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import click

from kcli.capture.io.packet_writing import file_start
from kcli.cli.broker.serve import allow_files
from kcli.cli.capture.flight_recorder import FlightRecorder
from kcli.cli.capture.live_findings import finder, findings_option
from kcli.cli.capture.live_output import open_live_output, tell_next
from kcli.cli.capture.live_traces import tracer
from kcli.cli.capture.live_view import LiveView, view_of, view_options
from kcli.cli.capture.ring import RingFile, ring_options, take_ring, watch
from kcli.cli.options.client import client_options, configure
from kcli.cli.options.fault import fault_options, take_faults
from kcli.cli.options.filter import FilterCommand
from kcli.cli.options.inputs import quiet_option
from kcli.cli.options.listen import bare_host, client_tls_options, listen_address
from kcli.cli.options.metrics import metrics_option, metrics_socket
from kcli.cli.options.traces import traces_option
from kcli.cli.terminal.background_writer import BackgroundWriter, PausingWriter
from kcli.cli.terminal.lines import ignore, print_note_now
from kcli.cli.termination import on_stop
from kcli.client.address import Address, parse_bootstrap
from kcli.errors import KcliError, UsageError
from kcli.extras import require
from kcli.legible import without_login
from kcli.proxy import Proxy
from kcli.proxy.nodes import ListenerAddresses
from kcli.proxy.policy import Policy, apis_of, networks_of, read_policy
from kcli.proxy.recording import RECORDED
from kcli.temporary import TemporaryFolder


@click.command(cls=FilterCommand)
@client_options
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:0",
    show_default=True,
    help="Address for the first connections of clients; broker N has this port + 1 + N. Port 0: any free ports.",
)
@click.option(
    "--map", "mapped", multiple=True, metavar="ID=HOST:PORT", help="Address of the proxy's listener for this broker."
)
@click.option("--advertise", metavar="HOST", default="", help="Host of the proxy in responses to clients.")
@click.option("--tls", is_flag=True, help="Use TLS for clients, with a CA made for this run; its path is printed.")
@click.option("--tls-cert", metavar="FILE", help="Use TLS for clients, with this certificate (PEM, with its chain).")
@client_tls_options(metavar="FILE")
@click.option(
    "--allow-network",
    "networks",
    multiple=True,
    metavar="NETWORK",
    help="Only clients of this network may connect: 10.0.0.0/8; repeatable.",
)
@click.option(
    "--allow-api",
    "allowed_apis",
    multiple=True,
    metavar="NAME,...",
    help="Only requests of these APIs may pass; !NAME,...: all but these.",
)
@click.option("--max-connections", type=click.IntRange(1), metavar="N", help="Maximum number of connections.")
@click.option(
    "--max-connections-per-address",
    type=click.IntRange(1),
    metavar="N",
    help="Maximum number of connections from one address.",
)
@click.option(
    "--policy",
    "policy_file",
    metavar="FILE",
    help="Networks, APIs, limits and fault rules in TOML; read again on SIGHUP, like the TLS files.",
)
@fault_options("Fault rule, as for kcli broker serve.")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="Save all traffic as packets in OUT, a pcapng file; with --last or --size, a directory.",
)
@ring_options
@findings_option
@metrics_option
@traces_option
@view_options
@quiet_option("Print only the address, no lines about refused clients, and rows only with --format.")
def proxy(  # noqa: PLR0913  the command's options
    bootstrap: str | None,
    settings: tuple[str, ...],
    listen: str,
    mapped: tuple[str, ...],
    advertise: str,
    quiet: bool,
    findings: bool,
    metrics: str | None,
    **options: Any,
) -> None:
    """Run a proxy between clients and a Kafka cluster, until Ctrl-C, and show the exchanges.

    Clients with --listen as bootstrap.servers reach every broker of the cluster through the proxy. It has a listener
    for each broker, and puts the listener's address into responses instead of the broker's. Everything else passes
    unchanged, including SASL. Once the proxy listens, it prints `bootstrap.servers=HOST:PORT` on standard error.
    Exchanges are shown as by `kcli decode pcap`, with its options. OUT gets all exchanges, with the addresses of
    clients and brokers.

    \b
    kcli proxy --bootstrap localhost:9092 --listen 127.0.0.1:19092
    kcli proxy --bootstrap localhost:9092 -o session.pcapng --api Produce
    kcli proxy --bootstrap kafka:9092 --listen :9192 --advertise proxy.example --map 101=:9301
    """
    config = configure(bootstrap, settings, quiet=quiet)
    parse_bootstrap(config["bootstrap.servers"])  # checked before any output
    host, port = listen_address("--listen", listen)
    places = ListenerAddresses(host, port, mapping(mapped), advertised_host(advertise))
    output, certificate, key = (options.pop(name) for name in ("output", "tls_cert", "tls_key"))
    files = TlsFiles(certificate, key, options.pop("tls_client_ca"), options.pop("tls"))
    files.check()
    policy_file = options.pop("policy_file")
    policies = take_policies(policy_file, options)
    policy = policies()
    ring, traces = take_ring(options, output), options.pop("traces")
    view = view_of(options, output, quiet=quiet, to_brokers=True)
    with contextlib.ExitStack() as stack:
        served = stack.enter_context(metrics_socket(metrics, quiet=quiet)) if metrics else None
        found = (
            finder(options, view, shows_findings=findings, quiet=quiet, served=served) if findings or served else None
        )
        traced = tracer(options, traces) if traces else None
        tls = stack.enter_context(listener_tls(files, places))
        out: Any = None
        watcher = None
        if output and ring.keeps:
            kept = FlightRecorder(Path(output), ring.last, ring.size, "pcapng")
            out = stack.enter_context(contextlib.closing(RingFile(kept, file_start(RECORDED))))
            watcher = watch(ring.when, options, out.keep, lambda: kept.moments) if ring.when is not None else None
            kept.make_folder()
        elif output:
            out = stack.enter_context(open_live_output(output))
        serving = Serving([each for each in (view, found, traced, watcher) if each is not None], out)
        made = Proxy(
            config,
            places=places,
            dialect=options["dialect"],
            tls=tls,
            policy=policy,
            note=ignore if quiet else print_note_now,
            record=serving.record if serving.views or out else None,
        )
        rereads = certificate is not None or policy_file is not None
        change = (lambda: made.change(policies(), files.context())) if rereads else None
        asyncio.run(serving.run(made, change))
    tell_next(output, quiet)


def mapping(texts: tuple[str, ...]) -> dict[int, Address]:
    """Return the addresses of brokers by id. Raises UsageError if an address is invalid or occurs twice."""
    made: dict[int, Address] = {}
    for text in texts:
        node, _, place = text.partition("=")
        if not (node.isascii() and node.isdecimal() and int(node[:11]) < 1 << 31):
            raise UsageError(f"--map {text}: ID=HOST:PORT expected (2=127.0.0.1:9302)")
        where = listen_address(f"--map {node}=", place)
        if int(node) in made or (where.port and where in made.values()):
            raise UsageError(f"--map {text}: that broker, or address, is given twice")
        made[int(node)] = where
    return made


def advertised_host(text: str) -> str:
    """Return the host of --advertise. Raises UsageError if it is not a host."""
    bare = bare_host(text)
    if bare is None:
        raise UsageError(
            f"--advertise {without_login(text)}: a host expected, without a port (an IPv6 host in brackets: [::1])"
        )
    return bare


def take_policies(file: str | None, options: dict[str, Any]) -> Callable[[], Policy]:
    """Take the options of a policy out of `options`. Return a function that reads the policy file again and adds them.

    Raises UsageError if an option can't be read.
    """
    dialect, faults = options["dialect"], take_faults(options)
    base = Policy(
        networks_of(options.pop("networks")),
        apis_of(options.pop("allowed_apis"), dialect),
        options.pop("max_connections"),
        options.pop("max_connections_per_address"),
        tuple(faults["faults"]),
        faults["seed"],
    )
    return lambda: base if file is None else read_policy(file, base, dialect)


@dataclass(frozen=True)
class TlsFiles:
    """The files of --tls-cert, --tls-key and --tls-client-ca. makes_authority: --tls was given."""

    certificate: str | None
    key: str | None
    client_ca: str | None
    makes_authority: bool

    def check(self) -> None:
        """Raise UsageError for options that don't go together."""
        if self.key and not self.certificate:
            raise UsageError("--tls-key: --tls-cert is missing")
        if self.client_ca and not (self.certificate or self.makes_authority):
            raise UsageError("--tls-client-ca: --tls or --tls-cert is missing")

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context of the files' current contents; None without --tls-cert.

        Raises InputError, OSError.
        """
        if self.certificate is None:
            return None
        from kcli.broker.security.listener_tls import read_pair, server_context

        return server_context(read_pair(self.certificate, self.key), self.certificate, self.client_ca)


@contextlib.contextmanager
def listener_tls(files: TlsFiles, places: ListenerAddresses) -> Iterator[ssl.SSLContext | None]:
    """Create the TLS context of the listeners: from the given certificate, or from one that a temporary CA signs. The
    CA's own certificate is in a file until the end of the run.
    """
    if not files.makes_authority and not files.certificate:
        yield None
        return
    require("TLS with clients", "tls")
    from kcli.broker.security.listener_tls import made_authority, server_context

    if files.certificate is not None:
        yield files.context()
        return
    with TemporaryFolder("kcli-proxy-") as folder:
        hosts = {places.host, places.advertised, *(place.host for place in places.mapped.values())} - {""}
        authority = made_authority([*sorted(hosts), socket.gethostname()])
        path = Path(folder) / "ca.pem"
        path.write_text(authority.certificate)
        print_note_now(
            f"ssl.truststore.location={path} (the CA that clients have to trust; ssl.ca.location of librdkafka)"
        )
        yield server_context(authority.pair, "the proxy's own certificate", files.client_ca)


class Serving:
    """A running proxy. views: show the traffic, and diagnose it; out: keeps it."""

    def __init__(self, views: Sequence[LiveView], out: BinaryIO | None) -> None:
        self.views, self.out = views, out
        self.stopped = asyncio.Event()
        self.writer: BackgroundWriter | None = None

    async def run(self, made: Proxy, change: Callable[[], None] | None) -> None:
        """Serve until a signal; a second signal does not wait for requests in flight.

        A full disk stops the recording, not the traffic. Raises OSError if the pipe of the recording is closed.
        """
        allow_files()
        async with contextlib.AsyncExitStack() as stack:
            for each in self.views:
                await stack.enter_async_context(each)
            if self.out is not None:
                loop = asyncio.get_running_loop()
                failed = partial(loop.call_soon_threadsafe, self.stopped.set)
                self.writer = stack.enter_context(PausingWriter(self.out, failed, print_note_now))
            await stack.enter_async_context(made)
            on_stop(self.stopped.set)
            if change is not None:
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload, change)
            print_note_now(f"bootstrap.servers={made.bootstrap}")
            await self.stopped.wait()
            on_stop(made.abort)

    def record(self, data: bytes) -> None:
        """Take blocks of a pcapng file."""
        for each in self.views:
            each.write(data)
        if self.writer is not None:
            self.writer.write(data)


def reload(change: Callable[[], None]) -> None:
    """Read the policy and TLS files again. If one of them is invalid, nothing changes."""
    try:
        change()
    except (KcliError, OSError) as error:
        print_note_now(f"kcli: {error}: nothing has changed")
    else:
        print_note_now("the policy was read again")
