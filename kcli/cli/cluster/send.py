"""`kcli send`: sends requests to a broker, and prints the decoded responses."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

from kcli.cli.decode.message_formats import records_hook
from kcli.cli.options.client import client_options, configure
from kcli.cli.options.file_type import refuse_batches, refuse_others
from kcli.cli.options.inputs import (
    binary_input,
    dialect_option,
    quiet_option,
    read_bytes,
    records_option,
    secrets_option,
)
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.lines import print_line
from kcli.client.calls import call_of
from kcli.client.cluster import Client
from kcli.client.connection import BrokerConnection, Frame
from kcli.client.handshake import Session
from kcli.client.outgoing import (
    JsonRequest,
    Outgoing,
    answer_text,
    encoded,
    from_bytes,
    from_json,
    looks_like_json,
    raw,
)
from kcli.client.properties import ClientConfig
from kcli.client.routing import ask_leader
from kcli.errors import InputError, NetworkError, UsageError
from kcli.input_names import name_of
from kcli.schemas.catalog import catalog

Show = Callable[[Outgoing, Frame, str | None], str]  # an answer's line, under a dialect
Note = Callable[[str], None]  # prints an oddity on standard error
RAW_DOUBT = "it lacks this API or version, can't read these bytes, or speaks another security.protocol"


@dataclass(frozen=True, kw_only=True)
class SendOptions:
    """The options of `kcli send`."""

    bootstrap: str | None
    settings: tuple[str, ...]
    hex_: bool
    base64_: bool
    exact: bool
    api: str | None
    api_version: int | None
    node: int | None
    to_leader: bool
    records: str
    secrets: bool
    dialect: str | None
    quiet: bool


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The settings of a conversation with a broker: client, node (None: the bootstrap one), dialect.

    show: makes an answer's line; note: prints an oddity.
    """

    config: ClientConfig
    node: int | None
    dialect: str | None
    show: Show
    note: Note


@click.command()
@click.argument("file", default="-", metavar="[FILE]")
@client_options
@binary_input
@click.option(
    "--raw", "exact", is_flag=True, help="Send the bytes unchanged, even if malformed, and without adding a length."
)
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
    help="Send a Produce, Fetch or ListOffsets in JSON to the partition's leader, also when it moves.",
)
@records_option()
@secrets_option()
@dialect_option
@quiet_option("No warnings.")
def send(file: str, **values: Any) -> None:
    """Send the request in FILE to a broker and print its decoded response.

    FILE is an encoded request (with or without its length), or JSON as `kcli decode request` prints it, one object or
    one per line. kcli fills in missing parts of the header: `echo '{"topics":null}' | kcli send --api Metadata ...`.
    With --api and no input every field has its default: `kcli send --api ApiVersions ...`.

    \b
    kcli send --bootstrap localhost:9092 --api ApiVersions
    kcli send --bootstrap localhost:9092 request.bin
    """
    options = SendOptions(**values)
    config = configure(options.bootstrap, options.settings, quiet=options.quiet)
    data = request_bytes(file, options)
    hook = records_hook(options.records, options.secrets)

    def show(request: Outgoing, frame: Frame, dialect: str | None) -> str:
        return answer_text(request, frame, dialect, options.records, hook, options.secrets)

    is_json = not options.exact and not (options.hex_ or options.base64_) and looks_like_json(data)
    if options.to_leader and (options.node is not None or not is_json):
        raise UsageError("--to-leader is for JSON requests, and without --node")
    dialect = options.dialect
    conversation = Conversation(
        config=config, node=options.node, dialect=dialect, show=show, note=partial(warn, quiet=options.quiet)
    )
    if options.exact:
        if options.api or options.api_version is not None:
            raise UsageError("--raw sends bytes as they are: no --api, no --api-version")
        asyncio.run(send_raw(replace(conversation, dialect=None), raw(data)))
    elif is_json:
        requests = from_json(data, options.api, options.api_version, dialect)
        asyncio.run((send_to_leaders if options.to_leader else send_written)(conversation, requests))
    else:
        refuse_others(data, name_of(file))
        refuse_batches(data, name_of(file))
        try:
            request = from_bytes(data, dialect)
        except InputError as error:
            raise error.within(name_of(file)) from None
        asyncio.run(send_encoded(conversation, [request]))


