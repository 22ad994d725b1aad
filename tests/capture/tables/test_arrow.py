"""Exchanges and events as columns: those of the core are the rows that values give, in the same order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kcli
from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.tables import arrow
from kcli.capture.tables.arrow import ArrowSink
from kcli.capture.tables.columns import event_row, put_exchange
from kcli.tables.captured import PARQUET_COLUMNS
from kcli.tables.definition import schema_of
from kcli.tables.exchanges import EXCHANGE_COLUMNS
from kcli.tables.parquet import stored
from tests.capture.wires import DATA, SAMPLES
from tests.oracle.exchange_row import exchange_row
from tests.oracle.odd import make_all_odd

pyarrow = pytest.importorskip("pyarrow")

NAMES = [column.name for column in PARQUET_COLUMNS]
CAPTURES = [
    SAMPLES / "java44-txn.pcap",
    SAMPLES / "kcat-codecs.pcap",
    SAMPLES / "sasl-plain-scram.pcap",
    SAMPLES / "old-librdkafka-on-3.9.pcap",
    SAMPLES / "ipv6.pcapng",
    DATA / "mid-stream.pcap.zst",
    DATA / "kraft-boot.pcap.zst",
    DATA / "java44-admin.pcap.gz",
    DATA / "snaplen-96.pcap",
]


def arrow_source(paths: list[Any], columns: Any = PARQUET_COLUMNS, for_file: bool = False, **options: Any) -> ArrowSink:
    return CaptureDecoder(paths, ArrowSink(columns, for_file=for_file), DecodeOptions(**options)).sink


def expected(path: Path, **options: Any) -> list[dict[str, Any]]:
    made = []
    for item in kcli.read_capture(path, **options).items():
        row = event_row(item) if isinstance(item, kcli.Event) else exchange_row(item)
        made.append({name: row.get(name) for name in NAMES} | {"file": str(path)})
    return made


def rows_of(path: Path, **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = kcli.read_capture(path, **options).to_arrow().read_all().to_pylist()
    for row in rows:
        row["timestamp"] = round(row["timestamp"].timestamp() * 1_000_000)
    return rows


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_rows_are_those_of_the_values(path: Path) -> None:
    assert rows_of(path) == expected(path)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_rows_are_the_same_where_texts_are_made_elsewhere(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_all_odd(monkeypatch)
    assert rows_of(path) == expected(path)


CHOICES: list[dict[str, Any]] = [
    {"api": ["Fetch", "Metadata"]},
    {"api": 500},
    {"client_id": "lab-java"},
    {"errors": True},
    {"topic": "pay-in"},
    {"topic": "pay"},
    {"topic": "pay-in", "api": "Produce"},
    {"since": "2026-11-21T01:21:59.5Z", "until": "2026-11-21T01:22:00Z"},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("name", ["java44-txn.pcap", "sasl-plain-scram.pcap"])
def test_what_is_asked_for_is_what_comes(name: str, choice: dict[str, Any]) -> None:
    assert rows_of(SAMPLES / name, **choice) == expected(SAMPLES / name, **choice)


@pytest.mark.parametrize("rows", [1, 3, 10])
def test_batches_are_small_and_streamed(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "ROWS", rows)
    source = arrow_source([str(SAMPLES / "java44-txn.pcap")])
    batches = list(source.batches())
    assert sum(batch.num_rows for batch in batches) == 78
    assert max(batch.num_rows for batch in batches) <= 2 * rows
    assert source.capture.tally.exchanges == 78 and source.capture.tally.unaccounted(source.capture.engine) == 0
    whole = pyarrow.Table.from_batches(batches)
    assert whole.equals(kcli.read_capture(SAMPLES / "java44-txn.pcap").to_arrow().read_all())


def test_the_core_makes_most_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    slow: list[Any] = []

    def noted(sink: Any, item: kcli.Exchange, *rest: Any) -> None:
        slow.append(item)
        put_exchange(sink, item, *rest)

    monkeypatch.setattr(arrow, "put_exchange", noted)
    assert kcli.read_capture(SAMPLES / "kcat-codecs.pcap").to_arrow().read_all().num_rows == 77
    assert len(slow) < 10


def test_rows_of_both_kinds_are_merged_by_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event behind every third row of the core's."""
    source = arrow_source([str(SAMPLES / "kcat-codecs.pcap")])
    (whole,) = source.batches()
    rows = pyarrow.RecordBatch.from_pylist([{"reason": str(at)} for at in range(0, 77, 3)], schema=source.schema)
    merged = source.merged(whole, rows, source.numpy.arange(0, 77, 3)).to_pylist()
    assert [at for at, row in enumerate(merged) if row["reason"] is not None] == [n * 4 for n in range(26)]
    assert [row for row in merged if row["reason"] is None] == whole.to_pylist()


def test_the_form_of_a_row() -> None:
    first, _, third, *_ = rows_of(SAMPLES / "java44-txn.pcap")
    assert list(first) == NAMES
    assert (first["api"], first["api_version"], first["client_id"]) == ("API_VERSIONS", 5, "lab-java")
    assert (first["latency_ms"], first["errors"], first["event"]) == (0.91, [], None)
    assert json.loads(first["request"])["clientSoftwareName"] == "apache-kafka-java"
    assert third["errors"] == ["COORDINATOR_NOT_AVAILABLE"]
    assert {row["event"] for row in rows_of(DATA / "snaplen-96.pcap")} == {None, "truncated", "undecodable"}


