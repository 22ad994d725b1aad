"""rich, which shows and does not obey."""

import io
import os

import pytest
from rich.table import Table
from rich.text import Text

from kcli.cli.terminal.screen import Screen, shown

HOSTILE = "[red]x[/red] [/] :smile: \x1b[31m\x9b\u202e"
SHOWN = "[red]x[/red] [/] :smile: \\x1b[31m\\x9b\\u202e"


def rendered(*parts: object) -> str:
    out = io.StringIO()
    screen = Screen(file=out, width=100, force_terminal=True, color_system=None)
    for part in parts:
        screen.print(part)
    return out.getvalue()


def test_markup_emoji_codes_and_control_characters_are_shown() -> None:
    assert rendered(HOSTILE) == f"{SHOWN}\n"
    assert rendered(Text(HOSTILE)) == f"{SHOWN}\n"


def test_cells_of_tables() -> None:
    table = Table(box=None)
    table.add_column("name")
    table.add_column("next")
    table.add_row(shown(HOSTILE + "\nFORGED"), "one")
    table.add_row(HOSTILE, "two")
    text = rendered(table)
    assert f"{SHOWN}\\nFORGED  one" in text.replace("  one", "  one")
    assert not any(line.startswith("FORGED") for line in text.splitlines())


def test_styles_are_richs_own() -> None:
    out = io.StringIO()
    Screen(file=out, width=100, force_terminal=True, color_system="standard", legacy_windows=False).print(
        shown("\x1b[31m", "bold")
    )
    assert out.getvalue() == "\x1b[1m\\x1b[31m\x1b[0m\n"


def test_a_pipe_whose_reader_has_gone_is_an_error_as_any_other() -> None:
    """rich would end the process with 1, which says that the answer is no."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as file, pytest.raises(BrokenPipeError):
        Screen(file=file).print("x" * 100_000)
        file.flush()
