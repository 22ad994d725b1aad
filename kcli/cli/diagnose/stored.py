"""Findings of the pipeline's runs, in words."""

import sys
from collections.abc import Sequence

from kcli.cli.diagnose.text import finding_lines
from kcli.cli.terminal.console import shows_colour, terminal_room
from kcli.cli.terminal.lines import print_line
from kcli.diagnose.finding_text import counted_by_severity
from kcli.finding import Finding
from kcli.pipeline.derived.judged_tables import FILES
from kcli.shell import file_word


def print_stored_findings(folder: str, most: int | None = None) -> Sequence[Finding]:
    """Print what the last run into a folder found, the gravest first, and return it. most: findings that are shown.

    Raises InputError if the folder holds no run.
    """
    from kcli.pipeline.report import stored_findings

    found = [*stored_findings(folder)]
    for each in found[:most]:
        each.see = over_tables(each.see, folder)
        for line in finding_lines(each, terminal_room(None), colour=shows_colour(sys.stdout), whole=True):
            print_line(line)
    print_line(f"Findings: {counted_by_severity(found) or 'none'}.")
    return found


def over_tables(see: str, folder: str) -> str:
    """Return a command over captures as a command over the folder's tables, which hold no records unless the run was
    asked to store them.
    """
    reads_tables = see.startswith("kcli sql ") and " FROM records " not in see
    return see.replace(FILES, file_word(folder)) if reads_tables else see
