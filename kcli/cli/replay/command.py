"""`kcli replay`: all traffic of captures run again, and what is answered laid beside what was."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.capture.api import read_capture
from kcli.cli.cluster.live_topics import live_topics_options
from kcli.cli.options.capture_files import captures_in
from kcli.cli.options.client import client_options, configure
from kcli.cli.options.exchange_sources import name_of
from kcli.cli.options.inputs import files_argument, format_option, port_option, quiet_option, reading_options
from kcli.cli.replay.progress import counting, ignore
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_line
from kcli.cli.terminal.output import open_output
from kcli.cli.terminal.streams import standard_input
from kcli.client.properties import ClientConfig
from kcli.counting import counted
from kcli.errors import INTERRUPTED, InputError
from kcli.jsontext import dumps
from kcli.proxy.recording import Recorder
from kcli.replay.sessions.runner import parse_speed
from kcli.replay.topics import parse_topic_map
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.comparison import LEVELS, Level
from kcli.replay.traffic.outcome import Difference, Outcome
from kcli.replay.traffic.replaying import Options, replay
from kcli.replay.traffic.survey import Survey, survey
from kcli.schemas.catalog import catalog


@click.command("replay")
@files_argument("FILE|DIR...", expand=captures_in)
@client_options
@click.option("--speed", metavar="X|max", default="1", show_default=True, help="Speed, as a multiple of the captured.")
@click.option(
    "--free-running",
    "free",
    is_flag=True,
    help="A load test: no connection waits for others, no fetch longer than the speed allows; nothing is compared.",
)
@click.option("--repeat", type=click.IntRange(1), default=1, metavar="N", help="Run everything N times, one by one.")
@click.option(
    "--clients",
    type=click.IntRange(1, 10_000),
    default=1,
    metavar="N",
    help="Run each captured client N times at once: client ids, groups and transactional ids end in -1 to -N.",
)
@click.option("--only", multiple=True, metavar="API,...", help="Only requests of these APIs.")
@click.option("--skip", multiple=True, metavar="API,...", help="No requests of these APIs.")
@click.option(
    "--client-id", "--client", "client", metavar="ID", help="Only this client; * and ? stand for other characters."
)
@click.option(
    "--admin", is_flag=True, help="Also requests that change the cluster: topics, configs, ACLs and the like."
)
@live_topics_options
@click.option(
    "--compare", "level", type=click.Choice(LEVELS), default="errors", show_default=True,
    help="What must be equal: errors by API, also the shape of each answer, every value, or nothing.",
)  # fmt: skip
@click.option(
    "--show-difference", "shown", type=click.IntRange(0), default=0, metavar="N",
    help="Show both exchanges in full for the first N kinds of difference.",
)  # fmt: skip
@click.option("--fill", is_flag=True, help="Write to empty topics what they held before, as the captures show it.")
@click.option("--record", metavar="FILE", help="Save what the replay says and hears, as a capture (pcapng).")
@format_option(("table", "json", "jsonl"), "A table, one JSON object, or an object for each API.", default="table")
@port_option
@reading_options
@quiet_option("No progress, no notes.")
def replay_command(
    files: tuple[str, ...],
    bootstrap: str | None,
    settings: tuple[str, ...],
    speed: str,
    free: bool,
    repeat: int,
    clients: int,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    client: str | None,
    admin: bool,
    topics: tuple[str, ...],
    create: bool,
    level: Level,
    shown: int,
    fill: bool,
    record: str | None,
    format_: str,
    ports: tuple[int, ...],
    dialect: str | None,
    key_logs: tuple[str, ...],
    memory: int,
    quiet: bool,
) -> int:
    """Run all requests in FILE... again, against a cluster, and lay its answers beside the captured ones by API.

    Without --bootstrap the cluster is an embedded broker in this process, empty at first.

    FILE: a capture; - is standard input; DIR: a directory with captures. Several are read as one. Every captured
    connection is one here, with its requests in their order; a request waits for the writes that were answered before
    it. Ids that a broker gives out (topic and producer ids, members, generations, sessions, epochs) are the live ones.
    Versions that the cluster lacks become the nearest that it has. Logins are the replay's own (--config); what
    brokers say among themselves stays out.

    Exit 1 when answers differ (--compare).

    \b
    kcli replay night.pcap --bootstrap localhost:9092
    kcli replay night.pcap --bootstrap localhost:9092 --clients 20 --speed max --free-running
    """
    config = configure(bootstrap, settings, quiet=quiet)
    options = Options(parse_speed(speed), repeat, clients, parse_topic_map(topics), create, max(memory >> 2, 1), free)
    if free and click.get_current_context().get_parameter_source("level") is ParameterSource.DEFAULT:
        level = "none"
    known = catalog(dialect)
    choice = Choice(known, keys(only, known.api_key), keys(skip, known.api_key), client, admin)
    outcome = Outcome(level, shown, dialect)
    problems: list[InputError] = []
    with tempfile.TemporaryDirectory(prefix="kcli-replay-") if "-" in files else nullcontext("") as folder:
        reading: dict[str, Any] = {"ports": ports, "dialect": dialect, "memory": memory, "key_logs": key_logs}
        written = [spooled(folder)] if "-" in files else []
        paths = [written[0] if file == "-" else file for file in dict.fromkeys(files)]

        def read(kept: list[InputError] | None = None) -> Iterable[object]:
            """The captures anew. kept: gets what is wrong with them."""
            try:
                yield from read_capture(paths, **reading)
            except InputError as error:
                if kept is not None:
                    error.file = name_of("-") if error.file in written else error.file
                    kept.append(error)

        seen = survey(read(problems), choice, dialect)  # type: ignore[arg-type]
        notify(seen, quiet)
        if not seen.requests:
            raise (
                problems[0]
                if problems
                else InputError(f"{', '.join(map(name_of, files))}: no request that can be replayed")
            )
        begun = time.monotonic()
        with counting(seen.requests * repeat * clients, quiet, "requests") as done:
            say = ignore if quiet else warn
            with recording(record, files) as save:
                history = CaptureHistory.of(read_capture(paths, **reading), lambda _: None) if fill else None
                extra = Extra(dialect, say, done, save, history)
                try:
                    finished = asyncio.run(work(read, seen, choice, config, options, outcome, extra))
                finally:
                    if history is not None:
                        history.close()
        seconds = time.monotonic() - begun
    # Standard output is the capture's where the recording goes there.
    with redirect_stdout(sys.stderr) if record == "-" else nullcontext():
        show(outcome, format_, seen.requests * repeat * clients, seconds)
    if not quiet:
        notify_end(outcome)
    conclude(problems, quiet)
    if not finished:
        return INTERRUPTED
    return 1 if outcome.has_differences() else 0


def keys(names: Iterable[str], key_of: Callable[[str], int]) -> frozenset[int]:
    """API keys of names with commas between. UsageError: one is no API."""
    return frozenset(key_of(name.strip()) for each in names for name in each.split(",") if name.strip())


def spooled(folder: str) -> str:
    """A file with what standard input holds: captures are read twice."""
    path = Path(folder, "standard-input")
    with path.open("wb") as file:
        shutil.copyfileobj(standard_input(), file)
    return str(path)


class Extra(NamedTuple):
    """What a run needs besides. say: takes notes; done: called after each request; save: takes blocks of a capture."""

    dialect: str | None
    say: Callable[[str], None]
    done: Callable[[], None]
    save: Callable[[bytes], Any] | None
    history: CaptureHistory | None


@contextmanager
def recording(file: str | None, inputs: Iterable[str]) -> Iterator[Callable[[bytes], Any] | None]:
    """What writes the replay's own capture; None: none is wanted. UsageError: it is one of the inputs."""
    if file is None:
        yield None
        return
    with open_output(file, inputs, private=True) as out:
        yield out.write


