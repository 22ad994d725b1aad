"""Finds the state of a connection at a time in mid-stream from the packets after it.

Frames are searched as in any capture that begins in mid-stream. Once requests have been answered in order, nothing
depends on earlier packets any more: from there on the state is the same as after reading the connection from its start.
What only the start can tell (which end is the client, positions in the streams, the response to ApiVersions) is taken
from the start: the sequence numbers of TCP tell the number of bytes between two times, as long as it is less than 4 GB.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kcli.capture.io.files import FOREVER
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange, learn_names
from kcli.capture.tls.layer import TlsLayer
from kcli.pipeline.packets.decoding import Decoded, DecodingOptions
from kcli.pipeline.packets.open_connections import Carried, dump, restore
from kcli.pipeline.packets.reading import START, Reading
from kcli.pipeline.packets.windows import Heavy, Window, moments
from kcli.pipeline.rows.row_source import RowSource

EXCHANGES = 20  # at the connection's start, after which all that only the start can tell is known
ANSWERED = 2  # exchanges in mid-stream that are needed before it counts as in step
PACKETS = 2000  # after so many packets, do not wait for more exchanges
MOST_PACKETS = 100_000  # packets that are searched, at most
REACH = 3  # windows that are searched at most
QUIET = {"searched": 0, "seen": 0, "candidates": [], "ends": [], "received": 0, "effort": 0}


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """A place where decoding can begin. ns: its time. clock: the latest time of a packet read up to there (packets are
    not always in order). flow: the connection. names: (id, name) of the topics named on the way there.
    """

    ns: int
    clock: int
    flow: Carried
    names: tuple[tuple[str, str], ...]


class ResyncScanner(RowSource):
    """Reads packets until the connection is in step; writes no rows. client: the end that connected; None: unknown."""

    direct = False

    def __init__(self, heavy: int, client: int | None, **options: Any) -> None:
        self.client = client
        self.names: dict[str, str] = {}
        self.made: list[TlsLayer] = []
        self.request_ns = 0  # the time of the request that was answered last
        super().__init__(self.note, frozenset(), **options)
        self.engine.choose(heavy, True)
        self.capture.handover.layer = self.layer

    def note(self, table: str, row: tuple[Any, ...]) -> None:
        if table == "topic_names":
            self.names[row[0]] = row[1]

    def layer(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> TlsLayer:
        """Make the layer that reads a connection, with what is known of its client."""
        made = self.capture.handover.new_layer(ends, client, started)
        if client is None and self.client is not None:
            made.connection.client, made.connection.spoke = self.client, True
        self.made.append(made)
        return made

    def exchange(self, exchange: Exchange) -> None:
        self.request_ns = exchange.request_ns
        self.rows.exchanges += 1
        learn_names(exchange)
        self.overlook(exchange)

    def event(self, event: Event) -> None:
        """Ignore an event."""

    @property
    def hopeless(self) -> bool:
        return self.engine.packets > MOST_PACKETS or any(each.foreign is not None for each in self.made)


def aim(heavy: Heavy, window_bytes: int) -> list[Window]:
    """Return, for each window of about `window_bytes`, the packets that may be read to find the connection's state at
    its start.
    """
    size = sum(each.bytes for each in heavy.staged)
    edges = [START, *moments(heavy.staged, max(1, -(-size // window_bytes)))]
    ends = [*edges[REACH:], *[FOREVER] * REACH]
    return [heavy.window(number, *pair) for number, pair in enumerate(zip(edges, ends, strict=False))]


def find(window: Window, first: ResumePoint | None, options: DecodingOptions) -> ResumePoint | None:
    """Return the first place found in a window where its connection is in step, with its state there; None if there is
    none. first: the result for the first window; None: this is the first window.
    """
    client = None if first is None else state_of(first.flow)[3]
    scanner = ResyncScanner(window.heavy, client, **options.reading)
    restore(scanner, window.carried, window.clock)
    least, enough = (1, EXCHANGES) if first is None else (ANSWERED, ANSWERED)
    best: ResumePoint | None = None
    seen = 0
    with contextlib.closing(Reading(scanner.engine, scanner.new_reader, window.slices, window.after)) as reading:
        while seen < enough and (moment := reading.next_ns) < window.until and not scanner.hopeless:
            reading.run(moment)
            if scanner.rows.exchanges >= max(least, seen + 1) and scanner.engine.in_step:
                best, seen = resume_point(scanner, moment) or best, scanner.rows.exchanges
                enough = least if scanner.engine.packets > PACKETS else enough
    return best


def resume_point(scanner: ResyncScanner, moment: int) -> ResumePoint | None:
    """Return a resume point; None if a request that came before an answered one is still waiting: its response was
    missed.
    """
    flows = dump(scanner)
    if any(request[3] < scanner.request_ns for request in state_of(flows[0])[4]["pending"]):
        return None
    return ResumePoint(moment, scanner.engine.last_ns, plainest(flows[0]), tuple(scanner.names.items()))


def place(heavy: Heavy, first: ResumePoint, found: Sequence[ResumePoint | None]) -> list[Window]:
    """Return the windows that can be decoded. found: for each window but the first, the result of `find`."""
    stands = [first]
    for each in found:
        if each is not None and each.ns > stands[-1].ns and is_same(first.flow, each.flow):
            stands.append(continued(stands[-1], each))
    windows = heavy.windows([each.ns for each in stands[1:]])
    names = dict(first.names)
    for number, each in enumerate(stands[1:], start=1):
        names |= dict(each.names)
        windows[number] = replace(windows[number], carried=(each.flow,), clock=each.clock, names=tuple(names.items()))
    return windows


def agrees(before: Decoded, window: Window) -> bool:
    """Return whether a window began with the state in which the one before it ended."""
    ended = [plainest(each) for each in before.under_way]
    return ended == list(window.carried) and before.last_ns == window.clock


# What `open_connections` keeps of a connection: (ends, client, last, reset, waits, sides, state, profile). Each side is
# (flags, numbers, waiting); state is (ignored, foreign, passed, client, connection). The TCP handshake does not count
# when states are compared.


def state_of(flow: Carried) -> tuple[Any, ...]:
    state: tuple[Any, ...] = flow[6]
    return state


def is_same(first: Carried, found: Carried) -> bool:
    return bool(first[0] == found[0] and state_of(first)[3] == state_of(found)[3])


def plainest(flow: Carried) -> Carried:
    """Return a connection without its handshake, and without the traces of a finished search for frames."""
    *head, state, profile = flow[:8]
    if state is None or state[4] is None:
        return flow[:8]
    streams = [stream | QUIET if stream["synced"] else stream for stream in state[4]["streams"]]
    streams = [stream if stream["buffer"] else stream | {"begun": 0} for stream in streams]
    return (*head, (*state[:4], state[4] | {"streams": streams}), profile)


def continued(before: ResumePoint, found: ResumePoint) -> ResumePoint:
    """Return a resume point completed with facts of the one before that only the connection's start has."""
    ends, client, _, _, _, old_sides, old_state, profile = before.flow
    _, _, last, reset, waits, sides, state, _ = found.flow
    sides = tuple(continued_side(old, side) for old, side in zip(old_sides, sides, strict=True))
    streams = [
        stream | {"offset": side[1][3] - len(stream["buffer"])}
        for stream, side in zip(state[4]["streams"], sides, strict=True)
    ]
    connection = state[4] | {"began": old_state[4]["began"], "streams": streams}
    flow = (ends, client, last, reset, waits, sides, (*state[:4], connection), profile)
    return replace(found, flow=flow)


def continued_side(before: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
    (_, _, syn, _, _), (first, old, _, offset, _), _ = before
    (seen, known, _, closed, answered), (_, following, acked, _, below), waiting = found
    offset += (following - old) % 2**32
    return (seen, known, syn, closed, answered), (first, following, acked, offset, below), waiting