def request_bytes(file: str, options: SendOptions) -> bytes:
    """Read FILE or standard input; with --api and neither of them return a request in which every field has its
    default.

    Does not wait for a terminal. Raises InputError for an empty one.
    """
    if options.api is not None and file == "-" and sys.stdin.isatty():
        return b"{}"
    data = read_bytes(file, options.hex_, options.base64_)
    if data.strip():
        return data
    if options.api is None or file != "-":
        raise InputError("no bytes: a message expected", file=name_of(file))
    return b"{}"


async def send_raw(conversation: Conversation, requests: list[Outgoing]) -> None:
    """Send on a new connection, without ApiVersions; only a login comes before, if the configuration has one."""
    if conversation.node is None and not conversation.config["security.protocol"].startswith("SASL"):
        client = Client(conversation.config)
        connection = await BrokerConnection.open(client.bootstrap[0], conversation.config)
        try:
            await converse(conversation, connection, requests, lambda _: RAW_DOUBT)
        finally:
            await connection.close()
        return
    await send_encoded(conversation, requests)


async def send_encoded(conversation: Conversation, requests: list[Outgoing]) -> None:
    async with Client(conversation.config, conversation.dialect) as client:
        session = await client.session(conversation.node)
        await converse(conversation, session.connection, requests, partial(doubt_of, session))


async def send_written(conversation: Conversation, requests: list[JsonRequest]) -> None:
    async with Client(conversation.config, conversation.dialect, conversation.note) as client:
        session = await client.session(conversation.node)
        numbered = enumerate(requests, 1)
        choose, name = session.versions.best, conversation.config["client.id"]
        outgoing = [encoded(each, choose, number, name, spoken(session, each)) for number, each in numbered]
        await converse(
            replace(conversation, dialect=session.dialect), session.connection, outgoing, partial(doubt_of, session)
        )


def spoken(session: Session, request: JsonRequest) -> str | None:
    """Return the dialect in which to write a request. Raises NetworkError if only a dialect that the broker does not
    support has it.
    """
    if session.dialect is None and request.version is not None:
        unsupported = session.versions.unsupported(request.api_key, request.version)
        if unsupported and not catalog(None).knows(request.api_key, request.version):
            raise NetworkError(f"{session.versions.broker} {unsupported}")
    return session.dialect


def doubt_of(session: Session, request: Outgoing) -> str | None:
    """Return the part of a request that the broker does not support, according to its ApiVersions response."""
    if request.api_key is None or request.version is None:
        return None
    unsupported = session.versions.unsupported(request.api_key, request.version)
    return unsupported and f"it {unsupported}"


async def send_to_leaders(conversation: Conversation, requests: list[JsonRequest]) -> None:
    """Send one request after the other, each to the leader of its partitions; print the last response to each."""
    async with Client(conversation.config, conversation.dialect, conversation.note) as client:
        for number, each in enumerate(requests, 1):
            await send_to_leader(client, number, each, conversation.show)


async def send_to_leader(client: Client, number: int, request: JsonRequest, show: Show) -> None:
    text = ""

    async def send_to(node: int) -> Mapping[str, Any] | None:
        nonlocal text
        session = await client.session(node)
        made = encoded(request, session.versions.best, number, client.config["client.id"], session.dialect)
        session.connection.send_raw(made.data)
        if not made.answered:
            return None
        frame = await session.connection.expect(made.correlation, made.name)
        text = show(made, frame, session.dialect)
        assert made.api_key is not None and made.version is not None
        return call_of(made.api_key, made.version, session.dialect).decode(frame)

    await ask_leader(client, request.api_key, request.body, send_to)
    if text:
        print_line(text)
    sys.stdout.flush()


async def converse(
    conversation: Conversation,
    connection: BrokerConnection,
    requests: list[Outgoing],
    doubt: Callable[[Outgoing], str | None],
) -> None:
    """Send all requests, then print each answer as it comes. doubt: the reason why an answer may be missing."""
    awaited: list[tuple[Outgoing, asyncio.Future[Frame]]] = []
    for each in requests:
        connection.send_raw(each.data)
        if each.answered:
            awaited.append((each, connection.expect(each.correlation, each.name, doubt=doubt(each))))
        else:
            conversation.note(f"{each.name} with acks=0 has no response")
    await connection.drain()
    try:
        for each, future in awaited:
            print_line(conversation.show(each, await future, conversation.dialect))
            sys.stdout.flush()
    finally:
        for _, future in awaited:
            future.cancel()
