"""`kcli fetch-session replay`: replays the fetch sessions of a capture at a broker, and compares the two."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kcli.capture.api import read_capture
from kcli.capture.io.capture_files import captures_in
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.cluster.live_topics import live_topics_options
from kcli.cli.options.client import client_options, configure
from kcli.cli.options.exchange_sources import holds_rows, need_captures, rows
from kcli.cli.options.filter import filter_of_times, note_no_match, time_options
from kcli.cli.options.inputs import files_argument, format_option, quiet_option, reading_options
from kcli.cli.options.refusal import refused
from kcli.cli.replay.running import counting, interrupted, standing
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import ignore, print_line
from kcli.counting import counted
from kcli.errors import INTERRUPTED, InputError
from kcli.input_names import name_of
from kcli.jsontext import dumps
from kcli.replay.engine import parse_speed
from kcli.replay.sessions.captured_fetches import fetch_of_exchange, fetch_of_row
from kcli.replay.sessions.outcome import Pair, pairs, set_apart, take_out_internal
from kcli.replay.sessions.plan import ReplayPlan, make_plan
from kcli.replay.sessions.positions import MODES
from kcli.replay.sessions.runner import FetchOptions, FetchReplay, Replayed, replay
from kcli.replay.topic_mapping import TopicNames, parse_topic_map
from kcli.sessions.comparison import LEVELS, Level, shown
from kcli.sessions.draft_exchange import DIALECT
from kcli.sessions.fetch_exchange import Captured

if TYPE_CHECKING:
    from kcli.broker.rebuilt.rebuild import RebuiltBroker


@click.command("replay")
@files_argument("FILE|DIR...", expand=captures_in)
@client_options
@live_topics_options
@click.option("--fill", is_flag=True, help="First write the records in the captures to empty topics.")
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
    help="How much of the responses to compare (default: shape; none where --mode changes the requests).",
)
@click.option(
    "--show-difference",
    "shown_kinds",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Show both exchanges in full for the first N kinds of difference.",
)
@format_option(("table", "jsonl"), "A table, or an object for each fetch.", default="table", paged=False)
@time_options
@refused("sessions are replayed whole; --since and --until choose them", "--where")
@reading_options
@quiet_option("No progress, no notes.")
def replay_command(files: tuple[str, ...], **values: Any) -> int:
    """Replay the fetch sessions in FILE... against a broker, and compare its responses with the captured ones.

    Without --bootstrap kcli rebuilds the brokers from the captures in this process. At each fetch a rebuilt broker has
    the state (logs, leaders, sessions) that the captured broker had when it answered, at any --speed.

    FILE: a capture, or the lines of `kcli decode pcap --format jsonl`, edited or not; - is standard input; DIR: a
    directory with captures. Several are read as one. All captured connections run concurrently, with the captured
    timing (or --speed). Session ids and topic ids are those of the live broker.

    --offsets: captured keeps the offsets (clamped to those of the live partitions), relative counts them from the live
    beginning, earliest and latest start there and follow the live records. --fill first writes the records to empty
    topics. --since and --until choose the sessions that were in use at that time, and replay them completely.

    Exit code 1: responses differ. Responses that a rebuilt broker can't know, because the capture lacks them, are
    counted separately with the reason, and are no difference. Ctrl-C ends with the results so far.

    \b
    kcli fetch-session replay night.pcap
    kcli fetch-session replay night.pcap --bootstrap localhost:9092 --speed max
    """
    quiet, names, problems = values["quiet"], TopicNames(), list[InputError]()
    config = configure(values["bootstrap"], values["settings"], quiet=quiet)
    rebuilt = not config["bootstrap.servers"]
    options = options_of(values, rebuilt=rebuilt)
    reading = {name: values[name] for name in ("dialect", "memory", "key_logs")}
    times = filter_of_times(values, files)
    fetches = read_fetches(files, names, problems, **reading)
    plan = make_plan(fetches, None if times.takes_all else lambda each: times.in_time(each.ns))
    notify_plan(plan, quiet, rebuilt=rebuilt)
    if not plan.fetches and not times.takes_all and not problems:
        captures = [file for file in files if not holds_rows(file)]
        note_no_match(captures or ["-"], times, {**reading, "ports": (), "quiet": quiet})
        return 1
    if not plan.fetches:
        text = f"{', '.join(map(name_of, files))}: no fetch that can be replayed"
        raise problems[0] if problems else InputError(text)
    chosen, broker = FetchReplay(plan, names, config, options), None
    if rebuilt:
        broker = rebuilt_broker(files, quiet, **reading | ({"dialect": DIALECT} if options.mode == "draft" else {}))
    elif values["fill"]:
        fill_topics(files, chosen, quiet, **reading)
    replayed = Replayed([])
    was_interrupted = interrupted(run(replayed, broker, chosen, quiet))
    found = compared(replayed, broker, names, values)
    show(found, values["format_"], values["shown_kinds"], names)
    if was_interrupted:
        warn(f"interrupted: {sum(len(each.fetches) for each in found):,} of {plan.fetches * options.repeat:,} fetches")
        return INTERRUPTED
    conclude(problems, quiet)
    return 1 if any(each.differences for each in found) else 0


def options_of(values: dict[str, Any], *, rebuilt: bool) -> FetchOptions:
    """Return the options of the replay. rebuilt: against rebuilt brokers. Raises UsageError."""
    return FetchOptions(
        scale=parse_speed(values["speed"] or ("max" if rebuilt else "1")),
        repeat=values["repeat"],
        topics=parse_topic_map(values["topics"]),
        create=values["create"],
        offsets=values["offsets"],
        mode=values["mode"],
    )


def compared(replayed: Replayed, broker: RebuiltBroker | None, names: TopicNames, values: dict[str, Any]) -> list[Pair]:
    """Return the captured fetches with their replayed ones, and warn about those that can't be compared."""
    if replayed.clamped and not values["quiet"]:
        partitions = counted(replayed.clamped, "partition")
        warn(f"{partitions} without all captured offsets: clamped to what is there (--offsets)")
    level: Level = values["level"] or ("shape" if values["mode"] == "incremental" else "none")
    found = list(pairs(replayed, names.names, level))
    if broker is not None:
        set_apart(found, broker.captured.unknown)
    elif (internal := take_out_internal(found)) and not values["quiet"]:
        warn(f"not compared: {shown(internal)}: no client can write what the brokers keep there")
    return found


