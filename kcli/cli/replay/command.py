"""`kcli replay`: replays captured traffic and compares the responses."""

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.capture.api import Capture, read_capture
from kcli.capture.io.capture_files import captures_in
from kcli.capture.kafka.clock import instant
from kcli.cli.cluster.live_topics import live_topics_options
from kcli.cli.options.client import client_options, configure
from kcli.cli.options.filter import filter_of_times, time_options
from kcli.cli.options.inputs import files_argument, format_option, port_option, quiet_option, read_of, reading_options
from kcli.cli.options.refusal import refused
from kcli.cli.replay.running import counting, interrupted, standing
from kcli.cli.terminal.console import is_terminal, warn
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import ignore, print_line
from kcli.cli.terminal.output import open_output
from kcli.cli.terminal.streams import standard_input
from kcli.counting import counted
from kcli.errors import INTERRUPTED, InputError, UsageError
from kcli.input_names import name_of
from kcli.jsontext import dumps, loads
from kcli.proxy.recording import Recorder
from kcli.replay.engine import parse_speed
from kcli.replay.topic_mapping import parse_topic_map
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.comparison import LEVELS, Level
from kcli.replay.traffic.outcome import ExchangeDifference, Outcome
from kcli.replay.traffic.replaying import Setting, TrafficOptions, replay
from kcli.replay.traffic.survey import Survey, survey
from kcli.schemas.catalog import catalog
from kcli.temporary import TemporaryFolder


@click.command("replay")
@files_argument("FILE|DIR...", expand=captures_in)
@client_options
@click.option(
    "--speed", metavar="X|max", default="1", show_default=True, help="Speed, as a multiple of the captured one."
)
@click.option(
    "--free-running",
    "free",
    is_flag=True,
    help="For load tests: no connection waits for others, and no fetch longer than the speed allows; nothing is "
    "compared by default.",
)
@click.option(
    "--repeat", type=click.IntRange(1), default=1, metavar="N", help="Run everything N times, one run after the other."
)
@click.option(
    "--clients",
    type=click.IntRange(1, 10_000),
    default=1,
    metavar="N",
    help="Run each captured client N times concurrently; client ids, groups and transactional ids get the "
    "suffixes -1 to -N.",
)
@click.option("--only", multiple=True, metavar="API,...", help="Only requests of these APIs.")
@click.option("--skip", multiple=True, metavar="API,...", help="No requests of these APIs.")
@click.option("--client-id", "--client", "client", metavar="ID", help="Only this client; * and ? are wildcards.")
@click.option(
    "--admin", is_flag=True, help="Also requests that change the cluster: topics, configs, ACLs and the like."
)
@live_topics_options
@click.option(
    "--compare", "level", type=click.Choice(LEVELS), default="errors", show_default=True,
    help="What to compare: errors by API, also the shape of each response, every value, or nothing.",
)  # fmt: skip
@click.option(
    "--show-difference", "shown", type=click.IntRange(0), default=0, metavar="N",
    help="Show both exchanges in full for the first N kinds of difference.",
)  # fmt: skip
@click.option(
    "--fill",
    is_flag=True,
    help="First write to empty topics the records from before the capture that responses contain.",
)
@click.option("--record", metavar="FILE", help="Save the replay's traffic as a capture (pcapng).")
@format_option(
    ("table", "json", "jsonl"), "A table, one JSON object, or an object for each API.", default="table", paged=False
)
@time_options
@refused(
    "responses depend on earlier requests; --only, --skip, --client-id, --since and --until choose requests",
    "--where",
)
@port_option
@reading_options
@quiet_option("No progress, no notes.")
def replay_command(files: tuple[str, ...], **values: Any) -> int:
    """Send all requests in FILE... to a cluster again, and compare its responses with the captured ones by API.

    Without --bootstrap the cluster is an embedded broker in this process, empty at first.

    FILE: a capture; - is standard input; DIR: a directory with captures. Several are read as one. kcli opens a
    connection for every captured one and sends its requests in their order; a request waits for the writes that were
    answered before it. Ids assigned by a broker (topic and producer ids, members, generations, sessions, epochs) are
    replaced by the live ones. A version that the cluster lacks is replaced by the nearest one. The replay has its own
    login (--config). Requests among brokers are not sent. --since and --until: as if the capture were of this time
    only.

    Exit code 1: responses differ (--compare).

    \b
    kcli replay night.pcap --bootstrap localhost:9092
    kcli replay night.pcap --bootstrap localhost:9092 --clients 20 --speed max --free-running
    """
    if values["record"] == "-" and is_terminal(sys.stdout):
        raise UsageError("--record -: a capture is not for a terminal (a file, or a pipe expected)")
    quiet = values["quiet"]
    config = configure(values["bootstrap"], values["settings"], quiet=quiet)
    options = options_of(values)
    outcome = Outcome(level_of(values), values["shown"], values["dialect"])
    choice = choice_of(values)
    problems: list[InputError] = []
    with TemporaryFolder("kcli-replay-") if "-" in files else nullcontext("") as folder:
        written = spooled(folder) if "-" in files else None
        captures = ReplayedCaptures(files, written, read_of(values), values["since"], values["until"])
        seen = surveyed(captures, choice, values, problems)
        total, begun = seen.requests * options.repeat * options.clients, time.monotonic()
        with (
            counting(total, quiet, "requests") as done,
            recording(values["record"], files) as recorder,
            captures.history(values["fill"]) as history,
        ):
            setting = Setting(
                survey=seen,
                choice=choice,
                config=config,
                options=options,
                outcome=outcome,
                dialect=values["dialect"],
                notify=ignore if quiet else warn,
                done=done,
                recorder=recorder,
                history=history,
            )
            was_interrupted = interrupted(run(captures, setting))
        seconds = time.monotonic() - begun
    # Standard output is the capture's where the recording goes there.
    with redirect_stdout(sys.stderr) if values["record"] == "-" else nullcontext():
        show(outcome, values["format_"], seconds)
    if not quiet:
        notify_end(outcome)
    conclude(problems, quiet)
    if was_interrupted:
        return INTERRUPTED
    return 1 if outcome.has_differences() else 0


