"""`kcli fetch-session replay`: the fetch sessions of a capture, run again against a broker and laid side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.cluster.live_topics import live_topics_options
from kcli.cli.options.capture_files import captures_in
from kcli.cli.options.client import client_options, configure
from kcli.cli.options.exchange_sources import holds_rows, name_of, rows
from kcli.cli.options.filter import filter_of_times, say_what_there_is, time_options
from kcli.cli.options.inputs import (
    files_argument,
    format_option,
    quiet_option,
    reading_options,
)
from kcli.cli.replay.progress import counting, ignore
from kcli.cli.session.fill import fill_topics
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_line
from kcli.client.properties import ClientConfig
from kcli.counting import counted
from kcli.errors import INTERRUPTED, InputError, UsageError
from kcli.jsontext import dumps
from kcli.replay.sessions.outcome import Pair, pairs, set_apart, take_out_internal
from kcli.replay.sessions.plan import ReplayPlan, make_plan
from kcli.replay.sessions.positions import MODES
from kcli.replay.sessions.runner import Options, Replayed, parse_speed, replay
from kcli.replay.sessions.source import fetch_of_exchange, fetch_of_row
from kcli.replay.topics import TopicNames, parse_topic_map
from kcli.sessions.comparison import LEVELS, Level, shown
from kcli.sessions.draft_trace import DIALECT
from kcli.sessions.trace import Captured

if TYPE_CHECKING:
    from kcli.broker.rebuilt.rebuild import RebuiltBroker


@click.command("replay")
@files_argument("FILE|DIR...", expand=captures_in)
@client_options
@live_topics_options
@click.option("--fill", is_flag=True, help="Write to empty topics the records that the captures show, before.")
@click.option(
    "--offsets", type=click.Choice(MODES), default="captured", show_default=True, help="The offsets to fetch from."
)
@click.option(
    "--speed", metavar="X|max", help="Speed, as a multiple of the captured one (default: 1; max with a rebuilt broker)."
)
@click.option(
    "--mode",
    type=click.Choice(["incremental", "full", "draft"]),
    default="incremental",
    show_default=True,
    help="Sessions as captured, no sessions, or those of KIP-227's third draft.",
)
@click.option("--repeat", type=click.IntRange(1), default=1, metavar="N", help="Run the replay N times.")
@click.option(
    "--compare",
    "level",
    type=click.Choice(LEVELS),
    help="How equal the responses must be (default: shape; none where --mode changes the requests).",
)
@click.option(
    "--show-difference",
    "shown_kinds",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Of the first N kinds of differences, show one with both exchanges in full.",
)
@format_option(("table", "jsonl"), "A table, or an object for each fetch.", default="table")
@time_options
@reading_options
@quiet_option("No progress, no notes.")
def replay_command(
    files: tuple[str, ...],
    bootstrap: str | None,
    settings: tuple[str, ...],
    topics: tuple[str, ...],
    create: bool,
    fill: bool,
    offsets: str,
    speed: str | None,
    mode: str,
    repeat: int,
    level: Level | None,
    shown_kinds: int,
    format_: str,
    since: str | None,
    until: str | None,
    dialect: str | None,
    key_logs: tuple[str, ...],
    memory: int,
    quiet: bool,
) -> int:
    """Run the fetch sessions in FILE... against a broker, and lay what it answers beside what was captured.

    Without --bootstrap the brokers are those of the captures, rebuilt in this process. They go through the captures
    once more: at each fetch they stand as they stood when they answered it (logs, leaders, sessions), at any --speed.

    FILE: a capture, or the lines of `kcli decode pcap --format jsonl`, edited or not; - is standard input; DIR: a
    directory with captures. Several are read as one. All captured connections run at once, in the captured rhythm
    (or --speed). Session ids and topic ids are the live broker's own.

    --offsets: captured keeps the positions (clamped to what the live partitions hold), relative counts them from the
    live beginning, earliest and latest start there and follow the live records. --fill gives empty topics the records
    first. --since and --until choose sessions that were in use between; these are replayed whole.

    Exit 1 when the answers differ. What a rebuilt broker can't know, as the capture lacks it, is counted apart, with
    the reason, and is no difference. Ctrl-C ends with what there was so far.

    \b
    kcli fetch-session replay night.pcap
    kcli fetch-session replay night.pcap --bootstrap localhost:9092 --speed max
    """
    config = configure(bootstrap, settings, quiet=quiet)
    rebuilt = not config["bootstrap.servers"]
    speed = speed or ("max" if rebuilt else "1")
    options = Options(offsets, parse_speed(speed), mode, repeat, parse_topic_map(topics), create)
    level = level or ("shape" if mode == "incremental" else "none")
    names = TopicNames()
    problems: list[InputError] = []
    chosen = filter_of_times({"since": since, "until": until}, files)
    fetches = read_fetches(files, names, problems, dialect=dialect, memory=memory, key_logs=key_logs)
    plan = make_plan(fetches, None if chosen.takes_all else lambda each: chosen.in_time(each.ns))
    notify_plan(plan, quiet, rebuilt=rebuilt)
    if not plan.fetches and not chosen.takes_all and not problems:
        captures = [file for file in files if not holds_rows(file)]
        reading = {"ports": (), "dialect": dialect, "memory": memory, "key_logs": key_logs, "quiet": quiet}
        say_what_there_is(captures or ["-"], chosen, reading)
        return 1
    if not plan.fetches:
        raise (
            problems[0] if problems else InputError(f"{', '.join(map(name_of, files))}: no fetch that can be replayed")
        )
    replayed = Replayed([])
    if rebuilt:
        broker = rebuilt_broker(
            files, quiet, dialect=DIALECT if mode == "draft" else dialect, memory=memory, key_logs=key_logs
        )
        interrupted = run_embedded(replayed, broker, plan, names, config, options, quiet)
    else:
        broker = None
        if fill:
            fill_topics(files, plan, names, config, options, quiet, memory=memory, key_logs=key_logs, dialect=dialect)
        interrupted = run(replayed, plan, names, config, options, quiet)
    if replayed.clamped and not quiet:
        partitions = counted(replayed.clamped, "partition")
        warn(f"{partitions} without all captured offsets: clamped to what is there (--offsets)")
    found = list(pairs(replayed, names.names, level))
    if broker is not None:
        set_apart(found, broker.captured.unknown)
    elif (internal := take_out_internal(found)) and not quiet:
        warn(f"not compared: {shown(internal)}: no client can write what the brokers keep there")
    show(found, format_, shown_kinds, names)
    if interrupted:
        warn(f"interrupted: {sum(len(each.fetches) for each in found):,} of {plan.fetches * options.repeat:,} fetches")
        return INTERRUPTED
    conclude(problems, quiet)
    return 1 if any(each.differences for each in found) else 0


def run(
    into: Replayed, plan: ReplayPlan, names: TopicNames, config: ClientConfig, options: Options, quiet: bool
) -> bool:
    """Against the brokers of `config`. Returns whether it was interrupted."""
    with counting(plan.fetches * options.repeat, quiet) as done:
        notify = ignore if quiet else warn
        return interrupted(replay(plan, names, config, options, notify=notify, done=done, outcome=into))


def interrupted(work: Coroutine[Any, Any, object]) -> bool:
    """Run something to its end, or until Ctrl-C. Returns whether that came."""
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        return True
    return False


def rebuilt_broker(files: Sequence[str], quiet: bool, **options: Any) -> RebuiltBroker:
    """The captures' brokers, which stand at each fetch as the captured one stood."""
    if "-" in files or any(holds_rows(file) for file in files):
        raise UsageError("a broker can be rebuilt from capture files only: --bootstrap HOST:PORT for anything else")
    from kcli.broker.rebuilt.rebuild import rebuild

    # What is wrong with a file was reported when its fetches were read.
    broker = rebuild(files, **options, staged=True, problem=lambda _: None)
    uncertain = broker.history.uncertain()
    if uncertain and not quiet:
        warn(f"{shown(uncertain)}: seen only in the form that old clients got, so sizes may differ")
    return broker


