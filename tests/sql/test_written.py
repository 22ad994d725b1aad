"""Tables that were written before are asked like what they were made of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.errors import InputError
from kcli.tables.connections import TCP
from kcli.tables.exchanges import EXCHANGE_COLUMNS

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")
Ask = Callable[..., list[dict[str, Any]]]
LEFT_OUT = {"request_header", "completed_ns", *(each.name for each in EXCHANGE_COLUMNS if each.fields)}


def test_a_file_of_decode_pcap(samples: Path, tmp_path: Path, ask: Ask) -> None:
    for name in ("java44-txn.pcap", "old-librdkafka-on-3.9.pcap"):
        source, out = samples / name, tmp_path / "out.parquet"
        assert main(["decode", "pcap", str(source), "--format", "parquet", "-o", str(out), "--quiet"]) == 0
        query = f"SELECT * EXCLUDE ({', '.join(LEFT_OUT)}) FROM exchanges"
        assert ask(query, out) == ask(query, source)
        query = "SELECT * EXCLUDE (sender, captured) FROM events"
        assert ask(query, out) == ask(query, source)
        packets_tell = ", ".join(("round_trip_ms", "retransmissions", *TCP))
        query = f"SELECT * EXCLUDE (client_id, file, {packets_tell}) FROM connections ORDER BY connection"
        assert ask(query, out) == ask(query, source)


def test_a_file_of_decode_segment(samples: Path, tmp_path: Path, ask: Ask) -> None:
    out = tmp_path / "out.parquet"
    assert main(["decode", "segment", str(samples / "orders-0"), "--format", "parquet", "-o", str(out)]) == 0
    query = "SELECT * EXCLUDE (topic, partition) FROM records"
    assert ask(query, out) == ask(query, samples / "orders-0")
    assert ask('SELECT sum("offset")::INT AS n FROM records', out) == [{"n": 482 * 481 // 2}]


def test_a_file_of_records(samples: Path, tmp_path: Path, ask: Ask) -> None:
    out = tmp_path / "out.parquet"
    assert main(["records", str(samples / "orders-0"), "--format", "parquet", "-o", str(out)]) == 0
    query = 'SELECT topic, partition, "offset", timestamp, key, value, headers FROM records'
    assert ask(query, out) == ask(query, samples / "orders-0") != []
    assert ask("SELECT count(*)::INT AS n FROM out", out) == [{"n": 482}]
    named = out.rename(tmp_path / "records.parquet")
    assert ask("SELECT count(*)::INT AS n FROM records", named) == [{"n": 482}]


def test_a_table_of_which_the_inputs_have_nothing(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "mine.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": [1, 2]}), own)
    for table in ("exchanges", "Connections", "records"):
        assert main(["sql", f"SELECT count(*) FROM {table}", str(own)]) == 0
        assert f"{table.lower()}: a table of which the inputs have nothing (they have mine)" in capsys.readouterr().err
    captured = "SELECT 1 FROM connections", "SELECT 1 FROM groups", "SELECT 1 FROM throttling"
    for query in ("SELECT 1", "SELECT * FROM mine", "SHOW TABLES", "SELECT 1 FROM records", *captured):
        source = (
            samples / "orders-0" if "records" in query else samples / "java44-txn.pcap" if query in captured else own
        )
        assert main(["sql", query, str(source)]) == 0
        assert "nothing" not in capsys.readouterr().err


def test_tables_of_the_pipeline_and_of_others(tmp_path: Path, ask: Ask) -> None:
    for name, part, value in (("clients", "a", "x"), ("clients", "b", "y"), ("exchanges/date=2026-11-21", "c", "z")):
        folder = tmp_path / "out" / name
        folder.mkdir(parents=True, exist_ok=True)
        texts = pyarrow.array([value]).dictionary_encode()
        pyarrow.parquet.write_table(pyarrow.table({"client_id": texts, "api_key": [3]}), folder / f"{part}.parquet")
    (tmp_path / "out" / "_kcli").mkdir()
    folder = tmp_path / "out"
    assert ask("SELECT client_id, file FROM clients ORDER BY ALL", folder) == [
        {"client_id": name, "file": str(folder / "clients" / f"{part}.parquet")} for name, part in ("xa", "yb")
    ]
    assert ask("SELECT client_id, api_key, api FROM exchanges", folder) == [
        {"client_id": "z", "api_key": 3, "api": None}
    ]
    own = tmp_path / "my-table.v1.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": [1, 2]}), own)
    assert ask("SELECT sum(a)::INT AS n, any_value(file) AS file FROM my_table", own) == [{"n": 3, "file": str(own)}]


def test_a_capture_that_is_named_as_a_table_is_told(samples: Path, tmp_path: Path, ask: Ask) -> None:
    file = tmp_path / "t.parquet"
    file.write_bytes((samples / "java44-txn.pcap").read_bytes())
    with pytest.raises(InputError, match=r"t\.parquet: not a Parquet file: it looks like a capture: "):
        ask("SELECT 1", file)


@pytest.mark.parametrize("cut", [4, 60, 200])
def test_damage_is_an_error_of_the_input(cut: int, tmp_path: Path, ask: Ask) -> None:
    whole = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": list(range(1000))}), whole)
    data = whole.read_bytes()
    whole.write_bytes(data[:cut] + (b"" if cut == 4 else bytes(40) + data[cut + 40 :]))
    with pytest.raises(InputError, match=r"t\.parquet: (not a Parquet file|can't be read as Parquet): "):
        ask("SELECT sum(a) FROM t", whole)
