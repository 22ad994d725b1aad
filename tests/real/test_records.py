"""Record batches against Apache Kafka: segments of every kind made, read and converted down by its own classes,
segments of a real broker, and old clients that read what was converted for them."""

import base64
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError
from kcli.records import FetchSend, Slice, batches_json, build_batch, build_marker, cut_slice, down_convert, scan
from kcli.records.segments import read_rows
from kcli.records.verification import LogFacts, verify_log
from kcli.schemas.field_codes import CODECS
from tests.real.jvm import run_java
from tests.real.lab import Cluster
from tests.real.maven import compiled, jars
from tests.real.oldserver import OldServer
from tests.real.records import random_spec, serve
from tests.records.vectors import as_kafka, kafkas_records, records_as_kafka, truth

SEGMENTS = 60


@dataclass(frozen=True)
class Made:
    """A segment with what Kafka says of it."""

    data: bytes
    dump: list[dict[str, Any]]
    converted: dict[int, tuple[dict[str, Any], bytes]]
    sent: list[tuple[int, int, int, dict[str, Any], bytes]]  # magic, first offset, fetch size, answer, bytes


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Made]]:
    """Segments of random groups of batches; other ones each day."""
    import datetime

    folder = tmp_path_factory.mktemp("segments")
    chance = random.Random(datetime.date.today().toordinal())
    specs = [" ".join(random_spec(chance) for _ in range(chance.randint(1, 5))) for _ in range(SEGMENTS)]
    names = [folder / f"{number}.log" for number in range(SEGMENTS)]
    serve([f"make {name} {spec}" for name, spec in zip(names, specs, strict=True)])
    asked = [(chance.choice((0, 1)), chance.randint(0, 60), chance.choice((1, 500, 3000, 10**6))) for _ in names]
    commands = []
    for name, (magic, first, size) in zip(names, asked, strict=True):
        commands.append(f"dump {name} > {name}.dump")
        commands += [f"down {name} {m} {name}.v{m} --path eager" for m in (0, 1)]
        commands.append(f"down {name} {magic} {name}.sent --first-offset {first} --max-bytes {size}")
    answers = iter(serve(commands))
    made = []
    for name, question in zip(names, asked, strict=True):
        next(answers)
        converted = {m: (next(answers), Path(f"{name}.v{m}").read_bytes()) for m in (0, 1)}
        sent = [(*question, next(answers), Path(f"{name}.sent").read_bytes())]
        dump = [json.loads(line) for line in Path(f"{name}.dump").read_text().splitlines()]
        made.append(Made(name.read_bytes(), dump, converted, sent))
    yield made


def test_batches_are_read_as_kafka_reads_them(segments: list[Made]) -> None:
    for made in segments:
        rows = json.loads(batches_json(made.data))
        expected = truth(made.dump)
        assert [as_kafka(row) for row in rows] == [as_kafka(batch) for batch, _ in expected]
        for row, (batch, records) in zip(rows, expected, strict=True):
            assert row["crcValid"] is True
            assert records_as_kafka(row, batch["magic"] > 0) == kafkas_records(records, batch["magic"] > 0)


def unpacked(data: bytes) -> list[dict[str, Any]]:
    hidden = ("sizeInBytes", "crc", "_payload")
    rows = json.loads(batches_json(data))
    return [{k: v for k, v in row.items() if row["compression"] == "none" or k not in hidden} for row in rows]


@pytest.mark.parametrize("magic", [0, 1])
def test_segments_are_converted_down_as_kafka_converts_them(segments: list[Made], magic: int) -> None:
    for made in segments:
        answer, expected = made.converted[magic]
        if "error" in answer:
            assert "UnsupportedCompressionType" in answer["error"]
            with pytest.raises(InputError, match="UNSUPPORTED_COMPRESSION_TYPE"):
                list(down_convert(made.data, magic))
            continue
        found = b"".join(down_convert(made.data, magic))
        if found != expected:
            assert unpacked(found) == unpacked(expected)
            assert any(row["compression"] != "none" for row in unpacked(found))


def test_exact_sends_are_those_of_a_broker(segments: list[Made]) -> None:
    for made in segments:
        for magic, first, size, answer, expected in made.sent:
            part = cut_slice(Slice.of(made.data), size, first)
            if "error" in answer and not expected:
                with pytest.raises(InputError):
                    FetchSend(part, magic, first)
                continue
            send = FetchSend(part, magic, first)
            data = b"".join(send)
            packed = any(batch.codec for batch in scan(made.data, damages=[]))
            if "error" not in answer and not packed and not vanishes(made.data[part.start :], magic):
                assert data == expected
            elif "error" not in answer and not packed:
                assert len(data) == len(expected)
            assert len(data) == send.size


def vanishes(data: bytes, magic: int) -> bool:
    """Is nothing left of the first batch? Kafka then sends the first remaining one twice."""
    first = next(scan(data), None)
    return first is not None and not b"".join(down_convert(bytes(first.bytes), magic))


# ---- a real broker's segments


@pytest.fixture(scope="module")
def written(kafka_44: Cluster) -> list[Path]:
    """The folders of a topic for each codec and of one with transactions, written by Kafka's own producers."""
    topics = [f"records-{codec}" for codec in CODECS] + ["records-txn"]
    classpath = jars("kafka-clients", "4.4.0")
    program = compiled("RecordWriter.java", classpath)
    done = run_java([program, *classpath], "RecordWriter", kafka_44.bootstrap, *topics)
    assert done.returncode == 0, done.stderr.decode()
    return [kafka_44.log_dir(topic) for topic in topics]


