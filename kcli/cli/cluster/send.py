"""`kcli send`: one request, or several, to a broker; the decoded answers back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from kcli.cli.decode.message import RECORDS
from kcli.cli.decode.message_formats import records_hook
from kcli.cli.options.client import client_options, configure
from kcli.cli.options.file_type import is_batch, name_of, refuse_others
from kcli.cli.options.inputs import binary_input, dialect_option, quiet_option, read_bytes, secrets_option
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.lines import print_line
from kcli.client.calls import call_of
from kcli.client.cluster import Client
from kcli.client.connection import BrokerConnection, Frame
from kcli.client.handshake import Session
from kcli.client.outgoing import Outgoing, Written, answer_text, encoded, from_bytes, from_json, looks_like_json, raw
from kcli.client.properties import ClientConfig
from kcli.client.routing import ask_leader
from kcli.errors import InputError, NetworkError, UsageError
from kcli.schemas.catalog import catalog

Show = Callable[[Outgoing, Frame, str | None], str]  # an answer's line, under a dialect
Note = Callable[[str], None]  # says something odd on standard error
RAW_DOUBT = "it lacks this API or version, can't read these bytes, or speaks another security.protocol"


@click.command()
@click.argument("file", default="-", metavar="[FILE]")
@client_options
@binary_input
@click.option("--raw", "exact", is_flag=True, help="Send the bytes as they are, malformed or not: no length is added.")
@click.option(
    "--api",
    metavar="NAME",
    help="The API of a JSON request whose header does not name it, or of a request without input.",
)
@click.option(
    "--api-version", type=int, metavar="N", help="The API's version; by default the newest that both sides have."
)
@click.option("--node", type=int, metavar="ID", help="Send to this broker of the cluster, not to the bootstrap one.")
@click.option(
    "--to-leader",
    is_flag=True,
    help="Send a JSON Produce, Fetch or ListOffsets to the partition's leader, and follow it when it moves.",
)
@click.option("--records", type=RECORDS, default="none", help="What to show of records fields besides their size.")
@secrets_option()
@dialect_option
@quiet_option("No warnings.")
def send(
    file: str,
    bootstrap: str | None,
    settings: tuple[str, ...],
    hex_: bool,
    base64_: bool,
    exact: bool,
    api: str | None,
    api_version: int | None,
    node: int | None,
    to_leader: bool,
    records: str,
    secrets: bool,
    dialect: str | None,
    quiet: bool,
) -> None:
    """Send the request in FILE to a broker and print its decoded response.

    FILE is an encoded request (with or without its length), or JSON as `kcli decode request` prints it, one or one a
    line; parts of the header that are left out are filled in: `echo '{"topics":null}' | kcli send --api Metadata ...`.
    With --api and no input every field has its default: `kcli send --api ApiVersions ...`.

    \b
    kcli send --bootstrap localhost:9092 --api ApiVersions
    kcli send --bootstrap localhost:9092 request.bin
    """
    config = configure(bootstrap, settings, quiet=quiet)
    note = partial(warn, quiet=quiet)
    data = request_bytes(file, hex_, base64_, api)
    hook = records_hook(records, secrets)

    def show(asked: Outgoing, frame: Frame, dialect: str | None) -> str:
        return answer_text(asked, frame, dialect, records, hook, secrets)

    is_json = not exact and not (hex_ or base64_) and looks_like_json(data)
    if to_leader and (node is not None or not is_json):
        raise UsageError("--to-leader is for JSON requests, and without --node")
    if exact:
        if api or api_version is not None:
            raise UsageError("--raw sends bytes as they are: no --api, no --api-version")
        asyncio.run(send_raw(config, raw(data), node, show, note))
    elif is_json:
        requests = from_json(data, api, api_version, dialect)
        work = send_to_leaders(config, requests, show, note, dialect) if to_leader else None
        asyncio.run(work or send_written(config, requests, node, show, note, dialect))
    else:
        refuse_others(data, name_of(file))
        if is_batch(data):
            raise InputError("no message (record batches: kcli decode segment reads that)", file=name_of(file))
        try:
            request = from_bytes(data, dialect)
        except InputError as error:
            raise error.within(name_of(file)) from None
        asyncio.run(send_encoded(config, [request], node, show, note, dialect))


def request_bytes(file: str, hex_: bool, base64_: bool, api: str | None) -> bytes:
    """Read FILE or standard input; with --api and neither of them return a request in which every field has its
    default.

    Does not wait for a terminal.
    """
    if api is not None and file == "-" and sys.stdin.isatty():
        return b"{}"
    data = read_bytes(file, hex_, base64_)
    return data if data.strip() or api is None or file != "-" else b"{}"


async def send_raw(config: ClientConfig, requests: list[Outgoing], node: int | None, show: Show, note: Note) -> None:
    """Send on a new connection, after nothing but a login where the configuration has one."""
    if node is None and not config["security.protocol"].startswith("SASL"):
        client = Client(config)
        connection = await BrokerConnection.open(client.bootstrap[0], config)
        try:
            await converse(connection, requests, show, note, None, lambda _: RAW_DOUBT)
        finally:
            await connection.close()
        return
    await send_encoded(config, requests, node, show, note, None)


async def send_encoded(
    config: ClientConfig, requests: list[Outgoing], node: int | None, show: Show, note: Note, dialect: str | None
) -> None:
    async with Client(config, dialect) as client:
        session = await client.session(node)
        await converse(session.connection, requests, show, note, dialect, partial(doubt_of, session))


async def send_written(
    config: ClientConfig, requests: list[Written], node: int | None, show: Show, note: Note, dialect: str | None
) -> None:
    async with Client(config, dialect, note) as client:
        session = await client.session(node)
        numbered = enumerate(requests, 1)
        choose, name = session.versions.best, config["client.id"]
        outgoing = [encoded(each, choose, number, name, spoken(session, each)) for number, each in numbered]
        await converse(session.connection, outgoing, show, note, session.dialect, partial(doubt_of, session))


def spoken(session: Session, request: Written) -> str | None:
    """Return the dialect to write a request in. Raises NetworkError if only a dialect that the broker does not speak
    has it.
    """
    if session.dialect is None and request.version is not None:
        known = catalog(None).api(request.api_key)
        lack = session.versions.lack(request.api_key, request.version)
        if lack and (known is None or request.version not in known.versions):
            raise NetworkError(f"{session.versions.who} {lack}")
    return session.dialect


def doubt_of(session: Session, request: Outgoing) -> str | None:
    """Return which part of a request its broker lacks, by its ApiVersions."""
    if request.api_key is None or request.version is None:
        return None
    lack = session.versions.lack(request.api_key, request.version)
    return lack and f"it {lack}"


async def send_to_leaders(
    config: ClientConfig, requests: list[Written], show: Show, note: Note, dialect: str | None
) -> None:
    """Send one request after the other, each to the leader of its partitions; print the last response to each."""
    async with Client(config, dialect, note) as client:
        for number, each in enumerate(requests, 1):
            await send_to_leader(client, number, each, show)


async def send_to_leader(client: Client, number: int, request: Written, show: Show) -> None:
    text = ""

    async def ask(node: int) -> Mapping[str, Any] | None:
        nonlocal text
        session = await client.session(node)
        made = encoded(request, session.versions.best, number, client.config["client.id"], session.dialect)
        session.connection.send_raw(made.data)
        if not made.answered:
            return None
        frame = await session.connection.expect(made.correlation, made.what)
        text = show(made, frame, session.dialect)
        assert made.api_key is not None and made.version is not None
        return call_of(made.api_key, made.version, session.dialect).decode(frame)

    await ask_leader(client, request.api_key, request.body, ask)
    if text:
        print_line(text)
    sys.stdout.flush()


async def converse(
    connection: BrokerConnection,
    requests: list[Outgoing],
    show: Show,
    note: Note,
    dialect: str | None,
    doubt: Callable[[Outgoing], str | None],
) -> None:
    """Send them all, then print each answer as it comes. doubt: why there may be none."""
    awaited: list[tuple[Outgoing, asyncio.Future[Frame]]] = []
    for each in requests:
        connection.send_raw(each.data)
        if each.answered:
            awaited.append((each, connection.expect(each.correlation, each.what, doubt=doubt(each))))
        else:
            note(f"{each.what} with acks=0 has no response")
    await connection.drain()
    try:
        for each, future in awaited:
            print_line(show(each, await future, dialect))
            sys.stdout.flush()
    finally:
        for _, future in awaited:
            future.cancel()
