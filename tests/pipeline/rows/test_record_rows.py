"""The table `records`: the rows that `kcli sql` has of the same captures, with either engine."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from deltalake import DeltaTable

pytest.importorskip("duckdb")

from kcli.capture.decoder import DecodeOptions
from kcli.capture.kafka.events import Event
from kcli.payloads import PayloadDecoder, PayloadOptions
from kcli.payloads.http_schemas import CapturedSchemas
from kcli.payloads.record_table import CapturedBatches, RecordsOrigin
from kcli.pipeline.context import Options
from kcli.pipeline.journal import Journal
from kcli.pipeline.rows.record_rows import RecordRows
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.spark_engine import SparkEngine
from kcli.pipeline.upkeep import compact, forget
from kcli.records import build_batch
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs
from kcli.tables.captured import CAPTURED
from tests.capture.wires import DATA
from tests.payloads.test_http_schemas import SHOP, produced
from tests.pipeline.outputs import Here, run_here
from tests.pipeline.test_run import rotated

CAPTURES = ("kcat-codecs.pcap", "java44-txn.pcap", "kraft-boot.pcap.zst", "broker-0.10.2.pcap.zst")
NAMES = CAPTURED["records"].names
VISITS = {
    "type": "record", "name": "Visit",
    "fields": [
        {"name": "page", "type": "string"}, {"name": "seconds", "type": "long"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}  # fmt: skip


def written(output: Path, *names: str) -> list[dict[str, Any]]:
    """Return the rows of the table as readers see them."""
    folder = output / "records"
    if (folder / "_delta_log").is_dir():
        return list(DeltaTable(folder).to_pyarrow_table(columns=list(names or NAMES)).to_pylist())
    made = pyarrow.dataset.dataset(str(folder), format="parquet", partitioning="hive")
    return list(made.to_table(columns=list(names or NAMES)).to_pylist())


def asked(*paths: Path, payloads: PayloadOptions | None = None, **options: Any) -> list[dict[str, Any]]:
    """Return the rows of `kcli sql`."""
    sources = [CapturedSchemas([str(path) for path in paths], DecodeOptions())] if payloads and payloads.on else []
    decoder = None if payloads is None else PayloadDecoder(payloads, *sources)
    inputs = sort_inputs([str(path.absolute()) for path in paths])
    with open_engine(inputs, options, decoder=decoder) as engine, engine.answer("FROM records") as reader:
        return list(reader.read_all().to_pylist())


def counted(rows: list[dict[str, Any]], *without: str) -> Counter[str]:
    return Counter(str([(name, row[name]) for name in NAMES if name not in without]) for row in rows)


@pytest.mark.parametrize(
    "name", ["kcat-codecs.pcap", "java44-txn.pcap", "kraft-boot.pcap.zst", "broker-0.10.2.pcap.zst"]
)
def test_rows_are_those_of_sql(name: str, samples: Path, output: Path) -> None:
    """Of formats 0 to 2, all codecs, transactions, the metadata log, and topics by id; secrets are hidden as there."""
    path = next(each / name for each in (samples, DATA) if (each / name).exists())
    run_here([path], output, records=True)
    found, expected = written(output), asked(path)
    assert counted(found) == counted(expected)
    assert expected


def of_topics(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the decoded values by topic."""
    found: dict[str, list[Any]] = {}
    for row in sorted(rows, key=lambda row: row["timestamp"]):
        found.setdefault(row["topic"], []).append(json.loads(row["value_data"]))
    return found


def test_payloads_on_spark(spark: Any, output: Path, tmp_path: Path) -> None:
    """By a local schema and by those in the capture; tasks on Spark."""
    schema = tmp_path / "visits.avsc"
    schema.write_text(json.dumps(VISITS))
    payloads = PayloadOptions(True, value_schemas=(f"visits={schema}",), key_formats=("readings-*=long",))
    run_pipeline(SparkEngine(spark), [str(SHOP)], Options(str(output), shares=2, records=True, payloads=payloads))
    rows = written(output)
    assert counted(rows) == counted(asked(SHOP, payloads=payloads))
    assert of_topics(rows) == produced()


