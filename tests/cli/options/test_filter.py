"""The options that choose exchanges, alike wherever captures are read."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from kcli.capture.filters import Filter
from kcli.capture.kafka.clock import SECOND
from kcli.capture.name_choice import Wanted
from kcli.cli.main import cli, main
from kcli.cli.options.filter import FORMS, FilterCommand, filter_of, filter_options, moment, words_of
from kcli.errors import UsageError
from kcli.schemas.field_codes import API_KEYS
from tests.capture.wires import SAMPLES

DOCS = Path(__file__).parents[3] / "docs" / "how-to" / "filters.md"
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
    assert filter_of(more, ()) == Filter(error=Wanted((41,)), slower_than=2_000_000, connection=":9092")
    most = NONE | {"apis": ("Fetch,metadata", "!3"), "error": "!NOT_CONTROLLER,6"}
    assert filter_of(most, ()) == Filter(frozenset({1}), error=Wanted((), (6, 41)))
    assert filter_of(NONE | {"apis": ("!Heartbeat",)}, ()).apis == frozenset(range(API_KEYS)) - {12}
    with pytest.raises(UsageError, match="leave no API"):
        filter_of(NONE | {"apis": ("Fetch,!1",)}, ())


def test_times_of_day_and_of_zones() -> None:
    begin = filter_of(NONE | {"since": "+0"}, [TXN]).since  # 2026-11-21T01:21:58.347Z
    assert begin is not None
    midnight = begin - begin % (86_400 * SECOND)
    for when, seconds in {
        "01:22:00": 4920.0,
        "1:22": 4920.0,
        "02:22:00.5+01:00": 4920.5,
        "2026-11-21 02:22:00 Europe/Berlin": 4920.0,
        "02:22 Europe/Berlin": 4920.0,
        "01:22 UTC": 4920.0,
        "2026-11-21T01:22:00 Z": 4920.0,
        "12:00": 43200.0,
        "13:30": 48600.0,
    }.items():
        assert filter_of(NONE | {"since": when}, [TXN]).since == midnight + seconds * SECOND, when
    for when in ("25:00", "01:22 Nowhere/City", "01:22 ../x", "01:2", "now local"):
        with pytest.raises(UsageError, match=r"--until .*: no time"):
            filter_of(NONE | {"until": when}, [TXN])
    with pytest.raises(UsageError, match="first packet, and no file has one"):
        filter_of(NONE | {"until": "01:22"}, ["-"])


def test_times_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC-2")  # two hours ahead of UTC
    time.tzset()
    try:
        local = filter_of(NONE | {"since": "2026-11-21 03:22 local"}, ()).since
        assert local == filter_of(NONE | {"since": "2026-11-21T01:22:00Z"}, ()).since
        assert local == filter_of(NONE | {"since": "03:22 local"}, [TXN]).since
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["--slower-than", "100"], 2),
        (["--slower-than", "0.1s"], 2),
        (["--slower-than", "100ms"], 2),
        (["--slower-than", "100000 us"], 2),
        (["--api", "Produce,Metadata"], 16),
        (["--api", "!0,METADATA"], 62),
        (["--api", "produce", "--api", "3"], 16),
        (["--client", "broker-?-txn*,lab-java"], 65),
        (["--client", "!lab-java"], 21),
        (["--topic", "pay-*,!pay-in"], 4),
        (["--errors=INVALID_PRODUCER_EPOCH,51"], 4),
        (["--error", "!CONCURRENT_TRANSACTIONS"], 5),
        (["--since", "+1000ms", "--until", "+0m2s"], None),
    ],
)
def test_lists_negation_and_durations(words: list[str], count: int | None, capsys: Capture) -> None:
    """The core's filter, that of values and that of counts agree."""
    sums = []
    for command in (["decode", "pcap"], ["stats", "--by", "connection"], ["stats", "--where", "api_key >= 0"]):
        if "--where" in command:
            pytest.importorskip("duckdb")
        assert main([*command, "--format", "jsonl", "-q", TXN, *words]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        sums.append(sum(row.get("exchanges", 1) for row in rows))
    assert len(set(sums)) == 1 and sums[0] == (count or sums[0])


@pytest.mark.parametrize("text", ["", "x", "10 parsecs", "1m30", "-1", "1" * 400 + "x", "1e3"])
def test_no_duration(text: str, capsys: Capture) -> None:
    assert main(["stats", TXN, "--slower-than", text]) == 2
    assert "no duration (10ms, 1.5s or 2m expected)" in capsys.readouterr().err


def test_times_after_the_first_packet() -> None:
    since = filter_of(NONE | {"since": "+0"}, [TXN]).since
    assert since is not None and filter_of(NONE | {"until": "+22.4"}, ["-", TXN]).until == since + 22_400_000_000
    assert filter_of(NONE | {"until": "+1m2.5s"}, [TXN]).until == since + 62_500_000_000
    assert filter_of(NONE | {"until": "+250 ms"}, [TXN]).until == since + 250_000_000
    for when, files in (("+x", [TXN]), ("+1", ["-"]), ("+1", ["missing"]), ("soon", [TXN]), ("+-1", [TXN])):
        with pytest.raises(UsageError):
            filter_of(NONE | {"since": when}, files)


def test_times_the_wrong_way_round() -> None:
    with pytest.raises(UsageError, match=r"--since \+15 is after --until \+5: no time is between them"):
        filter_of(NONE | {"since": "+15", "until": "+5"}, [TXN])


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    """All commands, by the words that call them."""
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, *path, name)
        else:
            yield " ".join((*path, name)), found


