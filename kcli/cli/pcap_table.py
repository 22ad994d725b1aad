"""`decode pcap` for people: a line for each exchange, and colours for what failed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kcli.capture.clock import instant
from kcli.capture.events import Event
from kcli.capture.exchange import Exchange
from kcli.capture.tally import bytes_text
from kcli.cli.cells import cut, fit
from kcli.cli.lines import paint
from kcli.cli.pcap_layout import layout
from kcli.cli.pcap_summaries import answer_of, errors_text, summarize
from kcli.schemas.catalog import catalog

__all__ = ["Said", "Table", "opening", "words_of"]

SECOND = 1_000_000_000
LONGEST = 40  # cells of a client's name in the legend


class Said(NamedTuple):
    """What an exchange says, in words. failed: the answer has an error; fits: the bodies pass a filter."""

    text: str
    failed: bool = False
    fits: bool = True


class Table:
    """Lines out of exchanges and events. width: columns of the terminal, None: lines are not broken (a pipe).

    absolute: times are not seconds since the first packet but the time of day, in a pipe with the date (UTC).
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
        """write: takes the parts of a line, as `Lines.line` does; later: a line that may wait."""
        self.write, self.later = write, later or write
        self.colour = colour
        self.absolute = absolute
        self.layout = layout(width, absolute)
        self.second, self.second_text = -1, ""  # the last time's
        self.start: int | None = None
        self.connections: dict[str, str] = {}  # labels of all that were met
        self.shown: dict[str, tuple[str, str | None]] = {}  # those in the table, by label, and their clients
        self.clients: set[str] = set()
        self.exchanges = self.failed = 0
        self.slowest: tuple[float, str] = (0.0, "")

    @property
    def ports(self) -> set[str]:
        """Those of the servers in the table."""
        shown = self.shown.values() if self.exchanges else ()
        return {connection.partition("-")[0].rpartition(":")[2] for connection, _ in shown}

    def legend(self, most: int) -> list[str]:
        """Who the connections in the table are: "c1 10.0.0.7:41202 to 10.0.0.2:9092, checkout-1"."""
        made = []
        for label, (connection, client) in sorted(self.shown.items(), key=lambda each: int(each[0][1:]))[:most]:
            server, _, end = connection.partition("-")
            made.append(f"{label} {end} to {server}" + (f", {cut(client, LONGEST)}" if client else ""))
        return made

    def note(self, label: str, connection: str, client: str | None) -> None:
        """A row of that connection is shown."""
        known = self.shown.get(label)
        if known is None or (known[1] is None and client is not None):
            self.shown[label] = connection, client

    def begin(self, ns: int, opening: str = "") -> None:
        """The headings; times are shown from here. opening: what is being read, for a terminal."""
        self.start = ns
        if opening:
            self.write(f"{opening}  from {instant(ns)[:-4].replace('T', ' ')}")
        what = f"{'what':<{self.layout.room}}" if self.layout.room else ""
        headings = self.layout.left("time", "conn", "client", "api") + what + self.layout.right("ms", "bytes")
        self.write(paint(headings, self.colour, bold=True))

    def show(self, item: Exchange | Event) -> None:
        """A line for an exchange or event."""
        if self.start is None:
            self.begin(item.ns if isinstance(item, Event) else item.request_ns)
        if isinstance(item, Exchange):
            self.show_exchange(item)
        else:
            self.show_event(item)

    def time(self, ns: int) -> str:
        """Seconds since the first packet, or the time itself, as the table shows them."""
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
        """A short name for a connection: c1, c2, ... by when it was first met, shown or not."""
        known = self.connections.get(connection)
        if known is None:
            known = self.connections[connection] = f"c{len(self.connections) + 1}"
        return known

    def show_exchange(self, exchange: Exchange) -> None:
        """A line for an exchange that comes as a value."""
        said = words_of(exchange)
        colour = "red" if said.failed or exchange.failures else None
        api = catalog(exchange.bodies.dialect).api(exchange.api_key)
        name = api.name if api else f"key {exchange.api_key}"
        client = exchange.header.get("clientId")
        request = exchange.connection, exchange.request_ns, client, name, exchange.api_version
        self.row(*request, said, exchange.latency_ms, (exchange.request_bytes, exchange.response_bytes), colour)

    def row(
        self,
        connection: str,
        ns: int,
        client: str | None,
        api: str,
        version: int,
        said: Said,
        latency: float | None,
        sizes: tuple[int, int | None],
        colour: str | None,
    ) -> None:
        """A line for an exchange. latency: ms; sizes: bytes of request and response."""
        self.exchanges += 1
        self.failed += said.failed
        self.clients.add(client or "")
        if latency is not None and latency > self.slowest[0]:
            self.slowest = latency, api.removeprefix("key ")
        label = self.label(connection)
        known = self.shown.get(label)
        if known is None or known[1] is None:
            self.note(label, connection, client)
        layout = self.layout
        name = cell(client or "-", layout.client)
        left = f"{self.time(ns).rjust(layout.time)}  {label:<5} {name} {api_cell(api, version, layout.api)} "
        size = f"{short(sizes[0])} / {short(sizes[1])}"
        if layout.width is None and not self.colour and said.text.isascii():
            self.later(f"{left}{said.text:<{layout.room}} {milliseconds(latency) or '-':>8}  {size}")
        else:
            self.line(left, said.text, milliseconds(latency), size, colour)

    def show_event(self, event: Event) -> None:
        """A line for an event."""
        where = event.file or (event.sender or "")
        label = "" if event.connection is None else self.label(event.connection)
        if event.connection is not None:
            self.note(label, event.connection, None)
        left = self.layout.left(self.time(event.ns), label, where, event.kind)
        self.line(left, event.reason, "", short(event.size), "yellow")

    def line(self, left: str, text: str, ms: str, size: str, colour: str | None) -> None:
        """Write a line; text that is too long for its column goes on below, where lines are broken."""
        first, *below = self.layout.broken(text, left)
        self.write(self.paint(left + first, colour), self.layout.right(ms or "-", size))
        for part in below:
            self.write(self.paint(part, colour))

    def paint(self, text: str, colour: str | None) -> str:
        """Text in a colour, where there are colours."""
        return paint(text, self.colour and colour is not None, fg=colour)


