"""Every command of kcli, for tests that leave none out."""

from collections.abc import Iterator

import click

from kcli.cli.main import cli

__all__ = ["commands"]


def commands(group: click.Group = cli, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Each command's words ("decode pcap") and the command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield path + name, command
