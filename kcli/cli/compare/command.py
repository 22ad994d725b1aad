"""`kcli compare`: what a change of cluster or clients did, by captures of before and after."""

import sys
from collections.abc import Iterator
from os.path import realpath
from typing import Any

import click

from kcli.capture.io.capture_files import captures_in
from kcli.cli.compare.text import text_lines
from kcli.cli.decode.pcap.command import reading
from kcli.cli.options.filter import choosing_findings, filter_of_times
from kcli.cli.options.inputs import (
    check_files,
    format_option,
    port_option,
    quiet_option,
    read_of,
    reading_options,
    refuse_one_for_two,
)
from kcli.cli.options.refusal import refused
from kcli.cli.terminal.console import shows_colour, terminal_room
from kcli.cli.terminal.lines import Lines, print_note
from kcli.cli.terminal.output import open_output, output_option
from kcli.errors import InputError
from kcli.extras import require
from kcli.jsontext import dumps


@click.command()
@click.argument("before")
@click.argument("after")
@format_option(
    ("text", "jsonl", "json"), "The output format; json also has measures that did not change.", default="text"
)
@choosing_findings(sides=True)
@refused("changes are found by API, role and topic, of all that they do", "--where")
@port_option
@output_option
@quiet_option("No progress.")
@reading_options
def compare(before: str, after: str, **options: Any) -> int:
    """Compare captures before and after a change: an upgrade, a new configuration, another network.

    BEFORE and AFTER are captures, as `kcli decode pcap` reads them, or directories with captures that are read as one.
    kcli shows findings, errors, versions, clients and topics that are new or gone, and latencies, batching,
    compression, fetch sessions, connections and rebalances that are worse or better by more than noise, by API, role of
    the client, and topic. Latencies do not include the time for which a request may wait. Each capture is cut into time
    blocks: a rank test compares the blocks of both captures, and the difference between parts of one capture is its
    noise. A change that can be explained by another load, other sizes or other topics is "not comparable". Exit code 1:
    something is worse; 3: nothing could be compared.

    \b
    kcli compare before.pcap after.pcap
    kcli compare monday/ tuesday/ --since 09:00 --until 10:00
    """
    require("kcli compare", "sql")
    from kcli.compare import compare as run
    from kcli.diagnose import Scope

    refuse_one_for_two("BEFORE and AFTER", before, after)
    check_files([before, after])
    sides = [captures_in((name,)) for name in (before, after)]
    paths = tuple(path for side in sides for path in side)
    before_time, after_time = (filter_of_times(options, side) for side in sides)
    scopes = (
        Scope(since=before_time.since, until=before_time.until),
        Scope(since=after_time.since, until=after_time.until),
    )
    read = read_of(options)
    with open_output(options["output"], [before, after, *paths, *options["key_logs"]]) as out:
        with reading(paths, options["quiet"]) as moved:
            found = run(sides[0], sides[1], moved, scopes, **read)
        write = Lines(out).line
        for line in FORMATS[options["format_"]](found, (before, after), options):
            write(line)
        out.flush()
    if same := [path for path in sides[1] if realpath(path) in set(map(realpath, sides[0]))]:
        print_note("kcli: before and after have the same file: ", same[0])
    if found.damage is not None:
        raise found.damage
    if found.is_worse or found.compared:
        return 1 if found.is_worse else 0
    print_note("kcli: nothing could be compared: ", "; ".join(found.unlike) or "the captures have nothing in common")
    return InputError.exit_code


def jsonl_lines(found: Any, _names: tuple[str, str], _options: dict[str, Any]) -> Iterator[str]:
    for each in (*(change for change in found.changes if change.verdict != "same"), *found.differences):
        yield dumps(each.as_json())


def json_lines(found: Any, names: tuple[str, str], _options: dict[str, Any]) -> Iterator[str]:
    sides = zip(("before", "after"), names, (found.before, found.after), strict=True)
    yield dumps({
        **{
            side: {"file": name, "exchanges": of.overview.exchanges, "seconds": round(of.overview.time.seconds(), 3)}
            for side, name, of in sides
        },
        "worse": found.is_worse,
        "changes": [each.as_json() for each in found.changes],
        "differences": [each.as_json() for each in found.differences],
        "not_comparable": found.unlike,
        "block_seconds": round(found.block_seconds, 3),
    })  # fmt: skip


def shown_lines(found: Any, names: tuple[str, str], options: dict[str, Any]) -> Iterator[str]:
    colour = options["output"] is None and shows_colour(sys.stdout)
    return text_lines(found, names, terminal_room(options["output"]), colour=colour)


FORMATS = {"text": shown_lines, "jsonl": jsonl_lines, "json": json_lines}
