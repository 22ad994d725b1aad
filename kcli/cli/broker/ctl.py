"""`kcli broker ctl`: an embedded broker controlled by its admin port."""

import http.client
import json
import sys
from typing import Any

import click

from kcli.cli.options.inputs import quiet_option
from kcli.cli.terminal.lines import print_line
from kcli.client.address import parse_bootstrap
from kcli.client.web_address import reason_of
from kcli.errors import NetworkError, UsageError
from kcli.jsontext import dumps

SERVER_FAULT = 500  # and what is above it: 504 where a wait ended
PATIENCE_SECONDS = 30.0


@click.command("ctl")
@click.argument("address", metavar="ADDRESS")
@click.argument("command", metavar="[COMMAND]", required=False)
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")
@quiet_option("Print no result.")
def ctl(address: str, command: str | None, arguments: tuple[str, ...], quiet: bool) -> None:
    """Control an embedded broker remotely, by the admin port of `kcli broker serve --admin-port`.

    ADDRESS is HOST:PORT. Parameters of a COMMAND are NAME=VALUE, where VALUE is JSON or else text; `@-` reads JSON from
    standard input. The result is one line of JSON. Without a COMMAND kcli lists the commands. Exit code 4: a wait timed
    out, or the broker failed.

    \b
    kcli broker ctl 127.0.0.1:9099 create-topic topic=orders partitions=6
    kcli broker ctl 127.0.0.1:9099 append topic=orders records='["a", {"key": "k", "value": "b"}]'
    kcli broker ctl 127.0.0.1:9099 fault api=Produce topic=orders error=NOT_LEADER_OR_FOLLOWER count=2
    kcli broker ctl 127.0.0.1:9099 hits id=1 wait=2
    kcli broker ctl 127.0.0.1:9099 wait group=app state=Stable members=2
    kcli broker ctl 127.0.0.1:9099 stop-node node=2
    """
    arguments_given = dict(map(argument, arguments))
    patience = PATIENCE_SECONDS + float(arguments_given.get("timeout", 10))
    if command is None:
        for name in call(address, "GET", "/", None, patience)["commands"]:
            print_line(name)
        return
    result = call(address, "POST", f"/{command}", arguments_given, patience)["result"]
    if not quiet:
        print_line(dumps(result))


def argument(text: str) -> tuple[str, Any]:
    """Parse NAME=VALUE. Raises UsageError if it is not of that form."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text}: NAME=VALUE expected")
    try:
        return name, json.load(sys.stdin) if value == "@-" else json.loads(value)
    except ValueError:
        return name, value


def call(address: str, method: str, path: str, arguments: dict[str, Any] | None, patience: float) -> dict[str, Any]:
    """Return the admin port's answer. Raises UsageError if the port refuses the call. Raises NetworkError if nothing
    listens there, the call failed, or its wait ended.
    """
    ((host, port),) = parse_bootstrap([address])[:1]
    connection = http.client.HTTPConnection(host, port, timeout=patience)
    try:
        body = None if arguments is None else dumps(arguments).encode()
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        value = json.loads(answer.read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NetworkError(f"{address}: no admin port answers: {reason_of(error)}") from None
    finally:
        connection.close()
    if answer.status >= SERVER_FAULT:
        raise NetworkError(value.get("error", f"status {answer.status}"))
    if answer.status != http.client.OK:
        raise UsageError(value.get("error", f"status {answer.status}"))
    return dict(value)