def test_what_is_wrong_comes_behind_what_could_be_read(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((SAMPLES / "java44-txn.pcap").read_bytes()[:-10])
    reader = kcli.read_capture(cut).to_arrow()
    rows = 0
    with pytest.raises(kcli.InputError, match=r"cut\.pcap: the file ends in the middle of a packet"):
        for batch in reader:
            rows += batch.num_rows
    assert rows >= 78


def test_records_are_shown_as_asked_for() -> None:
    table = kcli.read_capture(SAMPLES / "java44-txn.pcap", api="Produce", records="full").to_arrow().read_all()
    assert all('"records":[{' in text for text in table["request"].to_pylist())


def test_a_data_frame() -> None:
    pytest.importorskip("pandas")
    capture = kcli.read_capture(SAMPLES / "java44-txn.pcap")
    frame = capture.to_pandas()
    assert len(frame) == 78 and list(frame.columns) == NAMES
    assert str(frame["timestamp"].dtype) == "datetime64[us, UTC]" and capture.counts.exchanges == 78
    with pytest.raises(kcli.UsageError, match="has been read"):
        capture.to_arrow()


def test_libraries_that_take_streams_take_a_capture() -> None:
    polars, path = pytest.importorskip("polars"), SAMPLES / "java44-txn.pcap"
    assert pyarrow.table(kcli.read_capture(path)).column_names == NAMES
    assert polars.DataFrame(kcli.read_capture(path)).columns == NAMES


def test_integers_of_a_data_frame_stay_integers_beside_events() -> None:
    pytest.importorskip("pandas")
    frame = kcli.read_capture(DATA / "snaplen-96.pcap").to_pandas()
    assert frame["event"].notna().any()
    kinds = {name: str(frame[name].dtype) for name in ("api_version", "correlation_id", "response_bytes", "latency_ms")}
    assert list(kinds.values()) == ["Int16", "Int32", "Int64", "float64"]


@pytest.mark.parametrize("name", ["pyarrow", "numpy"])
def test_without_its_libraries_it_says_what_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(kcli.UsageError, match=rf"needs {name} \(pip install 'kcli-kafka\[parquet\]'\)"):
        kcli.read_capture(SAMPLES / "ipv6.pcapng").to_arrow()
    with pytest.raises(kcli.UsageError, match=f"needs {name}"):
        arrow_source([])


def test_each_row_knows_its_file(tmp_path: Path) -> None:
    """Files one after another, and files whose packets alternate: the file whose packet completed the exchange."""
    data = (SAMPLES / "java44-txn.pcap").read_bytes()
    packets, at = [], 24
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        packets.append(data[at:end])
        at = end
    halves = [packets[: len(packets) // 2], packets[len(packets) // 2 :]], [packets[::2], packets[1::2]]
    for number, (first, second) in enumerate(halves):
        names = [str(tmp_path / f"{number}{each}.pcap") for each in "ab"]
        for name, kept in zip(names, (first, second), strict=True):
            Path(name).write_bytes(data[:24] + b"".join(kept))
        batches = arrow_source(names, EXCHANGE_COLUMNS).batches()
        rows = pyarrow.Table.from_batches(batches).sort_by("completed_ns").to_pylist()
        assert len(rows) == 78 and {row["file"] for row in rows} == set(names)
        where = {
            (1_000_000_000 * int.from_bytes(packet[:4], "little") + 1000 * int.from_bytes(packet[4:8], "little")): name
            for name, kept in zip(names, (first, second), strict=True)
            for packet in kept
        }
        assert [row["file"] for row in rows] == [where[row["completed_ns"]] for row in rows]


@pytest.mark.parametrize("name", ["java44-txn.pcap", "ipv6.pcapng"])
def test_batches_that_are_written_at_once_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "ROWS", 7)
    written: list[dict[str, Any]] = []
    arrow_source([str(SAMPLES / name)]).write(lambda batch: written.extend(batch.to_pylist()))
    kept = arrow_source([str(SAMPLES / name)]).batches()
    assert written == [row for batch in kept for row in batch.to_pylist()]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_batches_for_a_file_have_texts_as_dictionaries(path: Path) -> None:
    source = arrow_source([str(path)], for_file=True)
    assert source.schema.equals(stored(schema_of(PARQUET_COLUMNS)))
    batches = list(source.batches())
    assert all(batch.schema.equals(source.schema) for batch in batches)
    assert [row for batch in batches for row in batch.to_pylist()] == [
        row for batch in arrow_source([str(path)]).batches() for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("path", [SAMPLES / "java44-txn.pcap", SAMPLES / "sasl-plain-scram.pcap"])
def test_a_file_needs_no_functions_of_arrow(path: Path) -> None:
    """Their import takes as long as that of the rest of pyarrow; of the second capture, some rows come as values."""
    capture = str(path)
    run = f"from kcli.cli.main import main; main(['decode', 'pcap', {capture!r}, '--format', 'parquet'])"
    script = f"import sys; {run}; sys.exit('pyarrow.compute' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)


def test_pandas_is_imported_for_data_frames_alone() -> None:
    """It takes longer than most captures; pyarrow imports it as soon as it makes an array of values."""
    capture = str(DATA / "mid-stream.pcap.zst")  # some of its rows come as values
    run = f"import kcli; print(kcli.read_capture({capture!r}).to_arrow().read_all().num_rows)"
    script = f"import sys; {run}; sys.exit('pandas' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
