"""The last lines of `decode pcap`: totals, oddities, and whether every byte is accounted for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from kcli.capture.counters import Tally
from kcli.capture.other_packets import fragment_phrases, unread_phrases
from kcli.cli.terminal.commands import ShownCommand, listed_commands
from kcli.cli.terminal.unnamed_topics import unnamed_topics
from kcli.counting import bytes_text, counted, span_text
from kcli.filelike import name_of
from kcli.schemas.apikeys import FETCH
from kcli.schemas.catalog import catalog
from kcli.shell import file_words

if TYPE_CHECKING:
    from kcli.capture.decoder import CaptureDecoder
    from kcli.cli.decode.pcap.table import ExchangeTable

Ended = Literal["", "interrupted", "damaged"]  # why the captures were not read to their end
STANDARD_INPUT = name_of("-")  # standard input, which can't be read again
LEGEND = 8  # most connections listed


def closing(
    source: CaptureDecoder[Any],
    table: ExchangeTable | None,
    *,
    key_logs: Sequence[str] = (),
    shown: int | None = None,
    ended: Ended = "",
    room: int | None = None,
    options: str = "",
) -> list[str]:
    """Return the last lines: totals, oddities, whether every byte is accounted for, and the next commands.

    shown: the number of exchanges that passed the filter; None: no filter. options: the filter in words. ended:
    "interrupted": the engine stopped early, so bytes may wait in it; "damaged": the captures can be read only up to a
    place. room: cells of a line with a command; other lines have no limit.
    """
    tally, engine = source.tally, source.engine
    first, links = counted(tally.exchanges, "exchange"), counted(engine.connections, "connection")
    if table is not None:
        if table.exchanges < tally.exchanges:
            first, links = f"{table.exchanges:,} of {first}", f"on {len(table.shown):,} of {links}"
        links += f", {counted(len(table.clients), 'client')}; {table.failed:,} with errors" if tally.exchanges else ""
    elif shown is not None:
        first = f"{shown:,} of {first}"
    elif tally.exchanges:
        first += f" ({apis_text(tally)})"
    parts = [f"{first}, {links}", *oddities(tally, engine)]
    lines = ["; ".join(parts) + ";"]
    all_there = accounted(tally.unaccounted(engine), ended)
    size = f"{bytes_text(engine.wire_bytes)} over {span_text(source.time.seconds())}"
    lines.append(f"{counted(engine.packets, 'packet')}, {size}; {all_there}.")
    if table is not None and tally.exchanges:
        lines[-1] += f" Slowest: {table.slowest[1]} {slow_text(table.slowest[0])}." if table.slowest[1] else ""
        again = "" if STANDARD_INPUT in source.file_names else file_words(source.file_names, key_logs)
        lines += legend(table, again, room)
        if table.ports:
            lines.append(f"Brokers on port{'s' * (len(table.ports) > 1)} {', '.join(sorted(table.ports, key=int))}.")
        lines += unnamed_topics(source.bodies.names, again, room)
        if table.exchanges:
            lines += following(tally, table, again, room, options)
    return lines


def following(tally: Tally, table: ExchangeTable, again: str, room: int | None, options: str = "") -> Iterator[str]:
    """Yield the next commands to try. again: the captures on a command line; "": standard input, which was read once.
    options: the options of the filter, which stay.
    """
    has_errors = 0 < table.failed < table.exchanges  # every exchange has an error: --errors chose them
    if not again:
        yield f"Next: the same with {'--errors or ' if has_errors else ''}--format tree"
        return
    yield "Next:"
    same = " ".join(filter(None, ("kcli decode pcap", again, options)))
    commands = [f"{same} --errors"] if has_errors else []
    commands.append(f"{same} --format tree")
    if tally.apis[FETCH]:
        commands.append(f"kcli fetch-session explain {again}")
    yield from listed_commands(commands, room)


def legend(table: ExchangeTable, again: str, room: int | None) -> Iterator[str]:
    """Yield the connections in the table, at most the first ones. again: see `following`."""
    more = len(table.shown) - LEGEND
    yield from (f"  {each}" for each in table.legend(LEGEND))
    if more > 0 and again:
        yield from ShownCommand(f"and {more:,} more:", f"kcli stats {again} --by connection").lines(room, "  ")
    elif more > 0:
        yield f"  and {more:,} more"


def accounted(missing: int, ended: Ended) -> str:
    if ended == "interrupted":
        return f"interrupted: {max(missing, 0):,} bytes read and not yet used"
    all_there = "every byte before the damage accounted for" if ended == "damaged" else "every byte accounted for"
    return all_there if not missing else f"{missing:,} bytes NOT accounted for: please report it"


def slow_text(latency: float) -> str:
    return f"{latency / 1000:.1f} s" if latency >= 1000 else f"{latency:.1f} ms"


def apis_text(tally: Tally) -> str:
    apis = catalog().apis
    most = sorted(tally.apis.items(), key=lambda each: (-each[1], each[0]))
    top = [f"{apis[key].name if key in apis else key} {number:,}" for key, number in most[:4]]
    return ", ".join(top) + (f" and {counted(len(tally.apis) - 4, 'more API')}" if len(tally.apis) > 4 else "")


def oddities(tally: Tally, engine: Any) -> list[str]:
    """Return a phrase for each oddity of the capture that matters to a reader."""
    events, sizes = tally.events, tally.event_bytes
    sealed = f", {tally.sealed:,} of them TLS whose keys are missing (--key-log)" if tally.sealed else ""
    phrases = (
        (tally.decrypted, f"{counted(tally.decrypted, 'TLS connection')} decrypted"),
        (tally.mid_stream, f"{counted(tally.mid_stream, 'connection')} began before the capture"),
        (tally.exchanges - tally.answered, f"{tally.exchanges - tally.answered:,} without a response"),
        (events["gap"], f"{counted(events['gap'], 'gap')} ({bytes_text(sizes['gap'])})"),
        (events["truncated"], f"{events['truncated']:,} cut short ({bytes_text(sizes['truncated'])})"),
        (tally.unsure, f"errors of {counted(tally.unsure, 'response')} unknown, as they are cut short"),
        (events["undecodable"], f"{events['undecodable']:,} not decodable ({bytes_text(sizes['undecodable'])})"),
        (events["not-kafka"], f"{events['not-kafka']:,} not Kafka ({bytes_text(sizes['not-kafka'])}{sealed})"),
        (engine.duplicate, f"{bytes_text(engine.duplicate)} sent again"),
        (engine.ignored, f"{bytes_text(engine.ignored)} on other ports"),
        *((True, phrase) for phrase in unread_phrases(engine)),
        (engine.cuts, f"{counted(engine.cuts, 'packet')} cut before the TCP header's end"),
        *((True, phrase) for phrase in fragment_phrases(engine)),
    )
    return [text for number, text in phrases if number]
