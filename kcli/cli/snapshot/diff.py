"""kcli snapshot diff: what changed between two snapshots, or two offsets of a metadata log."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import click

from kcli.cli.options.inputs import dialect_option, quiet_option, refuse_one_for_two, secrets_option, text_format_option
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import Lines, print_note
from kcli.cli.terminal.output import open_output, output_option
from kcli.errors import InputError, UsageError
from kcli.jsontext import dumps
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.api import apart, load_image, parse_wanted


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """The options of `kcli snapshot diff`."""

    form: str
    output: str | None
    secrets: bool
    commands: bool
    bootstrap: str | None
    exit_code: bool
    quiet: bool
    dialect: str | None


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@text_format_option()
@output_option
@secrets_option("--secrets")
@click.option("--commands", is_flag=True, help="Print commands of Kafka's tools that restore A's state.")
@click.option("--bootstrap", metavar="HOST:PORT", help="The cluster in the lines of --commands.")
@click.option("--exit-code", is_flag=True, help="Exit with code 1 when there are differences.")
@quiet_option("No summary, no warnings.")
@dialect_option
def diff(before: str, after: str, **values: Any) -> int:
    """Show the objects that were created, deleted and changed from A to B, independent of the order of records.

    A and B are snapshots or directories. DIR@OFFSET is the state before that log offset (`kcli snapshot diff DIR@1200
    DIR@1600`), DIR@TIME the state at that time (ISO 8601), by the log. kcli prints the compared offsets to standard
    error; between different offsets it shows the changes in between. To compare nodes at one offset use `kcli snapshot
    drift`.

    --commands prints kafka-topics, kafka-configs, kafka-acls and other commands that undo the changes: deleted topics
    with their partitions and configs, ACLs, quotas, features. Records and secrets can't be restored; comments say what
    is missing.

    \b
    kcli snapshot diff old.checkpoint new.checkpoint
    kcli snapshot diff __cluster_metadata-0@1200 __cluster_metadata-0@1600 --format jsonl
    kcli snapshot diff __cluster_metadata-0@1200 __cluster_metadata-0 --commands > undo.sh
    """
    options = DiffOptions(**values)
    if options.bootstrap and not options.commands:
        raise UsageError("--bootstrap is for --commands")
    refuse_one_for_two("A and B", before, after)
    from kcli.snapshots.image.change_text import MARKS, change_json, change_text
    from kcli.snapshots.image.diff import diff_images
    from kcli.snapshots.image.undo import undo

    images = []
    inputs = []
    problems: list[InputError] = []
    for text, wanted in zip((before, after), apart(parse_wanted(before), parse_wanted(after)), strict=True):
        loaded = load_image(wanted, dialect=options.dialect)
        images.append(loaded.loader.image)
        inputs += [str(wanted.path), *loaded.sources]
        problems += [InputError(problem, file=text) for _, problem in loaded.loader.problems]
        if loaded.note:
            warn(f"{text}: {loaded.note}", options.quiet)
    counts: Counter[str] = Counter()
    with open_output(options.output, inputs) as out:
        write = Lines(out).line
        changes = list(diff_images(images[0], images[1])) if options.commands else ()
        if options.commands:
            counts.update(change.kind for change in changes)
            Lines(out).lines(undo(changes, images, options.bootstrap))
        for change in () if options.commands else diff_images(images[0], images[1], secrets=options.secrets):
            counts[change.kind] += 1
            write(dumps(change_json(change)) if options.form == "jsonl" else change_text(change))
    if not options.quiet:
        kinds = ", ".join(f"{counts[kind]:,} {kind}" for kind in MARKS if counts[kind])
        print_note(f"{kinds or 'no difference'} from {extent(images[0])} to {extent(images[1])}")
    conclude(problems, options.quiet)
    return 1 if counts and options.exit_code else 0


def extent(image: Image) -> str:
    return f"offset {image.provenance.end_offset}, epoch {image.provenance.epoch}"