async def work(
    read: Callable[[], Iterable[object]],
    seen: Survey,
    choice: Choice,
    config: ClientConfig,
    options: Options,
    outcome: Outcome,
    extra: Extra,
) -> bool:
    """Whether the replay came to its end: Ctrl-C ends it with what was seen so far."""
    async with cluster(config, extra.dialect) as broker:
        if broker is not None:
            config = config.replace(bootstrap_servers=tuple(broker.bootstrap.split(",")))
        recorder = None if extra.save is None else Recorder(extra.save, "kcli replay")
        more: dict[str, Any] = {"notify": extra.say, "done": extra.done, "dialect": extra.dialect}
        more |= {"recorder": recorder, "history": extra.history}
        task = asyncio.ensure_future(replay(read, seen, choice, config, options, outcome, **more))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            return False
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            if recorder is not None:
                recorder.flush()
        return True


def cluster(config: ClientConfig, dialect: str | None) -> AbstractAsyncContextManager[Any]:
    """An embedded broker where no cluster is named; it is empty and ends with the replay."""
    from kcli.cli.broker.serve import allow_files

    allow_files()  # each captured connection is one here
    if config["bootstrap.servers"]:
        return nullcontext()
    from kcli.broker import Broker

    return Broker(dialect=dialect)


def notify(seen: Survey, quiet: bool) -> None:
    """What of the captures is not replayed, and why."""
    if quiet:
        return
    for reason, count in seen.left_out.items():
        warn(f"left out: {counted(count, 'exchange')} {reason}")


def notify_end(outcome: Outcome) -> None:
    """What went otherwise than captured, and is no difference."""
    if outcome.retried:
        warn(f"asked again: {counted(outcome.retried, 'request')} that the cluster was not ready for")
    if outcome.late:
        warn(f"sent without waiting longer: {counted(outcome.late, 'request')} behind answers that did not come")


def show(outcome: Outcome, format_: str, requests: int, seconds: float) -> None:
    """Print the outcome."""
    if format_ == "table":
        from kcli.cli.replay.view import show_outcome

        show_outcome(outcome, requests, seconds)
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


def pair(difference: Difference) -> dict[str, Any]:
    """Both exchanges of a difference, for JSON."""
    from kcli.jsontext import loads

    live = difference.live
    return {
        "api": difference.api,
        "difference": difference.text,
        "captured": loads(difference.captured.line()),
        "live": None if live is None else loads(live.line()),
    }
