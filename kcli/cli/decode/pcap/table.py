"""`decode pcap` for people: a line for each exchange, and colours for what failed."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kcli.capture.kafka.clock import SECOND, instant
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.pcap.summary import answer_of, errors_text, summarize
from kcli.cli.terminal.cells import cut, fit, pad, width, wrap
from kcli.cli.terminal.columns import left_out_lines
from kcli.cli.terminal.lines import paint
from kcli.counting import bytes_text, few_of
from kcli.input_names import name_of

LONGEST = 40  # cells of a client's name in the legend
MOST_SPEAKERS = 1 << 14  # remembered
PLAIN = 60  # cells of the summary, if lines are not broken
LEAST = 24  # least cells of the summary beside the other columns; with fewer it stands below them
NARROW = 120  # a terminal that has no room for the sizes
INDENT = "    "  # indent of lines below a row
SIZES = 15  # columns
SHORTEST = 4  # least cells of a client's name
RELATIVE, INSTANT = 11, 27  # columns of a time: +12.345 s, 2026-11-21T01:21:58.907123Z
AT_TERMINAL = 12  # cells of both kinds on a terminal: +86400.000 s, 01:21:58.907


class ExchangeWords(NamedTuple):
    """An exchange in words. failed: the answer has an error. fits: the bodies pass the filter. nameless: topic ids
    without a name, in bodies that would pass the filter apart from its topic.
    """

    text: str
    failed: bool = False
    fits: bool = True
    nameless: frozenset[str] = frozenset()


class Speaker:
    """A client on a connection, as rows name it. client: its id, None for none; cells: of both columns."""

    __slots__ = ("cells", "client", "connection", "label", "shown")

    def __init__(self, label: str, connection: str, client: str | None, size: int) -> None:
        self.label, self.connection, self.client = label, connection, client
        self.cells = f"{label:<5} {fit(client or '-', size)}"
        self.shown = False


class ExchangeTable:
    """Writes exchanges and events as lines.

    width: cells of the terminal; None: lines are not broken (a pipe). absolute: times are times of day, in a pipe with
    the date (UTC), instead of seconds since the first packet.
    """

    def __init__(
        self,
        write: Callable[..., None],
        later: Callable[[str], None] | None = None,
        *,
        width: int | None = None,
        colour: bool = False,
        absolute: bool = False,
    ) -> None:
        """Prepare a table. write: takes the parts of a line, as `Lines.line` does; later: takes a line
        that may wait.
        """
        self.write, self.later = write, later or write
        self.colour = colour
        self.absolute = absolute
        self.layout = layout(width, absolute)
        self.second, self.second_text = -1, ""  # the date of the last time
        self.start: int | None = None
        self.connections: dict[str, str] = {}  # labels of all connections so far
        self.shown: dict[str, tuple[str, str | None]] = {}  # connections in the table, by label, and their clients
        self.speaker = lru_cache(MOST_SPEAKERS)(self.make_speaker)
        self.clients: set[str] = set()
        self.exchanges = self.failed = 0
        self.slowest: tuple[float, str] = (0.0, "")

    @property
    def ports(self) -> set[str]:
        """The ports of the servers in the table."""
        shown = self.shown.values() if self.exchanges else ()
        return {connection.partition("-")[0].rpartition(":")[2] for connection, _ in shown}

    def legend(self, most: int) -> list[str]:
        """Return the connections in the table: "c1 10.0.0.7:41202 to 10.0.0.2:9092, checkout-1"."""
        made = []
        for label, (connection, client) in sorted(self.shown.items(), key=lambda each: int(each[0][1:]))[:most]:
            server, _, end = connection.partition("-")
            made.append(f"{label} {end} to {server}" + (f", {cut(client, LONGEST)}" if client else ""))
        return made

    def note(self, label: str, connection: str, client: str | None) -> None:
        """Remember that the table has a row of that connection."""
        known = self.shown.get(label)
        if known is None or (known[1] is None and client is not None):
            self.shown[label] = connection, client

    def begin(self, ns: int, opening: str = "") -> None:
        """Write the headings; times are shown from here. opening: what is being read, for a terminal."""
        self.start = ns
        if opening:
            self.write(f"{opening}  from {instant(ns)[:-4].replace('T', ' ')}Z")
        heading = f"{'what':<{self.layout.room}}" if self.layout.room else ""
        headings = self.layout.left("time", "conn", "client", "api") + heading + self.layout.right("ms", "bytes")
        for line in left_out_lines([] if self.layout.sizes else ["bytes"], self.layout.width):
            self.write(line)
        self.write(paint(headings, self.colour, bold=True))

    def show(self, item: Exchange | Event) -> None:
        """Write a line for an exchange or event."""
        if self.start is None:
            self.begin(item.ns if isinstance(item, Event) else item.request_ns)
        if isinstance(item, Exchange):
            self.show_exchange(item)
        else:
            self.show_event(item)

    def time(self, ns: int) -> str:
        """Format seconds since the first packet, or the time itself, as the table shows them."""
        if not ns:
            return ""
        if not self.absolute:
            return f"{(ns - (self.start or 0)) / SECOND:+.3f} s"
        second, rest = divmod(ns, SECOND)
        if second != self.second:
            self.second, self.second_text = second, instant(ns)[:-7]
        text = f"{self.second_text}{rest // 1000:06d}Z"
        return text if self.layout.width is None else text[11:23]

    def label(self, connection: str) -> str:
        """Return a short name for a connection: c1, c2, ... in order of first appearance, shown or not."""
        known = self.connections.get(connection)
        if known is None:
            known = self.connections[connection] = f"c{len(self.connections) + 1}"
        return known

    def show_exchange(self, exchange: Exchange) -> None:
        """Write a line for an exchange that comes as a value."""
        exchange_words = words_of(exchange)
        colour = "red" if exchange_words.failed or exchange.failures else None
        client = exchange.header.get("clientId")
        self.failed += exchange_words.failed
        size = sizes(exchange.request_bytes, exchange.response_bytes)
        speaker = self.speaker(exchange.connection, client)
        ns, api = exchange.request_ns, api_text(exchange)
        self.row(speaker, ns, api, exchange.api_version, exchange_words.text, exchange.latency_ms, size, colour)

    def make_speaker(self, connection: str, client: str | None) -> Speaker:
        """Return the client on a connection, as rows name it."""
        return Speaker(self.label(connection), connection, client, self.layout.client)

    def row(  # noqa: PLR0913  a value for each column
        self,
        speaker: Speaker,
        ns: int,
        api: str,
        version: int,
        text: str,
        latency: float | None,
        size: str,
        colour: str | None,
    ) -> None:
        """Write a line for an exchange. latency: ms; size: as `sizes` has it."""
        self.exchanges += 1
        if latency is not None and latency > self.slowest[0]:
            self.slowest = latency, api.removeprefix("key ")
        if not speaker.shown:
            speaker.shown = True
            self.clients.add(speaker.client or "")
            self.note(speaker.label, speaker.connection, speaker.client)
        layout = self.layout
        left = f"{self.time(ns).rjust(layout.time)}  {speaker.cells} {api_cell(api, version, layout.api)} "
        if layout.width is None and not self.colour and text.isascii():
            self.later(f"{left}{text.ljust(layout.room)} {milliseconds(latency):>8}  {size}")
        else:
            self.line(left, text, milliseconds(latency), size, colour)

    def show_event(self, event: Event) -> None:
        """Write a line for an event."""
        label = "" if event.connection is None else self.label(event.connection)
        _, client = self.shown.get(label, ("", None)) if event.sender == "client" else ("", None)
        where = event.file or client or event.sender or ""
        if event.connection is not None:
            self.note(label, event.connection, None)
        left = self.layout.left(self.time(event.ns), label, where, event.kind)
        self.line(left, event.reason, "-", short(event.size), "yellow")

    def line(self, left: str, text: str, ms: str, size: str, colour: str | None) -> None:
        """Write a line; text that is too long for its column continues on the next lines, if lines are broken."""
        first, *below = self.layout.broken(text, left)
        self.write(self.paint(left + first, colour), self.layout.right(ms, size))
        for part in below:
            self.write(self.paint(part, colour))

    def paint(self, text: str, colour: str | None) -> str:
        """Colour a text, where there are colours."""
        return paint(text, self.colour and colour is not None, fg=colour)


@lru_cache(1 << 12)
def api_cell(name: str, version: int, size: int) -> str:
    return fit(f"{cut(name, size - 3)} {version}", size)


def api_text(exchange: Exchange) -> str:
    """Return the name of an exchange's API, or of an unknown one "key 999"."""
    api = exchange.bodies.api(exchange.api_key)
    return api.name if api else f"key {exchange.api_key}"


