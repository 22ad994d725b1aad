"""`kcli sql`: questions about captures, log segments, snapshots and written tables, in SQL."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from kcli.cli.options.duration import Duration
from kcli.cli.options.filter import filter_of_times, time_options
from kcli.cli.options.inputs import (
    format_option,
    formulas_option,
    port_option,
    quiet_option,
    read_of,
    read_text,
    reading_options,
    secrets_option,
)
from kcli.cli.options.payloads import decoder_of, files_named, payload_options
from kcli.cli.options.pipes import has_more, with_input_aside, without_pipes
from kcli.cli.options.refusal import refused
from kcli.cli.terminal.console import refuse_parquet_on_terminal, terminal_room
from kcli.cli.terminal.lines import print_line
from kcli.cli.terminal.output import open_output, output_option, refuse_inputs
from kcli.errors import UsageError
from kcli.pipeline.queries import QUESTIONS

FORMATS = ("table", "json", "jsonl", "csv", "parquet")


@click.command()
@click.argument("query", required=False, metavar="[QUERY]")
@click.argument("files", nargs=-1, metavar="FILE|DIR...")
@format_option(FORMATS, "The output format.", default="table")
@click.option("--list", "list_", is_flag=True, help="List the tables with their columns, and the questions.")
@click.option(
    "--question", type=click.Choice([each.name for each in QUESTIONS]), help="Answer one of the report's questions."
)
@click.option(
    "-f", "--file", "script", metavar="FILE", help="Read the query from FILE, or several queries, each ended by `;`."
)
@click.option(
    "--timeout", type=Duration(), default="1h", show_default=True, metavar="TIME",
    help="End a query that takes longer: 30s, 2h.",
)  # fmt: skip
@formulas_option
@payload_options
@port_option
@refused("the query has a WHERE clause of its own", "--where")
@time_options
@output_option
@quiet_option("Do not print the number of rows.")
@secrets_option()
@reading_options
def sql(query: str | None, files: tuple[str, ...], **options: Any) -> None:
    """Answer a question in SQL (DuckDB's) about captures, log segments, snapshots and Parquet tables.

    Several captures are read as one. DIR means all files in it: a partition's folder, a folder of captures, the tables
    of `kcli pipeline run`. Without QUERY, kcli prompts for queries. `kcli sql --list` shows the tables. --since and
    --until apply to exchanges before kcli makes the tables.

    \b
    kcli sql "SELECT client_id, count(*) FROM exchanges GROUP BY ALL" night.pcap
    kcli sql --question refused night.pcap
    """
    if options["list_"]:
        print_list()
        return
    question, script = options["question"], options["script"]
    if question and script:
        raise UsageError("--question, --file: one of them at most")
    if query is not None and not query.strip():
        raise UsageError("QUERY: empty (SQL expected, as in `kcli sql --list`; without QUERY kcli asks for queries)")
    if query is not None and (question or script or query == "-" or names_file(query)):
        files, query = (query, *files), None
    query = sql_of(question) if question else query
    scripted = statements_in(script) if script else []
    if scripted:
        query = scripted[0]
    if len(scripted) > 1 and options["output"] is not None:
        raise UsageError(f"-f {script}: {len(scripted)} queries, whose answers can't all go to one file")
    files = without_pipes(files)
    if not files:
        raise UsageError("FILE|DIR...: missing (captures, log segments, snapshots or tables expected)")
    parquet = options["format_"] == "parquet"
    refuse_parquet_on_terminal(options["format_"], options["output"])
    if query is None and (options["output"] is not None or parquet):
        raise UsageError("QUERY: missing (kcli sql QUERY FILE...); only its answer can go to a file")
    refuse_inputs(options["output"], (*files, *options["key_logs"], *files_named(options)))
    run_query(query, files, options, scripted[1:])


def statements_in(script: str) -> list[str]:
    """Return the queries in a file. Raises UsageError if it contains none."""
    from kcli.cli.sql.prompt import queries

    text = read_text(script).decode("utf-8", "replace")
    found = list(queries(False, io.StringIO(text)))
    if not found:
        raise UsageError(f"-f {script}: no query")
    return found


def names_file(text: str) -> bool:
    """Return whether a text is a file name and not a query: each part between slashes has at most 255 bytes."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def sql_of(question: str) -> str:
    """Return the query that answers a question of that name."""
    return next(each.sql for each in QUESTIONS if each.name == question)


def run_query(query: str | None, files: tuple[str, ...], options: dict[str, Any], more: Sequence[str] = ()) -> None:
    """Answer one query, or all that are typed. more: queries behind the first. Raises UsageError."""
    from kcli.cli.sql.prompt import answer, prompt
    from kcli.cli.sql.results import write_answer
    from kcli.extras import require

    require("kcli sql", "sql")
    from kcli.sql.given_tables import open_engine
    from kcli.sql.inputs import is_read_once, sort_inputs

    inputs = sort_inputs(files if query is None else with_input_aside(files, is_read_once))
    captured = read_of(options) | {"secrets": options["secrets"]}
    captured["chosen"] = chosen = filter_of_times(options, inputs.captures)
    if inputs.others and not chosen.takes_all:
        raise UsageError(f"{inputs.others[0]}: no capture; --since and --until are for captures (WHERE timestamp ...)")
    decoder = decoder_of(options, inputs.captures)
    from kcli.capture.io.capture_file import StandardInput

    StandardInput.is_worth_waiting = staticmethod(has_more)
    with open_engine(inputs, captured, options["timeout"], decoder) as engine:
        if query is None:
            if "-" in files:
                raise UsageError("QUERY: missing; kcli can't ask for it, because standard input is an input")
            prompt(engine, options["format_"], quiet=options["quiet"])
            return
        with open_output(options["output"], files) as out:
            room = terminal_room(options["output"])
            form = {"quiet": options["quiet"], "escaped": options["formulas"]}
            write_answer(engine, query, out, options["format_"], room=room, **form)
        for each in more:
            answer(engine, each, options["format_"], **form)
    if decoder is not None:
        decoder.raise_failure()


def print_list() -> None:
    from kcli.cli.sql.results import list_lines

    for line in list_lines(terminal_room()):
        print_line(line)
