"""Suggestions for a first word that is no command and no file."""

import os
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from kcli.nearest import did_you_mean, nearest
from kcli.nearest import suggestion as nearest_command

OTHER_WORDS = {
    "analyse": "diagnose",
    "analyze": "diagnose",
    "cat": "records",
    "consume": "records",
    "dump": "decode",
    "info": "FILE",
    "summary": "FILE",
    "version": "--version",
}
ADDRESS = re.compile(r"[\w.-]+:\d{1,5}|\[[0-9A-Fa-f:]+\]:\d{1,5}")
MOST_ENTRIES = 10_000  # of a folder


def suggestion(word: str, table: Mapping[str, str | Mapping[str, str]], *, takes_files: bool) -> str:
    """Return the text after "no such command": the probable command or file, or the available ones. table: the commands
    that the word may mean, as `kcli.cli.commands.COMMANDS`. takes_files: the word may also be a file. A command of a
    group comes before one with a similar name: `explain` is not `replay`, which sends requests.
    """
    if "://" in word:
        return "; kcli reads files and pipes: `curl -s URL | kcli -`"
    if ADDRESS.fullmatch(word):
        return "; `kcli --help` lists the commands for a live cluster"
    if " " in word:
        return "; `kcli --help` lists questions and the command for each"
    groups = [name for name, commands in table.items() if not isinstance(commands, str) and word in commands]
    if groups:
        return did_you_mean(" or ".join(f"{group} {word}" for group in groups))
    meant = OTHER_WORDS.get(word.lower()) if "diagnose" in table else None
    if meant is not None:
        return did_you_mean(f"`kcli {meant}`")
    commands = f" (there are: {', '.join(sorted(table))})"
    if not takes_files and ("/" in word or Path(word).exists()):
        return f"; a command of the group comes before a file{commands}"
    if takes_files and ("." in word or "/" in word):
        return did_you_mean(file_like(Path(word)))
    return nearest_command(word, table) or commands


def file_like(path: Path) -> Path | None:
    """Return the file in the same folder whose name starts with the path's name, or is similar to it."""
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, MOST_ENTRIES)]
    except OSError:
        return None
    longer = min((each for each in names if path.name and each.startswith(path.name)), default=None)
    alike = (each for each in names if nearest(path.stem, [Path(each).stem]))  # an ending in common is no likeness
    found = longer or nearest(path.name, alike)
    return None if found is None else path.parent / found
