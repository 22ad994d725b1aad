"""`kcli decode batch`: record batches and message sets."""

from typing import Any, BinaryIO

import click

from kcli.cli.decode.batch_findings import report_findings
from kcli.cli.decode.batch_formats import hook_of, write_lines, write_table
from kcli.cli.decode.batch_sources import memory_source
from kcli.cli.decode.coprocess import answer_lines, check_lines
from kcli.cli.decode.lines_option import lines_option
from kcli.cli.decode.slip_hints import MOST_LINES, SlipNamer, batch_text
from kcli.cli.options.inputs import (
    batch_records_option,
    binary_input,
    dialect_option,
    format_option,
    quiet_option,
    read_message,
    secrets_option,
)
from kcli.cli.terminal.console import terminal_room
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import Lines
from kcli.cli.terminal.output import open_output, output_option
from kcli.errors import InputError
from kcli.input_names import name_of
from kcli.topic_names import CLUSTER_METADATA


@click.command()
@click.argument("file", default="-")
@binary_input
@dialect_option
@batch_records_option("full")
@format_option(
    ("json", "jsonl", "table", "tree", "hexdump"),
    "The output format; json and jsonl: one batch per line; tree, hexdump: each field with its bytes.",
    default="json",
)
@click.option("--topic", help="The internal topic of the batches, to decode its records.")
@output_option
@lines_option("a batch in hex or base64 by a line of JSON")
@quiet_option("No warnings.")
@secrets_option()
def batch(file: str, **options: Any) -> None:
    """Decode record batches or message sets of a Produce request, a Fetch response or a log segment.

    FILE has their bytes ("-", the default: standard input). `kcli encode batch` makes the same bytes from the output of
    --records full.

    \b
    kcli decode batch batch.bin
    echo 0000 0000 ... | kcli decode batch --hex --format tree
    """
    full, secrets, quiet, format_ = (
        options["records"] == "full",
        options["secrets"],
        options["quiet"],
        options["format_"],
    )
    if options["lines"]:
        from kcli.cli.decode.lines import batch_reply

        check_lines({name: options[name] for name in ("hex_", "base64_", "format_")}, ("json", "jsonl"))
        hook, slips = hook_of(options["topic"], options["dialect"], secrets), SlipNamer(batch_text, MOST_LINES)
        base64 = options["base64_"]
        answer_lines(file, lambda text, n: batch_reply(text, n, base64, full, secrets, hook, slips), options["output"])
        return
    data = read_message(file, options["hex_"], options["base64_"], expected="record batches")
    with open_output(options["output"], [file]) as out:
        if format_ in ("tree", "hexdump"):
            show_spans(data, format_, out, name_of(file), secrets, quiet)
            return
        source = memory_source(data)
        if format_ == "table":
            found = write_table(source, out, room=terminal_room(options["output"]))
        else:
            from kcli.records.parallel_json import LineForm

            hook = hook_of(options["topic"], options["dialect"], secrets)
            metadata = options["topic"] == CLUSTER_METADATA
            found = write_lines(source, out, LineForm(full, hook, payloads=True, secrets=secrets, metadata=metadata))
    from kcli.records.record_faults import field_faults

    report_findings(
        found, name_of(file), quiet, field_faults(data, problems=found.problems), lambda: batch_text(data, 0, {})
    )


def show_spans(data: bytes, format_: str, out: BinaryIO, name: str, secrets: bool, quiet: bool) -> None:
    from kcli.cli.decode.spans import hexdump_lines, tree_lines
    from kcli.records.record_faults import field_faults
    from kcli.records.spans import batch_spans, with_faults

    spans, problem = batch_spans(data, secrets)
    shown = [*with_faults(spans, data, problem)]
    Lines(out).lines((tree_lines if format_ == "tree" else hexdump_lines)(data, shown))
    lines = [*field_faults(data), *([str(problem)] if problem is not None else [])]
    if lines:
        lines[-1] += batch_text(data, 0, {})
    conclude([InputError(line, file=name) for line in lines], quiet)