def options_of(values: Mapping[str, Any]) -> TrafficOptions:
    """Return the options of the replay itself. Raises UsageError."""
    return TrafficOptions(
        scale=parse_speed(values["speed"]),
        repeat=values["repeat"],
        topics=parse_topic_map(values["topics"]),
        create=values["create"],
        clients=values["clients"],
        memory=max(values["memory"] >> 2, 1),
        free=values["free"],
    )


def level_of(options: Mapping[str, Any]) -> Level:
    """Return how equal answers must be: a load test compares nothing, unless it is asked to."""
    level: Level = options["level"]
    source = click.get_current_context().get_parameter_source("level")
    return "none" if options["free"] and source is ParameterSource.DEFAULT else level


def choice_of(options: Mapping[str, Any]) -> Choice:
    """Return which requests are sent again. Raises UsageError if there is no such API."""
    known = catalog(options["dialect"])
    only, skip = keys(options["only"], known.api_key), keys(options["skip"], known.api_key)
    return Choice(known, only, skip, options["client"], options["admin"])


@dataclass(frozen=True)
class ReplayedCaptures:
    """The captures of a replay, which are read several times. written: what standard input held; reading: as
    `read_capture` takes it; since, until: as the options have them."""

    files: tuple[str, ...]
    written: str | None
    reading: dict[str, Any]
    since: str | None = None
    until: str | None = None

    @property
    def paths(self) -> list[str]:
        """The files to read, each once."""
        return [self.written or file if file == "-" else file for file in dict.fromkeys(self.files)]

    @property
    def bounded(self) -> str:
        """The words for the chosen time in messages; "": all of the captures."""
        return "" if self.since is self.until is None else " between --since and --until"

    def begin(self) -> Capture:
        """Begin to read the captures from their start, within the chosen time. Raises UsageError for a wrong time."""
        times = filter_of_times({"since": self.since, "until": self.until}, self.paths)
        since, until = (None if ns is None else instant(ns) for ns in (times.since, times.until))
        return read_capture(self.paths, **self.reading, since=since, until=until)

    def read(self, problems: list[InputError] | None = None) -> Iterable[object]:
        """Read the captures again. problems: collects their faults."""
        try:
            yield from self.begin()
        except InputError as error:
            if problems is not None:
                error.file = name_of("-") if self.written and error.file == self.written else error.file
                problems.append(error)

    @contextmanager
    def history(self, wanted: bool) -> Iterator[CaptureHistory | None]:
        """Return the records that the captures contain, if they are wanted."""
        made = CaptureHistory.of(self.begin(), lambda _: None) if wanted else None
        try:
            yield made
        finally:
            if made is not None:
                made.close()


