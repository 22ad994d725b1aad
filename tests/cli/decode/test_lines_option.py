"""--lines: the commands that have it, and what they load without it."""

import subprocess
import sys

import click
from click.testing import CliRunner

from kcli.cli.decode.lines_option import lines_option

LINES_ONLY = {
    "kcli.cli.decode.coprocess",
    "kcli.cli.decode.lines",
    "kcli.grammar.selection.select",
    "kcli.grammar.group_data",
}


def test_it_is_a_flag_that_says_what_a_line_is() -> None:
    @click.command()
    @lines_option("text by JSON")
    def command(lines: bool) -> None:
        click.echo(lines)

    assert CliRunner().invoke(command, ["--lines"]).output == "True\n"
    assert CliRunner().invoke(command, []).output == "False\n"
    assert "at once, for use as a coprocess: text by JSON" in " ".join(
        CliRunner().invoke(command, ["--help"]).output.split()
    )


def test_one_message_is_decoded_without_what_lines_need() -> None:
    script = "import sys, kcli.cli.decode.message; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not LINES_ONLY & set(done.stdout.split())
