"""Formats commands that users copy into a POSIX shell. Names in them are untrusted and may contain any character."""

import shlex
from collections.abc import Iterable

from kcli.input_names import STDIN

# Characters that a shell interprets within double quotes; "!" only in shells with a history.
READ_IN_QUOTES = frozenset('"$`\\!')


def quoted(word: str) -> str:
    """Quote a word if it needs quotes: with double quotes if these suffice, as SQL in it has single quotes. Characters
    that a terminal does not show become escapes of their bytes (POSIX.1-2024, bash, zsh).
    """
    if not word.isprintable():
        return "$'" + "".join(map(escaped, word)) + "'"
    plain = shlex.quote(word)
    return plain if plain == word or READ_IN_QUOTES & set(word) else f'"{word}"'


def escaped(char: str) -> str:
    """Escape a character for $'...'."""
    if char.isprintable() and char not in "\\'":
        return char
    stands_for_byte = "\udc80" <= char <= "\udcff"  # stands for a byte of a file name that is not UTF-8
    data = char.encode("utf-8", "surrogateescape" if stands_for_byte else "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in data)


def file_word(path: str) -> str:
    """Quote a file's name as an argument. One that begins with a dash is no option."""
    return quoted(f"./{path}" if path.startswith("-") and path != STDIN else path)


def file_words(files: Iterable[str], key_logs: Iterable[str] = ()) -> str:
    """Return captures and their key logs as arguments of a command, quoted."""
    return " ".join([*map(file_word, files), *(f"--key-log {file_word(each)}" for each in key_logs)])
