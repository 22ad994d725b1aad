"""kcli snapshot image: the metadata that a controller would hold, as figures, tree, tables, or answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kcli.cli.options.inputs import dialect_option, format_option, quiet_option, secrets_option
from kcli.cli.terminal.cells import align, hanging
from kcli.cli.terminal.commands import listed_commands
from kcli.cli.terminal.console import terminal_room, warn
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import Lines, print_note
from kcli.cli.terminal.output import open_output
from kcli.counting import counted
from kcli.errors import InputError, UsageError
from kcli.input_names import STDIN
from kcli.jsontext import dumps
from kcli.shell import file_word
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.api import Loaded, Wanted, load_image, parse_time

if TYPE_CHECKING:
    from kcli.snapshots.image.image_tables import ImageTable
    from kcli.snapshots.image.tree import Node

QUESTIONS = (
    "under-replicated",
    "under-replicated-topics",
    "offline",
    "reassigning",
    "with-elr",
    "not-preferred",
    "recovering",
    "by-broker",
    "preferred-skew",
    "fenced",
)
VERBS = ("ls", "cat", "find", "tree")


@dataclass(frozen=True, kw_only=True)
class ImageOptions:
    """The options of `kcli snapshot image`."""

    verb: str | None
    place: str | None
    log: str | None
    at_offset: int | None
    at_time: str | None
    path: str | None
    ask: str | None
    without: tuple[str, ...]
    form: str
    output: str | None
    secrets: bool
    stats: bool
    quiet: bool
    dialect: str | None


@click.command()
@click.argument("source", metavar="FILE|DIR")
@click.argument("verb", metavar="[ls|cat|find|tree]", required=False, type=click.Choice(VERBS))
@click.argument("place", metavar="[PATH]", required=False)
@click.option("--log", metavar="DIR", help="Replay the log segments of this directory after the snapshot.")
@click.option(
    "--at-offset",
    type=click.IntRange(min=0),
    metavar="N",
    help="The state before log offset N, or before the batch that contains it.",
)
@click.option("--at-time", metavar="TIME", help="The state at this time (ISO 8601), by the log.")
@click.option("--path", metavar="GLOB", help="Print the nodes that match this path, as `tree` does: 'topics/byName/*'.")
@click.option("--ask", type=click.Choice(QUESTIONS), help="Answer a question about the metadata.")
@click.option(
    "--without",
    multiple=True,
    metavar="broker=ID|rack=NAME",
    help="Show partitions if these fail: offline, under min ISR, next leaders; repeatable.",
)
@format_option(
    ("text", "json", "jsonl", "parquet"),
    "The output format; json: one object of tables; jsonl: one row per line; parquet: a file for each table in "
    "the directory -o.",
    default="text",
    name="form",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|DIR",
    help="Write to FILE instead of standard output; parquet: into DIR. An existing one is replaced only when all "
    "is written.",
)
@secrets_option("--secrets")
@click.option("--stats", is_flag=True, help="Print the load time to standard error.")
@quiet_option("No warnings on stderr.")
@dialect_option
def image(source: str, **values: Any) -> int:
    """Query the metadata in a snapshot and the log after it, as a controller loads it.

    FILE is a snapshot; for a directory kcli takes the newest snapshot and the log after it. Without further arguments
    kcli prints the numbers of objects. `ls`, `cat`, `find` and `tree` take a path of kafka-metadata-shell
    (/image/topics/byName/...), which may be a pattern (`*`, `?`, `**`) and may begin below /image.

    \b
    kcli snapshot image __cluster_metadata-0 tree topics/byName/orders
    kcli snapshot image __cluster_metadata-0 --ask under-replicated
    kcli snapshot image __cluster_metadata-0 --at-offset 1200 --format json
    kcli snapshot image __cluster_metadata-0 --without rack=b
    """
    options = ImageOptions(**values)
    if options.form == "parquet" and (options.verb or options.path or not options.output):
        raise UsageError("--format parquet writes all tables, into the directory that -o names")
    if options.form == "parquet":
        from kcli.extras import require

        require("--format parquet", "parquet")
    if options.at_offset is not None and options.at_time is not None:
        raise UsageError("--at-offset and --at-time: one of them at most")
    moment = None if options.at_time is None else parse_time(options.at_time)
    loaded = load_image(Wanted(source, options.log, options.at_offset, at_time=moment), dialect=options.dialect)
    if options.stats:
        warn_stats(loaded)
    if loaded.note:
        warn(f"{source}: {loaded.note}", options.quiet)
    write = writer_for(options, source)
    inputs = [source, *filter(None, [options.log]), *loaded.sources]
    if options.form == "parquet":
        assert options.output is not None
        write_parquet(loaded.loader.image, options.output, inputs, options.secrets)
    else:
        with open_output(options.output, inputs) as out:
            write(loaded.loader.image, out)
    conclude([InputError(text, file=source) for _, text in loaded.loader.problems], options.quiet)
    return 0


def warn_stats(loaded: Loaded) -> None:
    records, seconds = loaded.loader.records, loaded.seconds
    print_note(f"LoadSnapshotLatencyMs {seconds * 1000:.1f}  records {records:,}  files {len(loaded.sources)}")


Writer = Callable[["Image", BinaryIO], None]


def writer_for(options: ImageOptions, source: str) -> Writer:
    """Return the function that writes the image, or the part of it that the options ask for. Raises UsageError."""
    form, secrets = options.form, options.secrets
    if sum(map(bool, (options.verb, options.path, options.ask, options.without))) > 1:
        raise UsageError(f"{', '.join(VERBS)}, --path, --ask and --without: one of them at most")
    if options.without:
        return lambda found, out: write_what_if(found, options.without, form, out)
    if question := options.ask:
        return lambda found, out: write_answer(found, question, form, out)
    if options.verb or options.path:
        action, pattern = (options.verb or "tree"), options.path or options.place or "/"
        return lambda found, out: write_nodes(found, action, pattern, form, secrets, out)
    if form in ("json", "jsonl"):
        return lambda found, out: write_tables(found, form, secrets, out)
    again = None if options.quiet or source == STDIN else source
    return lambda found, out: write_summary(found, out, again, options.output)


def write_summary(found: Image, out: BinaryIO, again: str | None, output: str | None) -> None:
    """Write the figures, and the next commands. again: the input in these; None: no commands."""
    from kcli.snapshots.image.summary import image_summary

    summary = image_summary(found)
    wide, room = max(map(len, summary)), terminal_room(output)
    write = Lines(out).lines
    for name, value in summary.items():
        write(hanging(f"{name:<{wide}}  ", shown_value(value), room))
    if again is not None:
        same = f"kcli snapshot image {file_word(again)}"
        write(["", "Next:", *listed_commands([f"{same} tree topics/byName", f"{same} --ask by-broker"], room)])


def shown_value(value: object) -> str:
    """Return a value of the summary as text: levels of features and lists between commas; "-": none."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {level}" for name, level in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def write_what_if(found: Image, without: tuple[str, ...], form: str, out: BinaryIO) -> None:
    """Write the state of partitions without some brokers: in figures, then each."""
    from kcli.snapshots.image.what_if import WhatIf, parse_without, what_if_summary

    removed = parse_without(found, without)
    outcomes = list(WhatIf(found, removed).outcomes())
    summary, rows = what_if_summary(outcomes, removed), [each.row() for each in outcomes]
    if form == "json":
        out.write(dumps({"summary": summary, "partitions": rows}).encode() + b"\n")
    elif form == "jsonl":
        out.writelines(dumps(row).encode() + b"\n" for row in rows)
    else:
        write = Lines(out).line
        for name, value in summary.items():
            write(f"{name:<14}  {dumps(value) if isinstance(value, dict | list) else value}")
        write("")
        write_columns(rows, write)
        if plan := reassignments(rows):
            write("")
            write("These replicas unblock what is under min ISR, once they have caught up (kafka-reassign-partitions):")
            write(plan)