@lru_cache(1 << 12)
def cell(text: str, size: int) -> str:
    return fit(text, size)


@lru_cache(1 << 12)
def api_cell(name: str, version: int, size: int) -> str:
    return fit(f"{cut(name, size - 3)} {version}", size)


def words_of(exchange: Exchange) -> Said:
    """What was asked, and what was answered."""
    asked, answered = summarize(exchange)
    errors = errors_text(exchange.response)
    answer = compose(exchange, answered, errors)
    return Said((f"{asked} -> {answer}" if answer else asked).strip(), bool(errors))


def compose(exchange: Exchange, answered: str, errors: str) -> str:
    """The answer's words: what was said, which errors, and the broker's own words for the first."""
    if exchange.response_frame is None:
        return "no response asked for" if (exchange.request or {}).get("acks") == 0 else "no response"
    if not errors:
        return answered
    leader = answered[answered.find("leader is") :] if "leader is" in answered else ""
    words = answer_of(exchange.response)
    return errors + (f", {leader}" if leader else "") + (f": {words}" if words else "")


def milliseconds(latency: float | None) -> str:
    if latency is None:
        return ""
    return f"{latency:.1f}" if latency < 1000 else f"{latency:,.0f}"


@lru_cache(1 << 12)
def short(count: int | None) -> str:
    """ "812", "33 k" """
    return "-" if count is None else bytes_text(count).removesuffix("B").rstrip()


def opening(files: tuple[str, ...]) -> str:
    """The first line: what is being read."""
    names = [Path(name).name if name != "-" else "standard input" for name in files]
    sizes = [Path(name).stat().st_size for name in files if name != "-" and Path(name).is_file()]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}  {bytes_text(sum(sizes)) if sizes else ''}".rstrip()