def words_of(exchange: Exchange) -> ExchangeWords:
    """Summarize the request and the response."""
    request_text, response_text = summarize(exchange)
    if exchange.cut.response is None:
        errors = errors_text(exchange.request, exchange.opened_response)
    else:
        errors = ", ".join(exchange.known_errors)
    answer = compose(exchange, response_text, errors)
    return ExchangeWords((f"{request_text} -> {answer}" if answer else request_text).strip(), bool(errors))


def compose(exchange: Exchange, answered: str, errors: str) -> str:
    """Compose the response's text: its summary, the errors, and the broker's message for the first one."""
    if exchange.response_frame is None:
        return answered or ("no response expected" if (exchange.request or {}).get("acks") == 0 else "no response")
    if not errors:
        return answered
    leader = answered[answered.find("leader is") :] if "leader is" in answered else ""
    words = answer_of(exchange.response)
    return errors + (f", {leader}" if leader else "") + (f": {words}" if words else "")


def milliseconds(latency: float | None) -> str:
    """Format a latency in ms; "-" where it is not known."""
    if latency is None:
        return "-"
    return f"{latency:.1f}" if latency < 1000 else f"{latency:,.0f}"


def short(count: int | None) -> str:
    """Format a size as "812" or "33 k"."""
    return "-" if count is None else bytes_text(count).removesuffix("B").rstrip()