def reassignments(rows: list[dict[str, object]]) -> str:
    """Return the plan for kafka-reassign-partitions; "" if no partition moves."""
    moved = [{"topic": row["topic"], "partition": row["partition"], "replicas": row["reassign"]}
             for row in rows if row["reassign"]]  # fmt: skip
    return dumps({"version": 1, "partitions": moved}) if moved else ""


def write_answer(found: Image, question: str, form: str, out: BinaryIO) -> None:
    from kcli.snapshots.image.questions import ask

    rows = ask(found, question)
    if form == "json":
        out.write(dumps(rows).encode() + b"\n")
    elif form == "text":
        write_columns(rows, Lines(out).line)
    else:
        out.writelines(dumps(row).encode() + b"\n" for row in rows)


def write_columns(rows: list[dict[str, object]], write: Callable[[str], None]) -> None:
    """Write rows in aligned columns, with a count."""
    if not rows:
        write("none")
        return
    names = list(rows[0])
    for line in align([names, *([plain(row[name]) for name in names] for row in rows)]):
        write(line)
    write(counted(len(rows), "row"))


def plain(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "yes" if value is True else "no" if value is False else "-" if value is None else str(value)


def write_nodes(found: Image, verb: str, pattern: str, form: str, secrets: bool, out: BinaryIO) -> None:
    from kcli.snapshots.image.tree import Leaf, image_tree, matches, walk_tree

    nodes = list(matches(image_tree(found, secrets=secrets), pattern))
    if not nodes:
        raise InputError(f"{pattern}: no such node (`ls /image` shows what there is)")
    if form in ("json", "jsonl"):
        for path, node in nodes:
            leaves = ((each, leaf.text()) for each, leaf in walk_tree(node, path) if isinstance(leaf, Leaf))
            out.writelines(dumps({"path": each, "value": value}).encode() + b"\n" for each, value in leaves)
        return
    write = Lines(out).lines
    for path, node in nodes:
        write(NODE_WRITERS[verb](path, node, len(nodes) > 1))


def list_node(path: str, node: Node, many: bool) -> Iterator[str]:
    from kcli.snapshots.image.tree import Leaf

    if isinstance(node, Leaf):
        yield path
        return
    if many:
        yield f"{path}:"
    yield from node.sorted_names()


def cat_node(path: str, node: Node, _many: bool) -> Iterator[str]:
    from kcli.snapshots.image.tree import Leaf

    if not isinstance(node, Leaf):
        raise InputError(f"{path} is a directory (`tree` and `ls` show those)")
    yield node.text()


def find_nodes(path: str, node: Node, _many: bool) -> Iterator[str]:
    from kcli.snapshots.image.tree import walk_tree

    yield from (each for each, _ in walk_tree(node, "" if path == "/" else path))


def tree_node(path: str, node: Node, many: bool) -> Iterator[str]:
    from kcli.snapshots.image.tree import lines_of

    if many:
        yield f"{path}:"
    yield from lines_of(node, 1 if many else 0)


NODE_WRITERS: dict[str, Callable[[str, Node, bool], Iterator[str]]] = {
    "ls": list_node,
    "cat": cat_node,
    "find": find_nodes,
    "tree": tree_node,
}


def write_tables(found: Image, form: str, secrets: bool, out: BinaryIO) -> None:
    """Write all tables: a row a line, or one object with a list for each."""
    from kcli.snapshots.image.image_tables import TABLES
    from kcli.snapshots.image.summary import image_summary

    if form == "jsonl":
        for table in TABLES.values():
            out.writelines(dumps({"table": table.name, **row}).encode() + b"\n" for row in table.rows(found, secrets))
        return
    out.write(b'{"summary":' + dumps(image_summary(found)).encode())
    for table in TABLES.values():
        out.write(b',"%s":[' % table.name.encode())
        for index, row in enumerate(table.rows(found, secrets)):
            out.write((b"," if index else b"") + dumps(row).encode())
        out.write(b"]")
    out.write(b"}\n")


def write_parquet(found: Image, folder: str, inputs: list[str], secrets: bool) -> None:
    from kcli.snapshots.image.image_tables import TABLES

    Path(folder).mkdir(parents=True, exist_ok=True)
    for table in TABLES.values():
        with open_output(Path(folder) / f"{table.name}.parquet", inputs) as out:
            write_table(table, table.rows(found, secrets), out)


def write_table(table: ImageTable, rows: Iterator[dict[str, object]], out: BinaryIO) -> None:
    """Write one Parquet file, in row groups of 65,536."""
    import pyarrow as arrow
    from pyarrow import parquet

    from kcli.snapshots.image.texts import HIDDEN

    types = {"list<int32>": arrow.list_(arrow.int32()), "list<string>": arrow.list_(arrow.string())}
    columns = [(name, types.get(kind) or arrow.type_for_alias(kind)) for name, kind in table.columns.items()]
    schema = arrow.schema(columns)
    rows = ({name: HIDDEN if isinstance(value, dict) else value for name, value in row.items()} for row in rows)
    with parquet.ParquetWriter(out, schema) as writer:
        while piece := list(islice(rows, 65536)):
            writer.write_table(arrow.Table.from_pylist(piece, schema=schema))
