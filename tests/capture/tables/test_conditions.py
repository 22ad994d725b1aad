"""A filter's condition gives what the plain options give: the same, in the same order, in every form."""

import io
import shutil
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.filters import Filter
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.capture.sinks import Values
from kcli.capture.tables import conditions
from kcli.capture.tables.conditions import ConditionalFeed
from kcli.cli.main import main
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import DATA, SAMPLES

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

Capture = pytest.CaptureFixture[str]
CAPTURES = [
    SAMPLES / "java44-txn.pcap",
    SAMPLES / "old-librdkafka-on-3.9.pcap",
    DATA / "mid-stream.pcap.zst",
    DATA / "kraft-boot.pcap.zst",
    DATA / "snaplen-96.pcap",
]
# Plain options, and the condition that is true of the same exchanges.
SAME = {
    ("--api", "Fetch", "--api", "Metadata"): "api in ('Fetch', 'Metadata')",
    ("--client", "broker-*"): "client_id like 'broker-%'",
    ("--connection", ":9092"): "contains(connection, ':9092')",
    ("--slower-than", "1.5"): "latency_ms > 1.5",
    ("--errors=INVALID_PRODUCER_EPOCH",): "'INVALID_PRODUCER_EPOCH' in errors",
}


def said(capsys: Capture, *words: str) -> tuple[int, str]:
    code = main([*words, "-q"])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("form", ["jsonl", "table", "tree"])
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_decode_pcap_gives_the_same(path: Path, form: str, capsys: Capture) -> None:
    words = ["decode", "pcap", str(path), "--format", form]
    for plain, text in SAME.items():
        expected = said(capsys, *words, *plain)
        if "--connection" in plain:  # events stay, where they are on such a connection
            expected = expected[0], without_events(expected[1]) if form == "jsonl" else ""
        found = said(capsys, *words, "--where", text)
        assert found == expected or not expected[1], text


def without_events(lines: str) -> str:
    return "".join(line for line in lines.splitlines(keepends=True) if not line.startswith('{"event"'))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_parquet_stats_and_records_give_the_same(path: Path, tmp_path: Path, capsys: Capture) -> None:
    import pyarrow.parquet

    for plain, text in SAME.items():
        if "--connection" not in plain:
            for name, words in (("a", plain), ("b", ("--where", text))):
                main(["decode", "pcap", str(path), "--format", "parquet", "-o", str(tmp_path / name), "-q", *words])
            assert pyarrow.parquet.read_table(tmp_path / "a") == pyarrow.parquet.read_table(tmp_path / "b"), text
        for command in (["stats", "--by", "topic", "--by", "error"], ["records"]):
            whole = [*command, str(path), "--format", "jsonl"]
            assert said(capsys, *whole, "--where", text) == said(capsys, *whole, *plain), text


def test_conditions_and_plain_options_hold_together(capsys: Capture) -> None:
    path = str(SAMPLES / "java44-txn.pcap")
    for form in ("jsonl", "table"):
        words = ["decode", "pcap", path, "--format", form]
        for plain, text in {
            ("--api", "Produce", "--topic", "pay-in"): "api = 'Produce'",
            ("--client", "lab-java", "--errors"): "client_id = 'lab-java'",
            ("--client", "lab-*", "--topic", "pay*"): "api_key >= 0",
            ("--since", "+1", "--until", "+1.5"): "latency_ms >= 0",
        }.items():
            expected = said(capsys, *words, *plain)
            assert expected[0] == 0
            assert said(capsys, *words, *plain, "--where", text)[1] == without_events(expected[1])
            assert said(capsys, *words, *plain, "--where", "false") == (1, "")


@pytest.mark.usefixtures("engine")
def test_rows_know_their_file(tmp_path: Path, capsys: Capture) -> None:
    """Files of one time are read by turns, packet by packet."""
    one, other = tmp_path / "one.pcap", tmp_path / "other.pcap"
    shutil.copy(SAMPLES / "java44-txn.pcap", one)
    shutil.copy(SAMPLES / "java44-consume-classic.pcap", other)
    for path in (one, other):
        words = ["decode", "pcap", "--format", "jsonl"]
        expected = without_events(said(capsys, *words, str(path))[1])
        found = said(capsys, *words, str(one), str(other), "--where", f"file = '{path}'")[1]
        assert found == expected
    records = said(capsys, "records", str(one), str(other), "--format", "jsonl", "--where", f"file = '{one}'")[1]
    assert records == said(capsys, "records", str(one), "--format", "jsonl")[1] != ""


class Even:
    """A condition that needs no DuckDB."""

    wanted = frozenset({"correlation_id"})

    def __init__(self) -> None:
        self.asked: list[int] = []

    def holds(self, batch: Any) -> Any:
        self.asked.append(batch.num_rows)
        return batch.column("correlation_id").to_numpy() % 2 == 0

    def close(self) -> None:
        """It holds nothing."""


class Overhearing(Values):
    overhears = frozenset({18})

    def overlook(self, item: Item) -> None:
        self.items.append(item)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("rows", [3, 20_000])
def test_few_wait_at_once_and_their_order_stays(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "ROWS", rows)
    path = str(SAMPLES / "java44-txn.pcap")
    every = [item for items in pieces(as_values([path])) for item in items]
    where = Even()
    source = as_values([path], chosen=Filter(where=where))
    assert isinstance(source.feed, ConditionalFeed)
    found = [item for items in pieces(source) for item in items]
    numbers = [item.correlation_id for item in every if isinstance(item, Exchange)]
    assert [item.correlation_id for item in found if isinstance(item, Exchange)] == [
        number for number in numbers if number % 2 == 0
    ]
    assert sum(where.asked) == len(numbers) == source.tally.exchanges and max(where.asked) <= rows
    assert source.tally.unaccounted(source.engine) == 0
    overhearing = CaptureDecoder([path], Overhearing(), DecodeOptions(chosen=Filter(where=Even())))
    heard = [item for items in pieces(overhearing) for item in items]
    assert [repr(item) for item in heard] == [
        repr(item)
        for item in every
        if not isinstance(item, Exchange) or item.api_key == 18 or item.correlation_id % 2 == 0
    ]


def test_a_pipe_gets_what_is_there(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    path = SAMPLES / "java44-txn.pcap"
    words = ["decode", "pcap", "--format", "jsonl", "--where", "api = 'Produce'"]
    expected = said(capsys, *words, str(path))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert said(capsys, *words, "-") == expected
