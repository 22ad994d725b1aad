"""Commands that are shown to be copied: each begins a line of its own where it is long, and a shell joins its lines."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kcli.cli.terminal.cells import LEAST, width

INDENT = "  "
MORE = INDENT * 2  # in front of the other lines of a command
END = " \\"


class ShownCommand(NamedTuple):
    """A command after its purpose, such as "and 3 more:"."""

    label: str
    command: str

    def lines(self, room: int | None, indent: str = "") -> Iterator[str]:
        """Yield the label and the command: on one line, or on lines of their own where they are too long for it."""
        line = f"{indent}{self.label} {self.command}"
        if room is None or width(line) <= room:
            yield line
        else:
            yield indent + self.label
            yield from command_lines(self.command, room)


def listed_commands(commands: Iterable[str], room: int | None) -> Iterator[str]:
    """Yield commands one below the other."""
    for each in commands:
        yield from command_lines(each, room)


def command_lines(command: str, room: int | None) -> Iterator[str]:
    """Yield a command, indented, on lines of at most `room` cells. All but the last end with a backslash."""
    if room is None or width(INDENT + command) <= room:
        yield INDENT + command
        return
    line = ""
    for part in with_values(parts_of(command), max(room, LEAST) - len(MORE + END)):
        indent = MORE if line else INDENT
        if line and width(line + " " + part) <= max(room, LEAST) - len(END):
            line += " " + part
            continue
        if line:
            yield line + END
        line = indent + part
        while width(line) > max(room, LEAST) - len(END) and "'" not in part:
            head = line[: max(room, LEAST) - 1]
            yield head + "\\"  # within a word: the next part begins its line
            line = line[len(head) :]
    yield line


def with_values(parts: Iterable[str], room: int) -> Iterator[str]:
    """Yield the parts of a command, each option with its value where both have room on a line."""
    option = ""
    for part in parts:
        if option and not part.startswith("-") and width(option) + 1 + width(part) <= room:
            yield f"{option} {part}"
            option = ""
            continue
        if option:
            yield option
        option = part if part.startswith("--") or part == "-o" else ""
        if not option:
            yield part
    if option:
        yield option


def parts_of(command: str) -> Iterator[str]:
    """Yield the parts that stay on one line: words, and those of a query in double quotes, where white space is free.
    The words of the command are quoted by `kcli.shell.quoted`.
    """
    start, quote, literal, is_query = 0, "", False, False
    for at, char in enumerate(command):
        if char == quote:
            quote, literal = "", False
        elif not quote and char in "\"'":
            quote, is_query = char, command[:at].endswith(" sql ")
        elif quote == '"' and char == "'":
            literal = not literal
        elif char == " " and (not quote or (quote == '"' and is_query and not literal)):
            yield command[start:at]
            start = at + 1
    yield command[start:]
