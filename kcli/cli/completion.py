"""`kcli completion`: prints a shell completion script, and completes values."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcli.cli.options.inputs import quiet_option
from kcli.errors import KcliError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Metavars of files and directories.
FILE, FOLDER = re.compile(r"\b(FILE|OUT|IN|CAPTURE)\b"), re.compile(r"\b(DIR|FOLDER|DIRECTORY)\b")
SECONDS = 1.0  # most seconds of reading captures for their topics


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@quiet_option("No warnings.", used=False)
def completion(shell: str) -> None:
    """Print a shell completion script.

    It completes commands, options, files, APIs, topics of the files named earlier on the line, error names, dialects
    and releases.

    \b
    bash   eval "$(kcli completion bash)"     in ~/.bashrc
    zsh    eval "$(kcli completion zsh)"      in ~/.zshrc
    fish   kcli completion fish > ~/.config/fish/completions/kcli.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None  # click has all three
    script = made(click.get_current_context().find_root().command, {}, "kcli", "_KCLI_COMPLETE").source()
    # click's script for fish cuts meanings, and values, at their first comma
    click.echo(script.replace('string split "," $', 'string split --max 1 "," $'))


def teach(command: click.Command) -> None:
    """Add completion to the values of the command's options and arguments."""
    for param in command.params:
        shown = param.metavar or str(param.name).upper()
        by_metavar = files if FILE.search(shown) else folders if FOLDER.search(shown) else None
        known = next((VALUES[name] for name in param.opts if name in VALUES), by_metavar)
        if known is not None and param.type is click.STRING:
            param.type = Completed(known)


class Completed(click.ParamType):  # type: ignore[type-arg]
    """Any text, completed by a function of the words before it."""

    name = "text"

    def __init__(self, values: Callable[[click.Context, str], Iterable[CompletionItem]]) -> None:
        self.values = values

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the completions; none if a file can't be read, as a shell can't show errors."""
        with contextlib.suppress(KcliError, OSError):
            return list(self.values(ctx, incomplete))
        return []


def files(_context: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    from click.shell_completion import CompletionItem

    yield CompletionItem(incomplete, type="file")


def folders(_context: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    from click.shell_completion import CompletionItem

    # never empty: zsh's script would take the next word for it
    yield CompletionItem(incomplete or "./", type="dir")


def words(found: Iterable[str | tuple[str, str]], incomplete: str) -> Iterable[CompletionItem]:
    """Yield the words that start with the incomplete one, in any case. A pair is a word and its meaning."""
    from click.shell_completion import CompletionItem

    for each in found:
        word, text = (each, None) if isinstance(each, str) else each
        if word.lower().startswith(incomplete.lower()):
            yield CompletionItem(word, help=text)


def apis(context: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    from kcli.schemas.catalog import catalog

    tables = catalog(context.params.get("dialect"))
    return words([(api.name, f"API key {key}") for key, api in tables.apis.items()], incomplete)


def messages(context: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Complete names of APIs and messages, for commands that know messages."""
    if "dialect" not in context.params:
        return []
    from kcli.schemas.catalog import catalog

    tables = catalog(context.params.get("dialect"))
    return words([*(api.name for api in tables.apis.values()), *tables.names], incomplete)


def errors(_context: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    from kcli.schemas.errors import ERRORS

    return words([(name, f"error {code}") for code, name in ERRORS.items()], incomplete)


def releases(_context: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    from kcli.schemas.catalog import catalog

    return words(reversed(catalog().releases), incomplete)


def dialects(context: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    from kcli.schemas.dialects import shipped

    yield from folders(context, incomplete)
    yield from words(shipped(), incomplete)


def topics(context: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Complete topics of the files named earlier on the line, if a shell needs no quotes for their names. `decode
    segment` and `decode batch` take an internal topic.
    """
    from kcli.records.internal import TOPICS
    from kcli.topic_names import name_fault

    paths = [*context.args, *(context.params.get("files") or ())]
    found = TOPICS if "position" in context.params or "base64_" in context.params else topics_in(paths)
    return words(sorted(name for name in found if name_fault(name) is None), incomplete)


def topics_in(files: Iterable[str]) -> set[str]:
    """Return the topics in captures, which are read for a second at most, and the topics of segments, by their folders'
    names.
    """
    from kcli.capture.decoder import CaptureDecoder
    from kcli.capture.io.capture_files import is_capture
    from kcli.capture.statistics import StatisticsSink
    from kcli.topic_names import partition_of

    paths = [each for name in files for each in ([Path(name)] if Path(name).is_file() else Path(name).rglob("*"))]
    found = {partition_of(path.absolute().parent.name)[0] for path in paths if path.suffix == ".log"}
    captures = [str(path) for path in paths if path.is_file() and is_capture(path)]
    source, end = CaptureDecoder(captures, StatisticsSink(("topic",))), time.monotonic() + SECONDS
    with contextlib.suppress(KcliError):
        for _ in source.read():
            if time.monotonic() > end:
                break
    found |= {str(row.group["topic"]) for row in source.sink.rows() if row.group and row.group["topic"] is not None}
    return {name for name in found if name is not None}


VALUES: Mapping[str, Callable[[click.Context, str], Iterable[CompletionItem]]] = {
    # files whose metavars do not say so: of snapshot diff, sql, pipeline run, snapshot create
    **dict.fromkeys(("before", "after", "query", "--input", "--output", "--py-files", "--snapshot"), files),
    "--api": apis,
    "--only": apis,
    "--skip": apis,
    "--topic": topics,
    "--error": errors,
    "--dialect": dialects,
    "--release": releases,
    "--against": releases,
    "name": messages,
    "words": messages,
}
