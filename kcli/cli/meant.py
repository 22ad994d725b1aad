"""Guesses the command that a wrong command line meant: swapped words, another command's option, a file name that begins
with a dash. A guess is shown only if its command accepts it.
"""

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from kcli.cli.commands import COMMANDS, FRONT, loaded
from kcli.errors import KcliError
from kcli.nearest import nearest
from kcli.shell import quoted

Words = list[str]
# Commands on captures, the most common first.
READERS = ("diagnose", "decode pcap", "stats", "records", "report", "audit")
# Names of options in other tools.
OTHER_OPTIONS = {
    "--after": "--since", "--before": "--until", "--consumer-group": "--group", "--error-code": "--error",
    "--filter": "--where", "--fmt": "--format", "--from": "--since", "--group-by": "--by", "--group-id": "--group",
    "--head": "--limit", "--latency": "--slower-than", "--min-latency": "--slower-than", "--min-ms": "--slower-than",
    "--order-by": "--sort", "--out": "--output", "--output-format": "--format", "--slow": "--slower-than",
    "--slower": "--slower-than", "--to": "--until", "--top": "--limit", "--topics": "--topic",
}  # fmt: skip
NO_FILE = (errno.ENOENT, errno.ENAMETOOLONG)  # errors for a name without a file; a long query raises the second
OF_ITS_OWN = ("--limit", "--sort")  # options whose meaning differs by command
LIKE = 0.7  # least likeness of two options, out of 1


def meant_command(argv: Sequence[str], error: BaseException) -> str | None:
    """Return the command that a failing command line probably meant; None if there is no good guess."""
    words = [*argv]
    if any(map(is_pipe, words)):  # a pipe can't be read twice
        return None
    if (first := first_lines(words, error)) is not None:
        return first
    for guess in guesses(words, error):
        if guess != words and is_accepted(guess):
            return command_text(guess)
    return None


def command_text(words: Words) -> str:
    """Return a command line as text."""
    return " ".join(["kcli", *map(quoted, words)])


def first_lines(words: Words, error: BaseException) -> str | None:
    """Return the command that shows as many lines as an option asked for that the command lacks, such as --limit 5."""
    option = error.option_name if isinstance(error, click.NoSuchOption) else ""
    command = command_of(taken_apart(words)[0])
    if OTHER_OPTIONS.get(option, option) != "--limit" or command is None:
        return None
    if any("--limit" in each.opts for each in command.params):
        return None
    at = next((at for at, word in enumerate(words) if word.partition("=")[0] == option), len(words))
    number = words[at].partition("=")[2] if "=" in words[at] else "".join(words[at + 1 : at + 2])
    rest = [*words[:at], *words[at + (1 if "=" in words[at] else 2) :]]
    return f"{command_text(rest)} | head -n {int(number)}" if number.isdecimal() and is_accepted(rest) else None


def is_pipe(word: str) -> bool:
    """Return whether a word names a pipe."""
    with contextlib.suppress(OSError, ValueError):
        return Path(word).is_fifo()
    return False


def guesses(words: Words, error: BaseException) -> Iterator[Words]:
    """Yield command lines that might have been meant, the likeliest first."""
    path, rest = taken_apart(words)
    missing = missing_word(error, rest)
    option = error.option_name if isinstance(error, click.NoSuchOption) else None
    if missing is None and option is None:
        return
    yield [*path, *(f"./{each}" if each.startswith("-") and os.path.lexists(each) else each for each in rest)]
    if not path:
        yield from of_swapped(rest)
    for candidate in ([*each] for each in dict.fromkeys((tuple(joined_values(rest)), tuple(rest)))):
        yield from of_query(path, candidate, missing)
        for command in [path, *(each.split() for each in READERS if may_be_elsewhere(path, option))]:
            yield [*command, *candidate]
            yield from ([*command, *each] for each in of_options(command, candidate, option, near=command == path))
    if missing is not None:
        from kcli.cli.suggestions import file_like

        if (file := file_like(Path(missing))) is not None:
            yield [*path, *(str(file) if each == missing else each for each in rest)]


def may_be_elsewhere(path: Words, option: str | None) -> bool:
    """Return whether another command has this option, which the given command lacks."""
    return option is not None and (not path or " ".join(path) in (*READERS, "decode")) and option not in OF_ITS_OWN


def taken_apart(words: Words) -> tuple[Words, Words]:
    """Split the words into those that name a command (none for `kcli FILE`) and the others."""
    table = COMMANDS.get(words[0]) if words else None
    if table is None:
        return [], words
    named = 2 if not isinstance(table, str) and len(words) > 1 and words[1] in table else 1
    return words[:named], words[named:]


