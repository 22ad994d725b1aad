"""The table: columns, breaking of lines, colours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from kcli.capture.kafka.events import Event
from kcli.cli.decode.pcap.table import ExchangeTable, opening, words_of
from kcli.legible import legible
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import DATA, SAMPLES


def writer(lines: list[str]) -> Callable[..., None]:
    """What a Table writes its lines to."""
    return lambda *parts: lines.append("".join(parts))


def table(path: Path, width: int | None = None, colour: bool = False) -> list[str]:
    """The lines of a capture."""
    lines: list[str] = []
    shown = ExchangeTable(writer(lines), width=width, colour=colour)
    source = as_values([str(path)])
    for items in pieces(source):
        for item in items:
            shown.show(item)
    return lines


def test_requests_without_an_answer_are_their_clients() -> None:
    lines: list[str] = []
    shown = ExchangeTable(writer(lines))
    first = next(item for items in pieces(as_values([str(SAMPLES / "java44-txn.pcap")])) for item in items)
    assert first.connection
    for sender in ("client", "server"):
        shown.show(Event("unanswered-at-end", first.connection, 1, 0, 10, "no response to 7", sender))
        shown.show(first)
    shown.show(Event("unanswered-at-end", first.connection, 1, 0, 10, "no response to 8", "client"))
    assert [line.split()[3] for line in lines[1:]] == ["client", "lab-java", "server", "lab-java", "lab-java"]


def test_a_line_for_each_exchange() -> None:
    lines = table(SAMPLES / "java44-txn.pcap")
    assert len(lines) == 79 and lines[0].split() == ["time", "conn", "client", "api", "what", "ms", "bytes"]
    words = "+0.000 s c1 lab-java ApiVersions 5 apache-kafka-java 4.4.0 -> 77 APIs 0.9 53 / 880"
    assert lines[1].split() == words.split()
    assert "FindCoordinator 6        transaction pay-1 -> COORDINATOR_NOT_AVAILABLE" in lines[3]


def test_a_terminal_has_columns() -> None:
    lines = table(DATA / "java44-admin.pcap.gz", width=110)
    assert max(map(len, lines)) <= 110 + 2
    assert any(line.startswith(" " * 50) for line in lines)  # what does not fit goes on below


@pytest.mark.parametrize("width", [60, 72, 84, 85, 100, 119, 120, 160, 250])
@pytest.mark.parametrize("name", ["java44-admin.pcap.gz", "mid-stream.pcap.zst", "kraft-boot.pcap.zst"])
def test_no_word_is_broken(width: int, name: str) -> None:
    lines = table(DATA / name, width=width)[1:]
    items = [item for items in pieces(as_values([str(DATA / name)])) for item in items]
    texts = [item.reason if isinstance(item, Event) else words_of(item).text for item in items]
    words = {legible(word) for text in texts for word in text.split()}
    assert max(map(len, lines)) <= width
    there = {word for line in lines for word in line.split()}
    assert not {word for word in words if len(word) <= width - 4} - there


def test_times_are_those_of_the_clock_where_that_is_asked_for() -> None:
    def times(width: int | None) -> list[str]:
        shown: list[str] = []
        made = ExchangeTable(writer(shown), width=width, absolute=True)
        for items in pieces(as_values([str(SAMPLES / "java44-txn.pcap")])):
            for item in items:
                made.show(item)
        return [line.split()[0] for line in shown[1:]]

    assert times(None)[0] == "2026-11-21T01:21:58.865082Z"
    assert times(120)[0] == "01:21:58.865"


def test_the_legend_names_the_connections_that_are_shown() -> None:
    made = ExchangeTable(lambda *parts: None)
    for connection, client in (("b:9092-a:1", None), ("b:9092-a:2", "one"), ("b:9092-a:1", "two\x1b")):
        made.row(made.speaker(connection, client), 1, "Fetch", 1, "", None, "1 / -", None)
    assert made.legend(5) == ["c1 a:1 to b:9092, two\\x1b", "c2 a:2 to b:9092, one"]
    assert made.legend(1) == ["c1 a:1 to b:9092, two\\x1b"]


def test_errors_are_red_and_events_yellow() -> None:
    lines = table(SAMPLES / "java44-txn.pcap", width=120, colour=True)
    assert sum(line.startswith("\x1b[31m") and "+" in line[:20] for line in lines) == 8
    lines = table(DATA / "snaplen-96.pcap", colour=True)
    assert sum(line.startswith("\x1b[33m") for line in lines) == 96
    lines = table(SAMPLES / "java44-txn.pcap")
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize("width", [None, 100])
def test_text_from_the_wire_cannot_steer_the_terminal(width: int | None) -> None:
    lines: list[str] = []
    table = ExchangeTable(writer(lines), width=width, colour=True)
    table.show(Event("gap", "a:1-b:2", 1, 0, 5, "\x1b[2Jgone\n", "cli\x1bent"))
    assert not any("\x1b[2J" in line or "\n" in line for line in lines)
    assert "\\x1b[2Jgone\\n" in lines[-1]


def test_columns_stand_below_each_other_whatever_a_client_is_called() -> None:
    lines: list[str] = []
    table = ExchangeTable(writer(lines))
    for name in ("plain", "日本語" * 9, "e\u0301" * 3, "\u202e\x1b[8m"):
        table.show(Event("gap", "a:1-b:2", 1, 0, 5, "words", name))
    assert len({cell_len(line[: line.index(" gap ")]) for line in lines[1:]}) == 1


def test_the_first_line_names_the_files() -> None:
    assert opening((str(SAMPLES / "java44-txn.pcap"), "-")) == "java44-txn.pcap, standard input  62.9 kB"
    assert opening(("a", "b", "c", "d", "e")) == "a, b, c and 2 more"


def test_a_time_of_day_says_its_zone() -> None:
    lines: list[str] = []
    ExchangeTable(lambda *parts: lines.append("".join(parts))).begin(1_700_000_000_123_456_789, "a.pcap  1 kB")
    assert lines[0] == "a.pcap  1 kB  from 2023-11-14 22:13:20.123Z"
