"""The closing summary of `decode pcap`."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import pytest

from kcli.capture.counters import Tally
from kcli.cli.decode.pcap.closing import apis_text, closing, following
from kcli.cli.decode.pcap.table import ExchangeTable
from kcli.cli.main import main
from kcli.cli.options.filter import say_nameless
from kcli.records import build_batch
from kcli.schemas.apikeys import FETCH, LIST_OFFSETS, METADATA, PRODUCE
from tests.capture.decoding import as_values, pieces
from tests.capture.messages import metadata, request, response
from tests.capture.wires import DATA, SAMPLES, Wire, pcap


def summary_of(path: Path) -> list[str]:
    """The closing summary behind a capture's table."""
    shown = ExchangeTable(lambda *parts: None)
    source = as_values([str(path)])
    for items in pieces(source):
        for item in items:
            shown.show(item)
    return closing(source, shown)


def test_the_closing_summary() -> None:
    summary = summary_of(SAMPLES / "java44-txn.pcap")
    assert summary[0] == "78 exchanges, 11 connections, 3 clients; 8 with errors; 30 B sent again;"
    assert summary[1] == "276 packets, 58.5 kB over 2.1 s; every byte accounted for. Slowest: Fetch 501.4 ms."
    assert summary[2] == "  c1 127.0.0.1:32938 to 127.0.0.1:21000, lab-java"
    assert summary[10] == "  and 3 more: kcli stats " + str(SAMPLES / "java44-txn.pcap") + " --by connection"
    file = SAMPLES / "java44-txn.pcap"
    assert summary[11:] == [
        "Brokers on port 21000.",
        "Next:",
        f"  kcli decode pcap {file} --errors",
        f"  kcli decode pcap {file} --format tree",
        f"  kcli fetch-session explain {file}",
    ]


def test_the_apis_that_were_asked_most() -> None:
    apis = Counter({METADATA: 2, FETCH: 2, PRODUCE: 5, 999: 1, 998: 1, LIST_OFFSETS: 1})
    assert apis_text(Tally(apis=apis)) == "Produce 5, Fetch 2, Metadata 2, ListOffsets 1 and 2 more APIs"


def test_what_comes_next_shows_something_new() -> None:
    tally, table = Tally(exchanges=9), ExchangeTable(lambda *parts: None)
    table.exchanges, table.failed = 9, 0  # none with an error, no Fetch
    assert [*following(tally, table, "a.pcap", None)] == ["Next:", "  kcli decode pcap a.pcap --format tree"]
    table.failed = 9  # all of them, as with --errors
    assert [*following(tally, table, "a.pcap", None)] == ["Next:", "  kcli decode pcap a.pcap --format tree"]
    table.failed = 1
    assert [*following(tally, table, "a.pcap", None)][1] == "  kcli decode pcap a.pcap --errors"
    assert [*following(tally, table, "", None)] == ["Next: the same with --errors or --format tree"]


def test_what_comes_next_leaves_chosen_what_was_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(SAMPLES / "java44-txn.pcap")
    given = ["--api", "Produce,EndTxn", "--client", "lab*", "--where", "latency_ms > 1"]
    assert main(["decode", "pcap", file, *given]) == 0
    offered = [line.split() for line in capsys.readouterr().err.splitlines() if "--format tree" in line]
    [words] = [shlex.split(" ".join(each))[3:] for each in offered]
    assert words == [file, *given[:2], "--client-id", *given[3:], "--format", "tree"]


def test_the_closing_summary_says_what_is_odd() -> None:
    summary = summary_of(DATA / "snaplen-96.pcap")
    assert summary[0] == (
        "24 exchanges, 5 connections, 1 client; 1 with errors; 50 cut short (140 kB); errors of 20 responses unknown, "
        "as they are cut short; 46 not decodable (1.5 kB);"
    )
    summary = summary_of(DATA / "mid-stream.pcap.zst")
    assert "3 connections began before the capture" in summary[0]
    source = as_values([str(SAMPLES / "ipv6.pcapng")])
    for _ in pieces(source):
        pass
    assert closing(source, None)[0].startswith("37 exchanges (ApiVersions 9, Metadata 7, Fetch 6, ")


def test_a_missing_byte_would_be_said() -> None:
    source = as_values([str(SAMPLES / "ipv6.pcapng")])
    for _ in pieces(source):
        pass
    source.tally.exchange_bytes -= 5
    assert "5 bytes NOT accounted for" in closing(source, None)[1]


