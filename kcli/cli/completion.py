"""`kcli completion`: the script that teaches a shell kcli's words."""

from __future__ import annotations

import click

__all__ = ["completion"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes kcli's commands and options in a shell.

    \b
    bash   eval "$(kcli completion bash)"     in ~/.bashrc
    zsh    eval "$(kcli completion zsh)"      in ~/.zshrc
    fish   kcli completion fish > ~/.config/fish/completions/kcli.fish
    """
    from click.shell_completion import get_completion_class

    from kcli.cli.main import cli

    made = get_completion_class(shell)
    assert made is not None  # click has all three
    click.echo(made(cli, {}, "kcli", "_KCLI_COMPLETE").source())