def missing_word(error: BaseException, words: Words) -> str | None:
    """Return the word that was wrongly taken for a file or a command."""
    if words and is_query(words[0]) and isinstance(error, click.UsageError):
        return words[0]
    named = error.filename if isinstance(error, OSError) and error.errno in NO_FILE else None
    return named if named in words else None


def of_swapped(words: Words) -> Iterator[Words]:
    """Yield the words in another order, with the command among them first."""
    for at, word in enumerate(words):
        if word in COMMANDS and not os.path.lexists(word):
            behind = words[at + 1 :]
            table = COMMANDS[word]
            named = [word, *behind[:1]] if not isinstance(table, str) and behind and behind[0] in table else [word]
            rest = words[:at] + behind[len(named) - 1 :]
            query = next((each for each in rest if is_query(each)), None)
            yield from of_query(named, rest, query)
            yield [*named, *rest]


def is_query(text: str) -> bool:
    """Return whether a text is an SQL query: its first word begins one, and more words follow."""
    first, *others = text.split() or [""]
    return bool(others) and first.upper() in ("SELECT", "WITH", "FROM", "DESCRIBE", "SHOW")


def of_query(path: Words, words: Words, query: str | None) -> Iterator[Words]:
    """Yield the command for a query that follows its files."""
    if query and (is_query(query) or path == ["sql"]) and path in ([], ["sql"]):
        yield ["sql", query, *(each for each in words if each != query)]


def joined_values(words: Words) -> Words:
    """Return the words with `--errors NAME` as `--errors=NAME`, where NAME is no file."""
    made: Words = []
    for word in words:
        if made and made[-1] == "--errors" and not word.startswith("-") and not os.path.lexists(word):
            made[-1] += f"={word}"
        else:
            made.append(word)
    return made


def of_options(path: Words, words: Words, option: str | None, *, near: bool) -> Iterator[Words]:
    """Yield the command line with an option that the command has in place of one that it lacks. near: also try options
    with similar names.
    """
    command = command_of(path)
    if option is None or command is None:
        return
    own = [each for each in command.params if isinstance(each, click.Option)]
    known = {name: each for each in own for name in each.opts}
    values = (option.lstrip("-"), f"{option.lstrip('-')}l")  # --csv, and --json where there is jsonl
    found = [
        [max(each.opts, key=len), value]
        for value in values
        for each in own
        if value in getattr(each.type, "choices", ())
    ]
    named = (OTHER_OPTIONS.get(option), nearest(option, known, LIKE) if near else None)
    found += [[each] for each in named if each in known]
    for at, word in enumerate(words):
        if word.partition("=")[0] == option:
            rest = word.removeprefix(option)
            yield from ([*words[:at], *new[:-1], f"{new[-1]}{rest}", *words[at + 1 :]] for new in found)


def command_of(path: Words) -> click.Command | None:
    """Return a command by the words that name it; by no words, `kcli FILE`. Returns None for a group."""
    target: Any = COMMANDS if path else FRONT
    for word in path:
        target = target.get(word) if not isinstance(target, str) else None
    if path == ["decode"]:
        target = target["pcap"]
    return loaded(target) if isinstance(target, str) else None


def is_accepted(words: Words) -> bool:
    """Return whether a command accepts these words: its options with valid values, and existing files."""
    path, rest = taken_apart(words)
    command = command_of(path)
    if command is None:
        return False
    context = click.Context(command)
    try:
        values, left, _order = command.make_parser(context).parse_args(mended(command, rest))
        for each in command.params:
            if isinstance(each, click.Option):
                if each.name in values:
                    each.type_cast_value(context, values[each.name])
            elif not all_there(command, each, values.get(each.name or "")):
                return False
    except (click.ClickException, KcliError, OSError):
        return False
    return not left


def mended(command: click.Command, words: Words) -> Words:
    from kcli.cli.options.filter import FilterCommand

    return command.mended(words) if isinstance(command, FilterCommand) else [*words]


def all_there(command: click.Command, argument: click.Parameter, value: Any) -> bool:
    """Return whether the values of an argument for files are existing files."""
    if not isinstance(value, str | tuple):  # click has a marker of its own for options that were not given
        return argument.name != "files" and not argument.required
    if argument.name != "files":
        return not (command.name == "sql" and os.path.lexists(str(value)))
    values = value if isinstance(value, tuple) else (value,)
    return bool(values) and all(each == "-" or os.path.lexists(each) for each in values)