@pytest.mark.parametrize("number", range(len(CODECS) + 1))
def test_a_brokers_segment_is_what_kafka_dump_log_prints(kafka_44: Cluster, written: list[Path], number: int) -> None:
    (log,) = written[number].glob("*.log")
    data = log.read_bytes()
    rows = json.loads(batches_json(data))
    for before, row in zip([{"_position": 0, "sizeInBytes": 0}, *rows], rows, strict=False):
        row["_position"] = before["_position"] + before["sizeInBytes"]
    dumped = list(dump_rows(kafka_44.dump_log(log)))
    assert [batch for batch, _ in dumped] == [dump_form(row) for row in rows]
    assert [records for _, records in dumped] == [[record_form(record) for record in row["records"]] for row in rows]
    assert {row["compression"] for row in rows} >= {CODECS[number] if number < len(CODECS) else "none"}


def test_a_brokers_segments_are_verified_with_the_files_beside_them(written: list[Path]) -> None:
    from kcli.cli.main import main

    for folder in written:
        (log,) = folder.glob("*.log")
        facts = LogFacts()

        def read(into: memoryview, position: int, data: bytes = log.read_bytes()) -> int:
            part = data[position : position + len(into)]
            into[: len(part)] = part
            return len(part)

        assert list(verify_log(read, str(log), facts)) == [] and facts.records
        assert main(["decode", "segment", str(folder), "--verify", "--quiet"]) == 0


def test_transactions_and_markers_are_there(written: list[Path]) -> None:
    (log,) = written[-1].glob("*.log")
    rows = json.loads(batches_json(log.read_bytes()))
    markers = [row["records"][0]["_control"]["type"] for row in rows if row["isControl"]]
    assert "COMMIT" in markers and "ABORT" in markers and all(row["isTransactional"] for row in rows)
    (index,) = written[-1].glob("*.txnindex")
    aborted = list(read_rows("txnindex", index.read_bytes(), index.name))
    ends = [row["lastOffset"] for row in rows if row["isControl"] and row["records"][0]["_control"]["type"] == "ABORT"]
    assert [row["lastOffset"] for row in aborted] == ends


def dump_rows(text: str) -> Iterator[tuple[dict[str, str], list[tuple[str, ...]]]]:
    """kafka-dump-log's batches and records: names and values as it prints them."""
    batch: dict[str, str] | None = None
    records: list[tuple[str, ...]] = []
    for line in text.splitlines():
        if line.startswith("baseOffset:"):
            if batch is not None:
                yield batch, records
            batch = dict(re.findall(r"(\w+): (\S+)", line))
            records = []
        elif line.startswith("| offset:"):
            found = re.match(
                r"\| offset: (\S+) (?:CreateTime|LogAppendTime): (\S+) keySize: (\S+) valueSize: (\S+)", line
            )
            assert found is not None, line
            records.append(found.groups())
    if batch is not None:
        yield batch, records


def dump_form(row: dict[str, Any]) -> dict[str, str]:
    """A row of kcli in kafka-dump-log's names; what that prints and kcli computes from others is left to it."""
    sequence = row["baseSequence"]
    last = -1 if sequence < 0 else sequence + row["lastOffset"] - row["baseOffset"]
    form = {
        "baseOffset": row["baseOffset"],
        "lastOffset": row["lastOffset"],
        "count": row["count"],
        "baseSequence": sequence,
        "lastSequence": last,
        "producerId": row["producerId"],
        "producerEpoch": row["producerEpoch"],
        "partitionLeaderEpoch": row["partitionLeaderEpoch"],
        "isTransactional": row["isTransactional"],
        "isControl": row["isControl"],
        "deleteHorizonMs": "OptionalLong.empty",
        "position": row["_position"],
        row["timestampType"]: row["maxTimestamp"],
        "size": row["sizeInBytes"],
        "magic": row["magic"],
        "compresscodec": row["compression"],
        "crc": row["crc"],
        "isvalid": row["crcValid"],
    }
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in form.items()}


def record_form(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        str(each) for each in (record["offset"], record["timestamp"], size(record["key"]), size(record["value"]))
    )


def size(value: Any) -> int:
    if value is None:
        return -1
    return len(base64.b64decode(value["base64"]) if isinstance(value, dict) else value.encode())


# ---- a client too old for what is stored


@pytest.mark.parametrize(("release", "magic"), [("0.10.2.2", 1), ("0.9.0.1", 0)])
@pytest.mark.parametrize("chunk_bytes", [1, 128 * 1024])
def test_an_old_client_reads_what_was_converted_for_it(release: str, magic: int, chunk_bytes: int) -> None:
    """It is given exactly what a broker would send, fetch for fetch, and sees every record that is not a marker."""
    records = [(1700000000000 + n, b"key %d" % n, b"value %d " % n * (n % 60), [("h", b"x")]) for n in range(200)]
    parts, offset = [], 0
    for number, codec in enumerate(["none", "gzip", "snappy", "lz4"] * 2):
        parts.append(build_batch(records[number * 25 : number * 25 + 25], offset, codec=codec))
        parts.append(build_marker(True, 1, offset + 25, 1, 0, 0))
        offset += 26
    data = b"".join(parts)
    classpath = jars("kafka-clients", release)
    program = compiled("OldConsumer.java", classpath)
    with OldServer(data, magic, chunk_bytes) as server:
        done = run_java([program, *classpath], "OldConsumer", server.address, str(len(records)), timeout=90)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
    expected = [
        (record.offset, record.timestamp, record.key, record.value)
        for b in scan(data)
        if not b.is_control
        for record in b.records()
    ]
    assert [int(row[0]) for row in rows] == [row[0] for row in expected]
    assert [(base64.b64decode(row[2]), base64.b64decode(row[3])) for row in rows] == [row[2:] for row in expected]
    if magic:
        assert [int(row[1]) for row in rows] == [row[1] for row in expected]
    assert server.fetches > 1
