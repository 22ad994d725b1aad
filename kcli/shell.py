"""Commands that are shown, to be copied into a POSIX shell: names in them may be a stranger's, and hold anything."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

# What a shell reads within double quotes, too; "!" where it keeps a history.
READ_IN_QUOTES = frozenset('"$`\\!')


def quoted(word: str) -> str:
    """Quote one word, where it needs that; in double quotes where these do, as SQL has single ones."""
    plain = shlex.quote(word)
    return plain if plain == word or READ_IN_QUOTES & set(word) else f'"{word}"'


def file_words(files: Iterable[str], key_logs: Iterable[str] = ()) -> str:
    """Return captures and their key logs as the arguments of a command."""
    return " ".join([*map(quoted, files), *(f"--key-log {quoted(each)}" for each in key_logs)])
