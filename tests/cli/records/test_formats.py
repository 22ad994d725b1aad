"""Records in columns, as text and as Parquet."""

import csv
import io
from typing import Any

import pytest
from rich.cells import cell_len

from kcli.cli.records.formats import COLUMNS, FORMATS, text_of, time_text, write_values

ROWS: list[dict[str, Any]] = [
    {
        "topic": "orders", "partition": 3, "offset": 12, "timestamp": 1795224127847, "key": "k", "value": "v" * 300,
        "headers": [{"key": "a", "value": "b"}, {"key": "c", "value": None}], "api": "FETCH", "client_id": "c",
        "connection": "s:1-c:2", "file": "x.pcap", "aborted": True,
    },
    {
        "topic": None, "partition": None, "offset": None, "timestamp": -1, "key": None, "value": {"base64": "/w=="},
        "headers": [], "api": None, "client_id": None, "connection": None, "file": "\x1b[31m.log",
    },
    {
        "topic": "o\n\u202e", "partition": 0, "offset": 2**62, "timestamp": 2**62, "key": "日本\n", "value": "\x07\r\n",
        "headers": [], "api": "PRODUCE", "client_id": None, "connection": "c", "file": "f",
        "_control": {"type": "COMMIT"},
    },
    {
        "topic": "__cluster_metadata", "partition": 0, "offset": 1, "timestamp": 5, "key": None,
        "value": {"redacted": 40}, "headers": [], "api": None, "client_id": None, "connection": None, "file": "f",
    },
]  # fmt: skip


def written(form: str, room: int | None = None) -> bytes:
    out = io.BytesIO()
    FORMATS[form](iter(ROWS), out, room)
    return out.getvalue()


@pytest.mark.parametrize("columns", [60, 80, 120, 200, 250])
def test_the_table_fits_the_terminal(columns: int) -> None:
    *lines, left_out = written("table", columns).decode().splitlines()
    if not left_out.startswith("left out: "):
        lines.append(left_out)
    elif columns < 110:
        assert left_out == "left out: days, clients, headers, schemas (all: | less -S)"
    assert left_out.startswith("left out: ") == (columns <= 120)
    assert len(lines) == 5 and all(cell_len(line) <= columns and line.isprintable() for line in lines)


def test_the_table_in_a_pipe() -> None:
    lines = written("table").decode().splitlines()
    assert lines[1].split()[:6] == ["orders[3]", "12", "2026-11-21", "01:22:07.847", "k", "v" * 119 + "…"]
    assert lines[1].endswith("(2 headers, aborted, FETCH by c)") and lines[3].endswith("(control COMMIT, PRODUCE by -)")
    assert '{"redacted":40}' in lines[4]


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv").decode())))
    assert list(rows[0]) == list(COLUMNS) and len(rows) == 4
    assert rows[0]["headers"] == '[{"key":"a","value":"b"},{"key":"c","value":null}]'
    assert rows[1] | {"topic": "", "value": '{"base64":"/w=="}', "file": "\\x1b[31m.log"} == rows[1]


def test_values() -> None:
    out = io.BytesIO()
    write_values(iter([*ROWS, ROWS[0] | {"value": None}]), out)
    assert out.getvalue().decode().splitlines()[1:] == ['{"base64":"/w=="}', "\\x07\\r\\n", '{"redacted":40}', ""]


def test_parquet() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(written("parquet"))).to_pylist()
    assert [row["value"] for row in table] == [b"v" * 300, b"\xff", b"\x07\r\n", b'{"redacted":40}']
    assert [row["aborted"] for row in table] == [True, False, False, False]
    assert table[0]["headers"] == [{"key": "a", "value": b"b"}, {"key": "c", "value": None}]
    assert table[0]["timestamp"].isoformat() == "2026-11-21T01:22:07.847000+00:00" and table[2]["timestamp"] is None


def test_texts_and_times() -> None:
    assert [text_of(value) for value in (None, "a", {"base64": ""})] == [None, "a", '{"base64":""}']
    assert [time_text(ms) for ms in (None, -1, 2**62)] == ["-", "-", str(2**62)]


def test_a_narrow_terminal_shows_values() -> None:
    """The columns before it take what they need, the time loses its day, and what else there is to say is shorter."""
    wide, narrow, least = (written("table", columns).decode().splitlines() for columns in (200, 90, 60))
    assert wide[0].split() == ["topic[partition]", "offset", "time", "key", "value"] and "2026-11-21 01:22" in wide[1]
    assert " 01:22:07.8" in narrow[1] and "2026" not in narrow[1] and "vvvvvvvvvvvv" in narrow[1]
    assert "vvvvvv" in least[1] and "(" not in least[1]
    assert "1 header," in wide[1] or "2 headers," in wide[1]
