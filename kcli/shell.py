"""Commands that are shown, to be copied into a POSIX shell: names in them may be a stranger's, and hold anything."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

# What a shell reads within double quotes, too; "!" where it keeps a history.
READ_IN_QUOTES = frozenset('"$`\\!')


def quoted(word: str) -> str:
    """Quote one word, where it needs that; in double quotes where these do, as SQL has single ones. Characters that
    a terminal would not show stand as their bytes (POSIX.1-2024, bash, zsh)."""
    if not word.isprintable():
        return "$'" + "".join(map(escaped, word)) + "'"
    plain = shlex.quote(word)
    return plain if plain == word or READ_IN_QUOTES & set(word) else f'"{word}"'


def escaped(char: str) -> str:
    """Return a character as it stands in $'...'."""
    if char.isprintable() and char not in "\\'":
        return char
    stands_for_byte = "\udc80" <= char <= "\udcff"  # of a file's name that is not UTF-8
    data = char.encode("utf-8", "surrogateescape" if stands_for_byte else "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in data)


def file_words(files: Iterable[str], key_logs: Iterable[str] = ()) -> str:
    """Return captures and their key logs as the arguments of a command."""
    return " ".join([*map(quoted, files), *(f"--key-log {quoted(each)}" for each in key_logs)])