LATER, NEVER = "AAAAAAAAAAcAAAAAAAAAAA", "AAAAAAAAAAkAAAAAAAAAAA"  # ids of topics
COMMANDS = (
    "decode pcap", "decode pcap --format jsonl", "decode pcap --format jsonl --jobs 2", "decode pcap --format tree",
    "decode pcap --records batches", "stats --format jsonl",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_exchanges_before_their_topic_has_a_name_are_told_and_found_by_its_id(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A capture that begins in the middle: two topics are fetched by their ids, and one of them is named later."""
    wire = Wire().open()
    for number in range(6):
        if number == 4:
            asked, answer = metadata(90, topic_id=LATER)
            wire.client(asked).server(answer)
        for place, topic_id in enumerate((LATER, NEVER)):
            fetch = {"topics": [{"topicId": topic_id, "partitions": [{"partition": 0, "fetchOffset": 3}]}]}
            wire.client(request(1, 13, 2 * number + place, fetch))
            wire.server(response(1, 13, 2 * number + place, {"responses": []}))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(wire.packets))

    def notes(topic: str) -> list[str]:
        assert main([*command.split(), str(path), "--topic", topic]) == 0
        return [line for line in capsys.readouterr().err.splitlines() if line.startswith("kcli: ")]

    later = "4 exchanges that come before the capture names their topic"
    never = "6 exchanges that have a topic id that the capture never names"
    assert notes("orders") == [
        f"kcli: --topic left out {later}; with them: --topic orders,{LATER}",
        f"kcli: --topic left out {never}; with them: --topic orders,{NEVER}",
    ]
    assert notes(f"orders,{LATER}") == [f"kcli: --topic left out {never}; with them: --topic orders,{LATER},{NEVER}"]
    assert notes(f"orders,{LATER},{NEVER}") == []


@pytest.mark.parametrize("command", ["records", "report -o page.html", "decode pcap", "stats"])
def test_every_command_with_topics_tells_of_those_without_a_name(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire().open()
    asked, answer = metadata(90, topic_id=LATER)
    wire.client(asked).server(answer)
    records = build_batch([(1, None, b"v", ())])
    for number, topic_id in enumerate((LATER, NEVER, NEVER)):
        parts = [{"partitionIndex": 0, "highWatermark": 9, "records": records}]
        wire.client(request(1, 13, number, {"topics": [{"topicId": topic_id, "partitions": [{"fetchOffset": 3}]}]}))
        wire.server(response(1, 13, number, {"responses": [{"topicId": topic_id, "partitions": parts}]}))
    monkeypatch.chdir(tmp_path)
    Path("a.pcap").write_bytes(pcap(wire.packets))
    for more, code, lines in ((["orders"], 0, 1), ([f"orders,{NEVER}"], 0, 0), (["orders", "-q"], 0, 0)):
        assert main([*command.split(), "a.pcap", "--topic", *more]) == code
        found = [line for line in capsys.readouterr().err.splitlines() if "--topic left out" in line]
        assert len(found) == lines
        for line in found:
            assert "2 exchanges that have a topic id that the capture never names" in line
            assert line.endswith(f"--topic orders,{NEVER}")


@pytest.mark.parametrize(("command", "count"), [("decode pcap", 2), ("stats --by topic", 1), ("stats", 0)])
def test_topics_by_their_ids_are_told_with_the_command_that_compares(
    command: str, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`stats` counts at the end under a name that came later, `decode` had to show the id."""
    wire = Wire().open()
    for number, topic_id in enumerate((LATER, NEVER, NEVER)):
        fetch = {"topics": [{"topicId": topic_id, "partitions": [{"fetchOffset": 3}]}]}
        wire.client(request(1, 13, number, fetch)).server(response(1, 13, number, {"responses": []}))
    asked, answer = metadata(90, topic_id=LATER)
    wire.client(asked).server(answer)
    monkeypatch.chdir(tmp_path)
    Path("a.pcap").write_bytes(pcap(wire.packets))
    assert main([*command.split(), "a.pcap"]) == 0
    said = [line for line in "".join(capsys.readouterr()).splitlines() if "by id, as no message" in line]
    text = "{} by id, as no message had named {}; by offsets and batches: kcli report a.pcap -o report.html"
    assert said == [text.format("2 topics", "them") if count == 2 else text.format("1 topic", "it")][:count]


def test_a_hint_without_an_id_names_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Beyond some thousand ids exchanges are counted together."""
    source = as_values([str(SAMPLES / "ipv6.pcapng")])
    source.tally.nameless[""] = 3
    say_nameless(source, "orders")
    assert capsys.readouterr().err.splitlines() == [
        "kcli: --topic left out 3 exchanges that have a topic id that the capture never names"
    ]