def test_later_runs_go_on_with_it(samples: Path, tmp_path: Path, output: Path) -> None:
    """Runs without the option keep the first one's, but for passwords; runs that are done again, too."""
    first, *rest = rotated(samples, tmp_path, 3, "kcat-codecs.pcap")
    registry = "http://anna:hunter2@localhost:1/api?x"
    config = ("bearer.auth.token=hunter2",)
    payloads = PayloadOptions(registry=registry, registry_config=config, value_formats=("utf8",), secrets=True)
    run_here([first], output, records=True, payloads=payloads, table_format="parquet")
    for path in rest:
        run_here([path], output)
    expected = asked(samples / "kcat-codecs.pcap", payloads=PayloadOptions(value_formats=("utf8",)))
    assert counted(written(output), "file") == counted(expected, "file")
    assert {row["run"] for row in written(output, "run")} == {1, 2, 3}
    assert all(row["value_data"] for row in written(output))
    journal = Journal(str(output))
    kept = PayloadOptions(registry="http://localhost:1/api?x", value_formats=("utf8",))
    said = [each.options["payloads"] for each in journal.entries]
    assert said == [replace(kept, secrets=True), kept, kept]  # each run says anew that secrets are shown
    assert not any(b"hunter2" in path.read_bytes() for path in output.rglob("*") if path.is_file())
    compact(str(output))
    assert counted(written(output), "file") == counted(expected, "file")
    forget(Here(), str(output), [], [str(rest[-1])])
    fewer = counted(asked(first, *rest[:-1], payloads=PayloadOptions(value_formats=("utf8",))), "file")
    assert counted(written(output), "file") == fewer


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_the_table_is_there_on_request(kind: str, samples: Path, tmp_path: Path, output: Path) -> None:
    """Without rows, too; a later run goes on with it."""
    nothing = DATA / "snaplen-96.pcap"
    run_here([nothing], output, table_format=kind)
    assert not (output / "records").exists()
    assert "records" not in Journal(str(output)).entries[0].options
    asked_for = tmp_path / "asked"
    run_here([nothing], asked_for, table_format=kind, records=True)
    assert written(asked_for) == []
    run_here([samples / "java44-txn.pcap"], asked_for, table_format=kind)
    assert counted(written(asked_for)) == counted(asked(samples / "java44-txn.pcap"))


def test_origin_and_day(samples: Path, tmp_path: Path, output: Path) -> None:
    """A record says any time; its rows lie where those of its exchange do."""
    path = tmp_path / "b1" / "x.pcap"
    path.parent.mkdir()
    path.write_bytes((samples / "kcat-codecs.pcap").read_bytes())
    run_here([path], output, records=True, origin=r"(?P<host>[^/]+)/[^/]+$", table_format="parquet")
    rows = written(output, "cluster", "host", "run", "file")
    assert {tuple(row.values()) for row in rows} == {(None, "b1", 1, str(path))}
    days = {each.name for each in (output / "records").iterdir()}
    assert days == {each.name for each in (output / "exchanges").iterdir()}


def test_a_batch_that_can_not_be_read_is_an_event() -> None:
    """The event says which exchange it was in, and where in its records."""
    good = build_batch([(1_700_000_000_000, None, b"v", [])])
    bad = bytearray(good)
    bad[-3] = 0x7F  # the length of its value
    gathered, noted = CapturedBatches(), list[Event]()
    gathered.data += good + good + bad
    gathered.places = [RecordsOrigin({"api": "FETCH", "connection": "s-c"}, 1, 0, 7)]
    gathered.places += [RecordsOrigin({"api": "PRODUCE", "connection": "s-d"}, 2, len(good), 9)]
    gathered.places[0].count, gathered.places[1].count = 1, 2
    rows = RecordRows(False, None, noted.append)
    rows.parts[3, True] = gathered
    made = list(rows.taken())
    assert sum(batch.num_rows for _, _, batch, _ in made) == 2
    assert {(table, day, nameless) for table, day, _, nameless in made} == {("records", 3, True)}
    (event,) = noted
    assert (event.connection, event.ns, event.offset, event.size) == ("s-d", 9, len(good), len(bad))
    assert (event.kind, event.sender, event.captured) == ("undecodable", "client", False)
    assert event.reason.startswith("records[0] of a batch: ")
    assert list(rows.taken()) == []