def test_the_page_says_which_commands_have_which() -> None:
    """All commands that read captures are in its table, with the options that they have: all, times, or a reason why
    none."""
    names = {param.name for param in filter_options(click.command()(lambda: None)).params}
    table = DOCS.read_text().partition("## Which commands")[2].partition("\n\n## ")[0]
    said = {row[1]: row[2] for row in re.finditer(r"^\| `([^`]+)` \| (.*) \|$", table, re.MULTILINE)}
    readers = {name: command for name, command in commands(cli) if any(p.name == "key_logs" for p in command.params)}
    assert said.keys() == readers.keys()
    for name, command in readers.items():
        kind = re.match(r"all|`--since`, `--until`|none: [a-z]", said[name])
        expected = {"all": names, "`--since`, `--until`": {"since", "until"}}.get(kind[0] if kind else "", set())
        own = {"client", "client_id", "topic"} if name == "diagnose" else set()  # which choose findings, not exchanges
        given = {param.name for param in command.params if not getattr(param, "hidden", False)}  # hidden ones refuse
        assert kind and names & given - own == expected, name
        assert {"where", "since", "until"} <= {param.name for param in command.params}, name  # at least a reason
        assert isinstance(command, FilterCommand) == (expected == names)


TIMED = [
    ["sql", "SELECT count(*) FROM exchanges", "TXN"],
    ["snapshot", "extract", "TXN", "-o", "OUT"],
    ["fetch-session", "replay", "TXN"],
    ["replay", "TXN", "-q"],
    ["stats", "TXN"],
    ["records", "TXN"],
]


@pytest.mark.parametrize("words", TIMED, ids=lambda words: words[0])
@pytest.mark.parametrize("option", ["--since", "--until"])
def test_times_are_refused_alike(words: list[str], option: str, tmp_path: Path, capsys: Capture) -> None:
    if words[0] == "sql":
        pytest.importorskip("duckdb")
    paths = {"TXN": TXN, "OUT": str(tmp_path)}
    assert main([*(paths.get(word, word) for word in words), option, "soon"]) == 2
    assert capsys.readouterr().err == f"kcli: {option} soon: no time ({FORMS})\n"


def test_options_as_they_were_given() -> None:
    assert words_of(NONE) == []
    some = NONE | {"apis": ("Fetch", "0"), "client_id": "c", "errors": True, "slower_than": 1500.0}
    assert words_of(some) == ["--api Fetch", "--api 0", "--client-id c", "--errors", "--slower-than 1500ms"]


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
        "--slower-than 9999": "nothing matches; the slowest here: 501.4 ms\n",
        "--errors --until +0": "errors here: CONCURRENT_TRANSACTIONS, PRODUCER_FENCED",
        "--since +9": "packets here: 2026-11-21T01:21:58.347Z to 2026-11-21T01:22:00.435Z",
    }.items():
        for command in (["decode", "pcap"], ["stats"]):
            assert main([*command, TXN, *words.split()]) == 1
            assert expected in capsys.readouterr().err
    assert main(["stats", TXN, "--client", "nobody", "-q"]) == 1
    assert capsys.readouterr().err == ""


def test_the_closing_sums_speak_of_what_is_shown(capsys: Capture) -> None:
    assert main(["decode", "pcap", TXN, "--slower-than", "100"]) == 0
    assert "2 of 78 exchanges, on 1 of 11 connections, 1 client; 0 with errors" in capsys.readouterr().err


CLOSED = [
    "decode pcap --format jsonl",
    "decode pcap --format tree",
    "decode pcap --format parquet",
    "stats",
    "stats --by topic",
]


@pytest.mark.parametrize("command", [*CLOSED, "decode pcap --format jsonl --jobs 2"])
@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["--errors"], 8),
        (["--client", "lab-java"], 57),
        (["--topic", "pay-*"], 37),
        (["--slower-than", "10"], 12),
        (["--where", "latency_ms > 10"], 12),
        (["--client", "nobody"], 0),
    ],
)
def test_all_formats_count_what_they_show(
    command: str, words: list[str], count: int, tmp_path: Path, capsys: Capture
) -> None:
    if "parquet" in command:
        pytest.importorskip("pyarrow")
    if words[0] == "--where":
        pytest.importorskip("duckdb")
    assert main([*command.split(), TXN, *words, "-o", str(tmp_path / "out")]) == int(not count)
    said = capsys.readouterr().err
    assert said.startswith(f"{count} of 78 exchanges, 11 connections; 30 B sent again;\n")
    assert main([*command.split(), TXN, "-o", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err.startswith("78 exchanges (AddPartitionsToTxn 12, ")


def test_how_long_ago_for_what_has_no_files() -> None:
    before = time.time_ns()
    found = moment("since", "-10m", ())
    assert found is not None and before - 600 * 10**9 <= found <= time.time_ns() - 600 * 10**9
    for when in ("-10m", "-5"):  # of a capture neither is a time
        with pytest.raises(UsageError, match="no time"):
            moment("since", when, ["night.pcap"])