def rebuilt_broker(files: Sequence[str], quiet: bool, **options: Any) -> RebuiltBroker:
    """Rebuild the captures' brokers, which stand at each fetch as the captured one stood."""
    need_captures(files, "a broker can be rebuilt from capture files only: --bootstrap HOST:PORT for anything else")
    from kcli.broker.rebuilt.rebuild import rebuild

    # What is wrong with a file was reported when its fetches were read.
    broker = rebuild(files, **options, staged=True, problem=lambda _: None)
    uncertain = broker.history.uncertain()
    if uncertain and not quiet:
        warn(f"{shown(uncertain)}: seen only in the form that old clients got, so sizes may differ")
    return broker


async def run(into: Replayed, broker: RebuiltBroker | None, chosen: FetchReplay, quiet: bool) -> None:
    """Run a plan at a rebuilt broker in this process, or at the brokers of its config."""
    with counting(chosen.plan.fetches * chosen.options.repeat, quiet) as done:
        async with standing(broker, chosen.config) as config:
            await replay(
                replace(chosen, config=config),
                brokers=None if broker is None else broker.captured,
                notify=ignore if quiet else warn,
                done=done,
                outcome=into,
            )


def read_fetches(
    files: Sequence[str], names: TopicNames, problems: list[InputError], **options: Any
) -> Iterator[Captured]:
    """Yield the fetches of all files; errors are added to `problems`.

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


def fill_topics(files: Sequence[str], chosen: FetchReplay, quiet: bool, **reading: Any) -> None:
    """Make the plan's topics where they are missing, and write to empty ones the records that the captures show."""
    need_captures(files, "--fill takes records from capture files only")
    from kcli.broker.rebuilt.capture_history import CaptureHistory
    from kcli.replay.filling import fill_all

    # What is wrong with a file was reported when its fetches were read.
    history = CaptureHistory.of(read_capture(files, **reading).items(), lambda _: None)
    sizes: dict[str, int] = {}
    for captured, size in chosen.plan.partitions().items():
        name = chosen.live_name(captured)
        sizes[name] = max(sizes.get(name, 0), size)
    done = asyncio.run(fill_all(chosen.config, history, chosen.live_name, sizes))
    if not quiet:
        warn(str(done))
