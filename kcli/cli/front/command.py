"""`kcli FILE...`: what a file is, what is in it, what is wrong, and what to ask next."""

from typing import Any

import click

from kcli.cli.front.captures import captures_screen
from kcli.cli.front.kinds import kind_of
from kcli.cli.front.screens import SCREENS
from kcli.cli.options.inputs import files_argument, port_option, quiet_option, reading_options
from kcli.cli.terminal.error_summary import conclude
from kcli.errors import InputError


@click.command("FILE...")
@files_argument("FILE|DIR...")
@port_option
@quiet_option("No progress.")
@reading_options
def front(files: tuple[str, ...], **options: Any) -> int:
    """Say what a file is, what is in it, what is wrong, and what to ask next.

    FILE is a capture, a log segment, a KRaft snapshot, a Parquet file, a key log, or a message in bytes or hex; DIR a
    folder of captures, of a partition, of a metadata log, or of the pipeline's tables. Captures are read as one. Exit
    code 1: something is wrong; 3: nothing could be judged.

    \b
    kcli night.pcap
    kcli night.pcap --key-log keys.log
    kcli __cluster_metadata-0
    """
    kinds, codes, problems = dict[str, str](), [0], list[InputError]()
    for file in files:
        try:
            kinds[file] = kind_of(file)
        except InputError as error:
            problems.append(error)
    captures = tuple(file for file, kind in kinds.items() if kind == "capture")
    if captures:
        codes.append(captures_screen(captures, options))
    for file, kind in kinds.items():
        if kind != "capture":
            try:
                codes.append(SCREENS[kind](file, kind))
            except InputError as error:
                problems.append(error.within(file))
    conclude(problems, options["quiet"])
    return max(codes)