def surveyed(
    captures: ReplayedCaptures, choice: Choice, values: Mapping[str, Any], problems: list[InputError]
) -> Survey:
    """Read the captures once, for what the replay needs on the cluster. Raises InputError if no request is left."""
    seen = survey(captures.read(problems), choice, values["dialect"])  # type: ignore[arg-type]
    if not values["quiet"]:
        notify(seen)
    if seen.requests:
        return seen
    names = ", ".join(map(name_of, captures.files))
    raise problems[0] if problems else InputError(f"{names}: no request that can be replayed{captures.bounded}")


def keys(names: Iterable[str], key_of: Callable[[str], int]) -> frozenset[int]:
    """Return the API keys of names with commas between. Raises UsageError for an unknown API."""
    return frozenset(key_of(name.strip()) for each in names for name in each.split(",") if name.strip())


def spooled(folder: str) -> str:
    """Copy standard input to a file: captures are read twice."""
    path = Path(folder, "standard-input")
    with path.open("wb") as file:
        shutil.copyfileobj(standard_input(), file)
    return str(path)


@contextmanager
def recording(file: str | None, inputs: Iterable[str]) -> Iterator[Recorder | None]:
    """Return the writer of the replay's own capture; None if none is wanted. Raises UsageError if the file is one of
    the inputs.
    """
    if file is None:
        yield None
        return
    with open_output(file, inputs, private=True) as out:
        write: Callable[[bytes], Any] = out.write
        recorder = Recorder(write, "kcli replay")
        try:
            yield recorder
        finally:
            recorder.flush()


async def run(captures: ReplayedCaptures, setting: Setting) -> None:
    """Run the captures against the cluster; without one, against an empty embedded broker."""
    from kcli.broker.broker import Broker

    broker = None if setting.config["bootstrap.servers"] else Broker(dialect=setting.dialect)
    async with standing(broker, setting.config) as config:
        await replay(captures.read, replace(setting, config=config))


def notify(seen: Survey) -> None:
    """Print which parts of the captures are not replayed, and why."""
    for reason, count in seen.left_out.items():
        warn(f"left out: {counted(count, 'exchange')} {reason}")


def notify_end(outcome: Outcome) -> None:
    """Print deviations from the captures that count as no difference."""
    if outcome.retried:
        warn(f"asked again: {counted(outcome.retried, 'request')} for which the cluster was not ready")
    if outcome.late:
        warn(f"sent without waiting longer: {counted(outcome.late, 'request')} after responses that did not arrive")


def show(outcome: Outcome, format_: str, seconds: float) -> None:
    """Print the outcome."""
    if format_ == "table":
        from kcli.cli.replay.view import show_outcome

        show_outcome(outcome, seconds)
        return
    apis = [outcome.apis[name].as_dict(outcome.level) for name in sorted(outcome.apis)]
    pairs = [pair(each) for each in outcome.kept]
    if format_ == "json":
        print_line(
            dumps({"seconds": round(seconds, 3), "pace": outcome.pace.as_dict(), "apis": apis, "differences": pairs})
        )
        return
    for each in (*apis, *pairs):
        print_line(dumps(each))


def pair(difference: ExchangeDifference) -> dict[str, Any]:
    """Return both exchanges of a difference, for JSON."""
    live = difference.live
    return {
        "api": difference.api,
        "difference": difference.text,
        "captured": loads(difference.captured.line()),
        "live": None if live is None else loads(live.line()),
    }
