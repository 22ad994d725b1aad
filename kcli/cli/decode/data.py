"""`kcli decode data`: a message that Kafka's clients and brokers put into bytes fields, records or files, by itself."""

from typing import Any

import click

from kcli.cli.decode.message import FORMATS, decode
from kcli.cli.decode.message_formats import Shape
from kcli.cli.decode.message_input import Frame
from kcli.cli.options.inputs import binary_input, dialect_option, format_option, quiet_option
from kcli.errors import UsageError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.group_data import NUMBERED_INSIDE, VERSION_IN_FRONT, Opened, open_data
from kcli.grammar.words.primitives import Int16
from kcli.grammar.words.structs import Struct
from kcli.schemas.catalog import catalog


@click.command()
@click.argument("name")
@click.argument("file", default="-")
@binary_input
@dialect_option
@click.option(
    "--data-version",
    type=click.IntRange(0, 32767),
    metavar="N",
    help="The version, for messages that do not begin with theirs.",
)
@format_option(FORMATS, "The output format.", default="json")
@quiet_option("No warnings.")
def data(**options: Any) -> None:
    """Decode a data message, such as those that consumers, Connect and Streams send to their groups.

    NAME is ConsumerProtocolSubscription, ConsumerProtocolAssignment, ConnectProtocolSubscription,
    ConnectProtocolAssignment, SubscriptionInfoData or AssignmentInfo (both of Streams), DefaultPrincipalData,
    LeaderChangeMessage, or another that `kcli schema list` calls data. FILE holds its bytes ("-", the default: standard
    input).

    \b
    kcli decode data ConsumerProtocolSubscription --hex <<< '0000 00000001 0006 6f7264657273 ffffffff'
    kcli decode data LeaderChangeMessage --data-version 0 value.bin
    """
    kind = catalog(options["dialect"]).message(options["name"]).kind
    if kind != "data":
        raise UsageError(f"{options['name']}: a {kind} message, not data (see kcli decode request, response, segment)")
    unused = {"framed": False, "records": "none", "secrets": False, "lines": False, "embedded": True}
    decode(options | unused, data_shape)


def data_shape(data: bytes, _frame: Frame, options: dict[str, Any]) -> Shape:
    """Return how to read a data message. options: name, dialect, data_version. Raises DecodeError; UsageError without a
    version.
    """
    name, dialect, version = options["name"], options["dialect"], options["data_version"]
    if name in VERSION_IN_FRONT or name in NUMBERED_INSIDE:
        if version is not None:
            raise UsageError(f"--data-version {version}: the bytes of {name} begin with their version")
        found = open_data(name, data, dialect)
    elif version is None:
        raise UsageError(f"{name} does not say its version: --data-version N expected")
    else:
        found = Opened(messages.data(name, version, dialect), 0, version)
    front = Struct("version" / Int16) if found.start else Struct()
    return Shape(
        MessageCodec(name, found.codec.version, front),
        lambda _start: found.codec,
        lambda _head, value: {"type": name, "version": found.version, "data": value},
    )
