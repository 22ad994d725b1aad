"""`kcli pipeline report`: what the tables show, as a page or on the terminal."""

import sys
from typing import Any

import click

from kcli.cli.options.inputs import check_files, quiet_option
from kcli.cli.terminal.columns import print_rows
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.lines import print_line, print_note
from kcli.cli.terminal.output import open_output, refuse_inputs
from kcli.counting import bytes_text
from kcli.extras import missing, require

NUMBERED = ("partition", "end_offset", "epoch", "replica_id")  # columns of numbers that count nothing


@click.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "-o", "--output", metavar="FILE",
    help="Write one self-contained HTML page instead of tables. An existing FILE is replaced only when it is "
         "complete.",
)  # fmt: skip
@click.option("--sql", is_flag=True, help="Print the SQL of each question. Without -o, print nothing else.")
@click.option("--master", metavar="URL", help="Use Spark with this master, instead of DuckDB in this process.")
@quiet_option("Do not print where the page is.")
def report(folder: str, output: str | None, sql: bool, master: str | None, quiet: bool) -> None:
    """Report on the tables in DIR, which `kcli pipeline run` made.

    The report has the findings of `kcli diagnose`, clients that an upgrade would refuse, down-conversion, fetch
    sessions, leader changes, remote fetches, and whether all packets and bytes are accounted for.

    \b
    kcli pipeline report tables/
    kcli pipeline report tables/ -o report.html
    """
    if sql and output is None:
        print_sql()
        return
    if "://" not in folder:
        check_files([folder])
    warn_of_older(folder)
    if output is not None:
        refuse_inputs(output, [folder])
        write_page(folder, output, master, quiet=quiet)
        if sql:
            print_sql()
        return
    answers = answered(folder, master)
    if "://" not in folder:
        from kcli.cli.diagnose.stored import print_stored_findings

        print_stored_findings(folder)
        print_line()
    print_answers(answers)


def warn_of_older(folder: str) -> None:
    """Say which runs some tables lack, as an older kcli made them."""
    from kcli.pipeline.journal import unfounded_notes
    from kcli.pipeline.report import opened

    for note in unfounded_notes(opened(folder)):
        warn(note)


def answered(folder: str, master: str | None) -> list[Any]:
    """Ask all questions of the tables in a folder."""
    if is_by_spark(folder, master):
        from kcli.pipeline.report import ask

        return list(ask(spark_with_tables(folder, master)))
    require("kcli pipeline", "sql")
    from kcli.report.fleet import ask_here

    return list(ask_here(folder))


def is_by_spark(folder: str, master: str | None) -> bool:
    """Return whether Spark answers: a master is given, DuckDB is missing, or the tables are not on this machine."""
    return master is not None or "://" in folder or "duckdb" in missing("sql")


def spark_with_tables(folder: str, master: str | None) -> Any:
    """Return a session that has the tables, as `kcli pipeline run` starts it."""
    require("kcli pipeline", "spark")
    from kcli.pipeline.report import open_tables, stored_bytes
    from kcli.pipeline.spark import BRIEF_BYTES, log_beside, session

    spark = session(master, log=log_beside(folder), brief=stored_bytes(folder) < BRIEF_BYTES)
    open_tables(spark, folder)
    return spark


def write_page(folder: str, output: str, master: str | None, *, quiet: bool) -> None:
    """Write the report as a page, into a file or to standard output."""
    from kcli.cli.report import command as pages

    if is_by_spark(folder, master):
        from kcli.pipeline.report import SparkTables, described
        from kcli.report.asking import ask_fleet

        with SparkTables(spark_with_tables(folder, master)) as tables:
            answers = ask_fleet(tables)
        with open_output(output, [folder]) as out:
            size = pages.write_page(out, answers, f"What the wire says: {described(folder)}")
    else:
        require("kcli pipeline", "report")
        with open_output(output, [folder]) as out:
            size = pages.write_tables(out, folder)
    if output != "-" and not quiet:
        print_note(f"report in {output} ({size // 1000:,} kB)")


def print_sql() -> None:
    from kcli.pipeline.queries import QUESTIONS

    for question in QUESTIONS:
        sys.stdout.write(f"-- {question.title}\n{question.sql.strip()};\n\n")


def print_answers(answers: list[Any]) -> None:
    for each in answers:
        if not each.rows:
            for line in (each.question.title, each.question.empty, ""):
                print_line(line)
            continue
        rows = [[cell(name, value) for name, value in zip(each.columns, row, strict=True)] for row in each.rows]
        print_rows([name.replace("_", " ") for name in each.columns], rows, title=each.question.title)
        print_line()


def cell(name: str, value: Any) -> str:
    """Format a value for people; bytes by their column's name."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("bytes"):
        return bytes_text(value)
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return f"{value:,}" if isinstance(value, int) and name not in NUMBERED else str(value)
