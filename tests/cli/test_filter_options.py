"""The options that choose exchanges, alike wherever captures are read."""

from __future__ import annotations

from typing import Any

import click
import pytest

from kcli.capture.filters import Filter
from kcli.cli.filter_options import FilterCommand, filter_of, filter_options
from kcli.cli.main import cli, main
from kcli.errors import UsageError
from tests.capture.wires import SAMPLES

TXN = str(SAMPLES / "java44-txn.pcap")
NONE: dict[str, Any] = dict.fromkeys(
    ("client_id", "topic", "since", "until", "dialect", "error", "slower_than", "connection", "where")
) | {"apis": (), "errors": False}
Capture = pytest.CaptureFixture[str]


def test_what_the_options_make() -> None:
    assert filter_of(NONE, ()) == Filter()
    some = NONE | {"apis": ("Fetch", "0"), "client_id": "c", "errors": True, "since": "1970-01-01T00:00:01Z"}
    assert filter_of(some, ()) == Filter(frozenset({0, 1}), "c", errors=True, since=1_000_000_000)
    more = NONE | {"error": "NOT_CONTROLLER", "slower_than": 2.0, "connection": ":9092"}
    assert filter_of(more, ()) == Filter(error=41, slower_than=2_000_000, connection=":9092")


def test_times_after_the_first_packet() -> None:
    since = filter_of(NONE | {"since": "+0"}, [TXN]).since
    assert since is not None and filter_of(NONE | {"until": "+22.4"}, ["-", TXN]).until == since + 22_400_000_000
    for when, files in (("+x", [TXN]), ("+1", ["-"]), ("+1", ["missing"]), ("soon", [TXN]), ("+-1", [TXN])):
        with pytest.raises(UsageError):
            filter_of(NONE | {"since": when}, files)


@pytest.mark.parametrize("name", [("decode", "pcap"), ("stats",), ("records",), ("audit",)])
def test_commands_have_them(name: tuple[str, ...]) -> None:
    command: click.Command = cli
    for word in name:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    made = filter_options(click.command()(lambda: None))
    assert {param.name for param in made.params} <= {param.name for param in command.params}
    assert isinstance(command, FilterCommand)


@pytest.mark.parametrize("words", [["decode", "pcap", "--format", "jsonl"], ["stats", "--format", "jsonl"]])
def test_an_error_by_name(words: list[str], capsys: Capture) -> None:
    assert main([*words, "--errors=INVALID_PRODUCER_EPOCH", "--quiet", TXN]) == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()) == 1 and '"PRODUCE"' in said
    assert main([*words, TXN, "--errors", "--quiet"]) == 0
    assert main([*words, TXN, "--errors=NOPE"]) == 2


@pytest.mark.parametrize("form", ["table", "jsonl", "tree", "parquet"])
def test_what_there_is_where_nothing_fits(form: str, tmp_path: Any, capsys: Capture) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    out = str(tmp_path / "out")
    assert main(["decode", "pcap", TXN, "--format", form, "--client", "nobody", "-o", out]) == 1
    said = capsys.readouterr().err
    assert "kcli: nothing matches; clients here: lab-java, AddPartitionsManager-client-1, broker-1-txn" in said
    assert main(["decode", "pcap", TXN, "--format", form, "--client", "lab-*", "-o", out]) == 0


def test_names_of_all_kinds(capsys: Capture) -> None:
    for words, expected in {
        "--topic zzz": "topics here: pay-in, pay-out, __consumer_offsets",
        "--api Vote": "APIs here: ADD_PARTITIONS_TO_TXN, API_VERSIONS, END_TXN, METADATA, PRODUCE and 13 more",
        "--connection :1": "connections here: 127.0.0.1:21000-127.0.0.1:",
        "--error NOT_CONTROLLER": "errors here: CONCURRENT_TRANSACTIONS, PRODUCER_FENCED",
        "--slower-than 9999": "nothing matches",
    }.items():
        for command in (["decode", "pcap"], ["stats"]):
            assert main([*command, TXN, *words.split()]) == 1
            assert expected in capsys.readouterr().err
    assert main(["stats", TXN, "--client", "nobody", "-q"]) == 1
    assert capsys.readouterr().err == ""


def test_the_closing_sums_speak_of_what_is_shown(capsys: Capture) -> None:
    assert main(["decode", "pcap", TXN, "--slower-than", "100"]) == 0
    assert "2 of 78 exchanges, on 1 of 11 connections, 1 client; 0 with errors" in capsys.readouterr().err