@lru_cache(1 << 16)
def sizes(request: int, response: int | None) -> str:
    """Format the sizes of a request and its response: "812 / 33 k"."""
    return f"{short(request)} / {short(response)}"


def opening(files: tuple[str, ...]) -> str:
    """Return the first line, which names the input."""
    names = [Path(name_of(name)).name for name in files]
    sizes = [Path(name).stat().st_size for name in files if name != "-" and Path(name).is_file()]
    return f"{few_of(names, 3)}  {bytes_text(sum(sizes)) if sizes else ''}".rstrip()


class TableLayout(NamedTuple):
    """The widths of columns.

    sizes: whether the column of sizes is shown. room: cells of the summary; 0: it stands below. width: cells of the
    terminal; None: lines are not broken.
    """

    time: int
    client: int
    api: int
    sizes: bool
    room: int
    width: int | None

    def left(self, time: str, conn: str, client: str, api: str) -> str:
        """Return the columns left of the summary."""
        return f"{time:>{self.time}}  {conn:<5} {fit(client, self.client)} {fit(api, self.api)} "

    def right(self, ms: str, size: str) -> str:
        """Return the columns right of the summary."""
        return f" {ms:>8}" + (f"  {size}" if self.sizes else "")

    def broken(self, text: str, left: str) -> list[str]:
        """Return the summary's part in the row, and the lines below. Only a word longer than a line is broken."""
        if self.width is None:
            return [pad(text, self.room)]
        if self.room and (width(text) <= self.room or all(width(word) <= self.room for word in text.split())):
            first, *rest = wrap(text, self.room) or [""]
            return [pad(first, self.room), *(" " * width(left) + part for part in rest)]
        return [" " * self.room, *(INDENT + part for part in wrap(text, self.width - len(INDENT)))]


def layout(width: int | None, absolute: bool = False) -> TableLayout:
    """Return the layout for a terminal of that width, or (None) for a pipe. absolute: times of day, not seconds since
    the start.
    """
    if width is None:
        return TableLayout(INSTANT if absolute else RELATIVE, 20, 24, True, PLAIN, None)
    client, api, sizes = (20, 24, True) if width >= NARROW else (12, 19, False)
    made = TableLayout(AT_TERMINAL, client, api, sizes, 0, width)
    room = width - len(made.left("", "", "", "") + made.right("", " " * SIZES))
    if room >= LEAST:
        return made._replace(room=room)
    return made._replace(client=max(SHORTEST, min(client, client + room)))
