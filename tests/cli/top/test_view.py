"""The screen of `kcli top`, and what keys do to it."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.kafka.exchange import Exchange
from kcli.cli.terminal.cells import width
from kcli.cli.top.exchanges import Wanted, exchanges_of, table_of
from kcli.cli.top.packets import RecentPackets
from kcli.cli.top.view import View
from tests.diagnose.captured import DATA
from tests.metrics.measured import measured

BEHIND = DATA / "lagging-consumer-pageviews.pcap.zst"
READ = {"ports": (), "dialect": None, "memory": 1 << 28, "key_logs": ()}


@pytest.fixture
def view() -> View:
    made = View(measured(BEHIND), "night.pcap", found, whole=True)
    made.refresh()
    return made


def found(wanted: Wanted) -> list[Exchange]:
    return exchanges_of([str(BEHIND)], None, wanted, READ)


def texts(view: View, columns: int = 80, rows: int = 24) -> list[str]:
    return [line.text for line in view.screen(columns, rows)]


def press(view: View, *keys: str) -> None:
    for key in keys:
        assert view.key(key)


def names(view: View) -> list[str]:
    return [line.name for line in view.lines]


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (20, 6), (40, 8)])
def test_it_fits_a_terminal_of_any_size(view: View, size: tuple[int, int]) -> None:
    for keys in ((), ("3",), ("1", "enter"), ("enter",), ("escape", "escape", "f"), ("escape", "?")):
        press(view, *keys)
        lines = texts(view, *size)
        assert len(lines) <= size[1] and all(width(line) <= size[0] for line in lines), keys


def test_findings_stand_above_the_clients_by_rate(view: View) -> None:
    lines = texts(view)
    assert lines[0].startswith("kcli top  night.pcap") and lines[0].endswith("/s to 1 broker")
    assert lines[1].startswith("warning   lagging-consumer  pageview-stats-1 (127.0.0.1:40672 and 1 more) falls")
    assert lines[2].startswith("[clients] brokers")
    assert lines[4].startswith("> pageview-live-1  ") and "1,096" in lines[6]


def test_tabs_show_brokers_topics_groups_and_apis(view: View) -> None:
    seen = {}
    for key in "12345":
        press(view, key)
        seen[key] = names(view)
    assert seen["2"] == ["127.0.0.1:26000"] and seen["3"] == ["pageviews"]
    assert seen["4"] == ["pageview-live", "pageview-stats"]
    assert {"PRODUCE", "FETCH"} <= {*seen["5"]}
    press(view, "tab")
    assert names(view) == seen["1"]


def test_rows_are_sorted_and_filtered(view: View) -> None:
    press(view, "s", "s", "s")
    assert view.sort == "lag" and names(view)[0] == "pageview-stats-1"
    press(view, "r")
    assert names(view)[-1] == "pageview-stats-1"
    press(view, "/", *"EDGE")
    assert names(view) == ["pageview-edge"] and texts(view)[-1] == "filter: EDGE_"
    press(view, "backspace", "enter")
    assert view.wanted == "EDG" and not view.typing
    press(view, "escape")
    assert len(view.lines) == 3
    press(view, "/", "x", "escape")
    assert len(view.lines) == 3


def test_fetches_without_news_are_folded(view: View) -> None:
    [live] = [line for line in view.lines if line.name == "pageview-live-1"]
    assert "folded: 0.1 Fetches/s without records" in texts(view)[-3]
    assert texts(view)[-2].startswith("left out: ")  # both at once
    press(view, "i")
    [unfolded] = [line for line in view.lines if line.name == "pageview-live-1"]
    assert unfolded.load.exchanges == live.load.exchanges + 1 and texts(view)[-2].startswith("left out: ")


def test_exchanges_have_room_for_what_was_said(view: View) -> None:
    """Columns of less use go; only what was said may be cut, and shows that."""
    found = exchanges_of([str(BEHIND)], None, lambda each: True, READ)[:40]
    spared = {4: "left out: conn, client, bytes", 6: "left out: bytes", 7: ""}
    for room, headings in ((58, 4), (78, 4), (98, 6), (200, 7)):
        head, *lines, left_out = table_of(found, room)
        assert left_out == spared[headings]
        assert len(head.split()) == headings and head.endswith("  what") and "time" in head and " ms" in head
        assert max(map(len, lines)) <= room and len(lines) == 40
        start = head.index("what")
        assert all(line[start - 2 : start] == "  " and len(line[start:]) >= 3 for line in lines)
        assert all(len(line) == room for line in lines if line.endswith("…"))


def test_a_row_opens_to_its_exchanges_and_these_to_their_bytes(view: View) -> None:
    press(view, "j", "enter")
    lines = texts(view, 120)
    assert lines[0] == "client pageview-edge: the latest 200 exchanges"
    assert "Produce" in lines[-2] and lines[-2].startswith("> ") and "left out" not in " ".join(lines)
    narrow = texts(view, 60)
    assert narrow[-2] == "left out: conn, client, bytes" and narrow[-3].startswith("> ")
    press(view, "up", "enter")
    lines = texts(view, 120)
    assert lines[0].startswith("Produce v") and "requestApiKey" in lines[2] and "0  PRODUCE" in lines[2]
    press(view, "page down", "end", "escape", "escape")
    assert texts(view)[2].startswith("[clients]")


@pytest.mark.parametrize(
    ("tab", "about", "value"),
    [
        ("1", lambda each: {each.client_id}, {"pageview-live-1"}),
        ("2", lambda each: {each.link.server}, {"127.0.0.1:26000"}),
        ("3", lambda each: {topic["name"] for topic in each.request.get("topicData", ())}, {"pageviews"}),
        ("4", lambda each: {each.client_id}, {"pageview-live-1"}),
        ("5", lambda each: {each.api_name}, {"FETCH"}),
    ],
)
def test_a_row_opens_to_those_that_are_about_it(view: View, tab: str, about: Any, value: set[str]) -> None:
    press(view, tab, "enter")
    exchanges = view.pages[-1].exchanges
    assert len(exchanges) == 200 and set().union(*map(about, exchanges)) == value


def test_it_stands_still_and_ends(view: View) -> None:
    press(view, "p")
    assert "paused" in texts(view)[0]
    press(view, "\x1b[9z", "é", "down", "down", "down")
    assert not view.key("q") and not view.key("interrupt")


def test_an_empty_stream_has_nothing_to_show() -> None:
    from kcli.metrics.figures import LiveFigures

    view = View(LiveFigures(), "x", lambda wanted: [])
    view.refresh()
    press(view, "enter", "down", "f", "escape")
    assert any("nothing yet" in line for line in texts(view))
    assert "findings: not judged yet" in texts(view)[1]


def test_where_nothing_is_found_it_says_how_much_was_checked() -> None:
    from kcli.metrics.figures import LiveFigures
    from kcli.rules import RULES

    figures = LiveFigures()
    figures.judged = True
    view = View(figures, "x", lambda wanted: [])
    view.refresh()
    said = f"{sum(not rule.of_payloads for rule in RULES)} checks: nothing found"
    assert texts(view)[1] == said
    press(view, "f")
    assert any(said in line for line in texts(view))


class Trickle(io.BytesIO):
    """A pipe that gives some bytes at a time."""

    def readinto(self, room: Any) -> int:
        data = self.read(999)
        memoryview(room)[: len(data)] = data
        return len(data)


def through(data: bytes, most: int) -> RecentPackets:
    recent = RecentPackets(Trickle(data), most)
    while recent.readinto(bytearray(1 << 12)):
        pass
    return recent


@pytest.mark.parametrize("name", ["java44-txn.pcap", "ipv6.pcapng"])
def test_the_latest_packets_of_a_stream_are_a_capture(samples: Path, name: str) -> None:
    data = (samples / name).read_bytes()
    assert through(data, 1 << 30).recent().getvalue() == data
    recent = through(data, len(data) // 2)
    assert len(recent.recent().getvalue()) < len(data) and recent.header
    everything: Sequence[Exchange] = exchanges_of([], through(data, 1 << 30).recent(), lambda each: True, READ)
    some = exchanges_of([], recent.recent(), lambda each: True, READ)
    assert 0 < len(some) < len(everything)


@pytest.mark.parametrize("data", [b"", b"GIF89a" * 99, b"\xd4\xc3\xb2\xa1" + bytes(28) + b"\xff" * 99, bytes(5000)])
def test_a_stream_of_anything_else_is_not_kept(data: bytes) -> None:
    assert through(data, 100).size <= 200


def test_the_rate_and_what_rows_are_sorted_by_stand_first(view: View) -> None:
    assert texts(view, 60)[3].split()[:2] == ["client", "/s"]
    press(view, "s", "s", "s", "s")
    assert texts(view, 60)[2].endswith("by req bytes")
    assert texts(view, 60)[3].split()[:4] == ["client", "req", "bytes", "/s"]


def test_what_is_not_saved_has_no_command_that_reads_it(view: View) -> None:
    press(view, "f")
    assert any("see:" in line for line in texts(view, 200))
    view.saved = False
    assert not any("see:" in line for line in texts(view, 200))
