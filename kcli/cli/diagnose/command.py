"""`kcli diagnose`: what is wrong in captures, who, why and what to do."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kcli.capture.io.capture_files import captures_in
from kcli.cli.decode.pcap.command import reading
from kcli.cli.diagnose.text import checked_lines, finding_lines, says_why, text_lines
from kcli.cli.options.filter import choosing_findings, filter_of_times, words_of
from kcli.cli.options.inputs import files_argument, format_option, port_option, quiet_option, read_of, reading_options
from kcli.cli.options.metrics import metrics_option, metrics_socket
from kcli.cli.options.payloads import decoder_of, files_named, payload_options
from kcli.cli.options.pipes import with_input_aside
from kcli.cli.options.refusal import refused
from kcli.cli.terminal.console import note, shows_colour, terminal_room
from kcli.cli.terminal.lines import Lines
from kcli.cli.terminal.output import open_output, output_option
from kcli.diagnose.finding_text import checked_text, unknown_text
from kcli.errors import InputError, UsageError
from kcli.extras import require
from kcli.jsontext import dumps

if TYPE_CHECKING:
    from kcli.diagnose import Diagnosis, Finding
    from kcli.diagnose.following import Follower


@click.command()
@files_argument("FILE|DIR...")
@format_option(
    ("text", "jsonl", "json"), "The output format; json also has the parts that could not be judged.", default="text"
)
@click.option(
    "--group",
    metavar="G,...",
    help="Only findings that may concern these consumer groups; * and ? are wildcards, with ! in front: all but these.",
)
@click.option(
    "--client", "--client-id", metavar="ID,...", help="Only findings that may concern these clients, as --group."
)
@click.option("--topic", metavar="T,...", help="Only findings that may concern these topics, as --group.")
@choosing_findings()
@refused("a finding is about many exchanges; --client, --group, --topic, --since and --until choose them", "--where")
@click.option("--follow", is_flag=True, help="Read a live stream, and show each finding when it appears.")
@click.option("--report", "page", metavar="OUT", help="Also write the page of `kcli report`, with these findings.")
@metrics_option
@payload_options
@port_option
@output_option
@quiet_option("No progress.")
@reading_options
def diagnose(files: tuple[str, ...], **options: Any) -> int:
    """Diagnose captures: find what is wrong, who causes it, and what to do.

    FILE is a capture, as `kcli decode pcap` reads them; several are read as one; DIR a directory with captures in it. A
    finding has a severity, a subject, figures, causes that were ruled out, and advice. kcli shows causes, not their
    consequences: a slow broker, not the timeouts of its clients. The last lines show the number of checks, and what
    could not be judged. With --payloads or schemas it also finds records that consumers can't deserialize. Exit code 1:
    a warning or worse, or a group, client, topic or time that no file has; 3: nothing could be judged.

    \b
    kcli diagnose night.pcap
    kcli diagnose night.pcap --group orders --since 03:10 --until 03:20
    kcli diagnose night.pcap --format jsonl
    kcli diagnose night.pcap --report night.html
    kcli diagnose night.pcap --schema-registry http://registry:8081
    tcpdump -i any -U -w - port 9092 | kcli diagnose - --follow
    """
    require("kcli diagnose", "sql")
    from kcli.diagnose import Scope
    from kcli.diagnose import diagnose as run

    if options["metrics"] and not options["follow"]:
        raise UsageError("--metrics: --follow is missing: metrics are for a live stream")
    if options["page"] and options["follow"]:
        raise UsageError("--report: not with --follow: the page needs captures that end")
    if options["page"] == "-" and options["output"] in (None, "-"):
        raise UsageError("--report -: standard output has the findings (a file expected, or -o FILE)")
    paths = captures_in(files)
    if options["page"]:
        require("kcli diagnose --report", "report")
        paths = with_input_aside(paths, lambda _start: False)  # it may be read twice
    chosen = filter_of_times(options, paths)
    scope = Scope(options["group"], options["client"], options["topic"], chosen.since, chosen.until)
    decoder = decoder_of(options | {"secrets": False}, paths)
    if decoder is not None and (options["follow"] or "-" in paths):
        raise UsageError("--payloads, schemas: not with --follow or standard input: captures are read twice")
    inputs = [*files, *paths, *options["key_logs"], *files_named(options)]
    times = words_of({name: options[name] for name in ("since", "until")})
    read = read_of(options)
    with contextlib.ExitStack() as opened:
        out = opened.enter_context(open_output(options["output"], inputs))
        page = opened.enter_context(open_output(options["page"], inputs)) if options["page"] else None
        if options["follow"]:
            return shown_as_found(out, paths, scope, read, options)
        write = partial(write_findings, out, options)
        if page is not None:
            from kcli.cli.report.command import CapturePage

            found = CapturePage(paths, files, options, chosen, times).make(page, scope, decoder, write).diagnosis
        else:
            with reading(paths, options["quiet"]) as moved:
                found = run(paths, scope, moved, decoder, files, **read)
            write(found)
    if found.unknown and options["format_"] != "text" and not options["quiet"]:
        note(f"kcli: {unknown_text(found.unknown)}")
    shown = sys.stdout if options["format_"] == "text" and not options["output"] else None
    if found.damage is not None and not says_why(found, shown):
        raise found.damage
    if decoder is not None:
        decoder.raise_failure()
    return 1 if found.is_grave or found.unknown else 0 if found.judged else InputError.exit_code


def write_findings(out: Any, options: dict[str, Any], found: Diagnosis) -> None:
    """Write the findings. If names or times are unknown, only the text format can say so."""
    write = Lines(out).line
    for line in () if found.unknown and options["format_"] != "text" else FORMATS[options["format_"]](found, options):
        write(line)
    out.flush()


def shown_as_found(out: Any, paths: Any, scope: Any, read: dict[str, Any], options: dict[str, Any]) -> int:
    """Write each finding when it appears, and at the end what was checked. Return the exit code."""
    from kcli.diagnose import INFO
    from kcli.diagnose.following import News

    write, news = Lines(out).line, News()
    is_text = options["format_"] == "text"
    colour, room = options["output"] is None and shows_colour(sys.stdout), terminal_room(options["output"])
    with following(paths, scope, read, options) as follower:
        try:
            for each in news.of(judgements_of(follower, quiet=options["quiet"])):
                lines = finding_lines(each, room, colour=colour, whole=True) if is_text else [dumps(each.as_json())]
                for line in lines:
                    write(line)
                out.flush()
        except InputError:
            if not follower.over:
                raise
        finally:
            if (whole := follower.whole(news.reported())) is not None and not follower.unknown:
                for line in checked_lines(whole, room) if is_text else ():
                    write(line)
                if not is_text and not options["quiet"]:
                    note(f"kcli: {checked_text(whole)}")
                out.flush()
    if whole is not None and whole.damage is not None:
        raise whole.damage
    return 1 if follower.unknown or any(each.severity != INFO for each in news.reported()) else 0


def judgements_of(follower: Follower, *, quiet: bool) -> Iterator[list[Finding]]:
    """Yield findings as they appear. Reports once which of the names asked for occur nowhere, and again at the end."""
    is_reported = quiet
    for found in follower.judgements():
        if follower.unknown and not quiet and (follower.over or not is_reported):
            note(f"kcli: {'' if follower.over else 'so far '}{unknown_text(follower.unknown)}")
            is_reported = True
        yield found


@contextlib.contextmanager
def following(paths: Any, scope: Any, read: dict[str, Any], options: dict[str, Any]) -> Iterator[Follower]:
    """Return the follower of the captures. Serves figures if --metrics asks for them."""
    from kcli.diagnose.following import Follower
    from kcli.diagnose.store import FactStore

    if not options["metrics"]:
        with FactStore() as store:
            yield Follower(store, paths, scope, **read)
        return
    listening = metrics_socket(options["metrics"], quiet=options["quiet"])
    from kcli.metrics.figures import LiveFigures
    from kcli.metrics.measuring import MeasuredStore, MeasuringFollower
    from kcli.metrics.server import MetricsServer

    figures = LiveFigures()
    with MetricsServer(figures, listening), MeasuredStore(figures) as measured:
        yield MeasuringFollower(measured, paths, scope, **read)


def jsonl_lines(found: Any, _options: dict[str, Any]) -> Iterator[str]:
    for each in found.findings:
        yield dumps(each.as_json())


def json_lines(found: Any, _options: dict[str, Any]) -> Iterator[str]:
    yield dumps({
        "findings": [each.as_json() for each in found.findings],
        "explained": [each.as_json() | {"explained_by": each.explained_by} for each in found.explained],
        "checked": found.checked,
        "not_judged": [{"what": each.what, "remedy": each.remedy} for each in found.unjudged],
        "exchanges": found.overview.exchanges,
        "seconds": round(found.overview.time.seconds(), 3),
    })  # fmt: skip


def shown_lines(found: Any, options: dict[str, Any]) -> Iterator[str]:
    colour = options["output"] is None and shows_colour(sys.stdout)
    return text_lines(found, terminal_room(options["output"]), colour=colour)


FORMATS = {"text": shown_lines, "jsonl": jsonl_lines, "json": json_lines}