def run_embedded(
    into: Replayed,
    broker: RebuiltBroker,
    plan: ReplayPlan,
    names: TopicNames,
    config: ClientConfig,
    options: Options,
    quiet: bool,
) -> bool:
    """Against a rebuilt broker, in this process. Returns whether it was interrupted."""
    from kcli.cli.broker.serve import allow_files

    # Each captured connection is one here, with both of its ends in this process.
    allow_files()

    async def work() -> Replayed:
        async with broker:
            there = config.replace(bootstrap_servers=tuple(broker.bootstrap.split(",")))
            notify = ignore if quiet else warn
            return await replay(
                plan, names, there, options, brokers=broker.captured, notify=notify, done=done, outcome=into
            )

    with counting(plan.fetches * options.repeat, quiet) as done:
        return interrupted(work())


def read_fetches(
    files: Sequence[str], names: TopicNames, problems: list[InputError], **options: Any
) -> Iterator[Captured]:
    """The fetches of all files; what can't be read of them ends up in `problems`.

    options: as `read_capture` takes them.
    """
    captures: list[str] = []
    for file in files:
        if holds_rows(file):
            yield from read_rows(file, names, problems)
        else:
            captures.append(file)
    if not captures:
        return
    try:
        for item in read_capture(captures, **options).items():
            made = fetch_of_exchange(item, names) if isinstance(item, Exchange) else None
            if made is not None:
                yield made
    except InputError as error:
        problems.append(error)


def read_rows(file: str, names: TopicNames, problems: list[InputError]) -> Iterator[Captured]:
    for number, row in rows(file):
        try:
            made = fetch_of_row(raised(row), names)
        except InputError as error:
            problems.append(error if error.file else InputError(f"line {number}: {error.text}", file=name_of(file)))
            continue
        if made is not None:
            yield made


def raised(row: dict[str, object] | InputError) -> dict[str, object]:
    if isinstance(row, InputError):
        raise row
    return row


def notify_plan(plan: ReplayPlan, quiet: bool, *, rebuilt: bool) -> None:
    if quiet:
        return
    for reason, count in plan.left_out.items():
        warn(f"left out: {counted(count, 'fetch', 'fetches')} {reason}")
    if plan.followers and not rebuilt:
        warn(f"replayed as a consumer's: {counted(plan.followers, 'fetch', 'fetches')} of brokers (followers)")


def show(found: list[Pair], format_: str, kinds: int, names: TopicNames) -> None:
    if format_ == "jsonl":
        for each in found:
            print_line(dumps(each.as_dict()))
    else:
        from kcli.cli.session.replay_view import show_pairs

        show_pairs(found)
    if kinds:
        from kcli.cli.session.difference import show_differences

        show_differences(found, kinds, names.names, stderr=format_ == "jsonl")
