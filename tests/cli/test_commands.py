"""The table of commands: each is there to be imported, and help knows of it."""

import importlib
import re
from collections.abc import Iterator, Mapping

import click
import pytest
from click.testing import CliRunner

from kcli.cli.commands import COMMANDS, HELP
from kcli.cli.main import cli


def targets(table: Mapping[str, str | Mapping[str, str]], path: str = "") -> Iterator[tuple[str, str]]:
    """(words, "module:attribute") of each command."""
    for name, target in table.items():
        words = f"{path} {name}".strip()
        if isinstance(target, str):
            yield words, target
        else:
            yield from targets(target, words)


@pytest.mark.parametrize(("words", "target"), [*targets(COMMANDS)])
def test_a_command_is_where_the_table_says(words: str, target: str) -> None:
    module, _, attribute = target.partition(":")
    command = getattr(importlib.import_module(f"kcli.cli.{module}"), attribute)
    assert isinstance(command, click.Command) and HELP[words].endswith(".")


@pytest.mark.parametrize("words", [words for words, _ in targets(COMMANDS)])
def test_help_on_a_narrow_terminal_keeps_names_of_options_whole(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = CliRunner().invoke(cli, [*words.split(), "--help"])
    assert shown.exit_code == 0 and "‑" not in shown.output
    assert not [line for line in shown.output.splitlines() if re.search(r"(^|\s)--?[a-z][a-z-]*-$", line)]
