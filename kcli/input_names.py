"""The names that messages give to inputs."""

from __future__ import annotations

STDIN = "-"
DELTA_LOG = "_delta_log"
RUNS_FOLDER = "_kcli"  # the pipeline's own, among its tables

copies: dict[str, str] = {}  # temporary files, and what each is a copy of


def name_of(file: str) -> str:
    """Return an input's name for messages: of "-" and of a temporary copy, that of what it stands for."""
    return "standard input" if file == STDIN else copies.get(file, file)


def note_copy(copy: str, file: str) -> None:
    """Have messages name an input in place of its temporary copy."""
    copies[copy] = name_of(file)
