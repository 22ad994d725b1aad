"""The closing summary of `decode pcap`."""

from __future__ import annotations

from pathlib import Path

from kcli.capture.counters import Tally
from kcli.cli.decode.pcap.closing import closing, following
from kcli.cli.decode.pcap.table import Table
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import DATA, SAMPLES


def summary_of(path: Path) -> list[str]:
    """The closing summary behind a capture's table."""
    shown = Table(lambda *parts: None)
    source = as_values([str(path)])
    for items in pieces(source):
        for item in items:
            shown.show(item)
    return closing(source, shown, (str(path),))


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


def test_what_comes_next_shows_something_new() -> None:
    tally, table = Tally(exchanges=9), Table(lambda *parts: None)
    table.exchanges, table.failed = 9, 0  # none with an error, no Fetch
    assert [*following(tally, table, "a.pcap", None)] == ["Next:", "  kcli decode pcap a.pcap --format tree"]
    table.failed = 9  # all of them, as with --errors
    assert [*following(tally, table, "a.pcap", None)] == ["Next:", "  kcli decode pcap a.pcap --format tree"]
    table.failed = 1
    assert [*following(tally, table, "a.pcap", None)][1] == "  kcli decode pcap a.pcap --errors"
    assert [*following(tally, table, "", None)] == ["Next: the same with --errors or --format tree"]


def test_the_closing_summary_says_what_is_odd() -> None:
    summary = summary_of(DATA / "snaplen-96.pcap")
    assert summary[0] == "0 exchanges, 5 connections; 50 cut short (140 kB); 49 not decodable (1.6 kB);"
    summary = summary_of(DATA / "mid-stream.pcap.zst")
    assert "3 connections began before the capture" in summary[0]
    source = as_values([str(SAMPLES / "ipv6.pcapng")])
    for _ in pieces(source):
        pass
    assert closing(source, None, ())[0].startswith("37 exchanges (ApiVersions 9, Metadata 7, Fetch 6, ")


def test_a_missing_byte_would_be_said() -> None:
    source = as_values([str(SAMPLES / "ipv6.pcapng")])
    for _ in pieces(source):
        pass
    source.tally.exchange_bytes -= 5
    assert "5 bytes NOT accounted for" in closing(source, None, ())[1]
