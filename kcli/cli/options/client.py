"""Options of every command that talks to brokers, and the configuration they make."""

from collections.abc import Iterable

import click

from kcli.cli.options import Command
from kcli.cli.terminal.console import warn
from kcli.client.address import parse_address
from kcli.client.properties import ClientConfig, load


def client_options(command: Command) -> Command:
    """Add --bootstrap and --config; the function gets `bootstrap` and `settings`."""
    bootstrap = click.option(
        "--bootstrap", metavar="HOST:PORT[,...]", help="Broker to connect to first (bootstrap.servers)."
    )
    config = click.option(
        "--config",
        "settings",
        multiple=True,
        metavar="FILE|KEY=VALUE",
        help="Client properties by Kafka's names, from a file or one by one; the last value wins.",
    )
    return bootstrap(config(command))


def configure(bootstrap: str | None, settings: Iterable[str], *, quiet: bool = False) -> ClientConfig:
    """Return the configuration. Properties that kcli does not use are named on stderr. Raises UsageError if a broker's
    address is invalid, before anything else is done.
    """
    config = load(settings, bootstrap)
    for each in config["bootstrap.servers"]:
        parse_address(each)
    if config.ignored and not quiet:
        names = ", ".join(config.ignored)
        warn(f"properties that kcli does not use, ignored: {names}")
    return config
