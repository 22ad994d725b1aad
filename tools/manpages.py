"""Man pages, one for each command, made from the commands themselves.

    python tools/manpages.py FOLDER        write them (make man)

The pages hold no date and no version: they change only when a command does.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from kcli.cli.main import cli

__all__ = ["commands", "pages", "write"]

EXIT_CODES = (
    ("0", "Done."),
    ("1", 'Done, and the answer is "no": a verify, lint, audit or replay that found something.'),
    ("2", "Wrong usage."),
    ("3", "Input that cannot be read as what it should be; what could be read was still written."),
    ("4", "A broker or network failure."),
    ("130", "Interrupted."),
)


def commands(command: click.Command = cli, parent: click.Context | None = None) -> Iterator[click.Context]:
    """A context for each command and group, `kcli` itself first."""
    context = click.Context(command, info_name=command.name, parent=parent, **command.context_settings)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                child.name = name
                yield from commands(child, context)


def pages() -> dict[str, str]:
    """File name ("kcli-decode-pcap.1") to its text."""
    return {f"{page_name(context)}.1": page(context) for context in commands()}


def page_name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def page(context: click.Context) -> str:
    name, command = page_name(context), context.command
    lines = [f'.TH "{name.upper()}" "1" "" "kcli" "kcli manual"']
    lines += [".SH NAME", f"{roff(name)} \\- {roff(command.get_short_help_str(200).rstrip('.'))}"]
    lines += [".SH SYNOPSIS", f".B {roff(context.command_path)}", roff(usage(context))]
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(command.help or ""))
    examples = [block for block in blocks if is_example(block)]
    lines += [".SH DESCRIPTION", *paragraphs([block for block in blocks if block not in examples])]
    lines += options(context)
    if examples:
        lines += [".SH EXAMPLES", *paragraphs(examples)]
    lines += subcommands(context)
    lines += [".SH EXIT STATUS", *(line for code, text in EXIT_CODES for line in (".TP", f".B {code}", roff(text)))]
    lines += [".SH SEE ALSO", see_also(context)]
    return "\n".join(lines) + "\n"


def usage(context: click.Context) -> str:
    return " ".join(context.command.collect_usage_pieces(context))


def is_example(block: str) -> bool:
    """Whether a block of help has command lines, one in each line."""
    return block.startswith("\b") and all("kcli " in line for line in block.splitlines()[1:])


def paragraphs(blocks: Iterable[str]) -> Iterator[str]:
    """Blocks of help as roff; one that is marked with click's \\b keeps its lines."""
    for index, block in enumerate(blocks):
        if index:
            yield ".PP"
        if block.startswith("\b"):
            yield from (".nf", *map(roff, block.splitlines()[1:]), ".fi")
        else:
            yield roff(" ".join(block.split()))


def options(context: click.Context) -> Iterator[str]:
    records = [param.get_help_record(context) for param in context.command.get_params(context)]
    rows = [(names, text) for names, text in filter(None, records) if text]  # the description covers arguments
    if rows:
        yield ".SH OPTIONS"
    for names, text in rows:
        yield from (".TP", f"\\fB{roff(names)}\\fR", roff(" ".join(text.split())))


def subcommands(context: click.Context) -> Iterator[str]:
    if not isinstance(context.command, click.Group):
        return
    yield ".SH COMMANDS"
    for name in context.command.list_commands(context):
        child = context.command.get_command(context, name)
        if child is not None and not child.hidden:
            yield from (".TP", f"\\fB{roff(name)}\\fR", roff(child.get_short_help_str(200)))


def see_also(context: click.Context) -> str:
    names = [page_name(context.parent)] if context.parent else []
    if isinstance(context.command, click.Group):
        names += [f"{page_name(context)}-{name}" for name in context.command.list_commands(context)]
    return ",\n".join(f".BR {roff(name)} (1)" for name in names).replace(",\n", " ,\n")


def roff(text: str) -> str:
    """Text as roff takes it: escapes for its own characters, none of our lines a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def write(folder: Path) -> None:
    """Make the folder hold these pages and no others."""
    folder.mkdir(exist_ok=True)
    made = pages()
    for old in folder.glob("*.1"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(Path(sys.argv[1]))
