"""The answer's forms: what a value looks like in each, and that nothing in it steers a terminal."""

import csv
import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from kcli.cli.sql.results import WRITERS, list_lines, plain, text_of, write_table
from kcli.cli.terminal.cells import width
from kcli.tables.captured import CAPTURED
from tests.hostile import illegible

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        (1 << 70, 1 << 70),
        (Decimal("12.00"), 12),
        (Decimal("1.50"), 1.5),
        (float("inf"), None),
        (float("nan"), None),
        (0.1, 0.1),
        (datetime(2026, 11, 21, 1, 2, 3, 4, UTC), "2026-11-21T01:02:03.000004Z"),
        (datetime(2026, 11, 21), "2026-11-21T00:00:00.000000"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (date(2026, 11, 21), "2026-11-21"),
        (time(1, 2), "01:02:00"),
        (b"text", "text"),
        (b"\x00", {"base64": "AA=="}),
        ({"a": [b"x", Decimal(1)]}, {"a": ["x", 1]}),
        ([("k", 1)], [["k", 1]]),
    ],
)
def test_values_as_json_has_them(value: Any, shown: Any) -> None:
    assert plain(value) == shown and type(plain(value)) is type(shown)


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (True, "true"), (1, "1"), ("x", "x"), ({"a": [1]}, '{"a":[1]}'), (0.5, "0.5")]
)
def test_values_as_text(value: Any, text: str) -> None:
    assert text_of(value) == text


def written(form: str, columns: dict[str, list[Any]]) -> bytes:
    table = pyarrow.table(columns)
    out = io.BytesIO()
    count = WRITERS[form](table.to_reader(max_chunksize=2), out)
    assert count == table.num_rows
    return out.getvalue()


HOSTILE: dict[str, list[Any]] = {"a\x1b[31m": ["x\x1b]0;y\x07", 'q"uo,te', "\u202e\n\r\t"], "n": [1, None, 3]}


def test_forms() -> None:
    lines = written("jsonl", HOSTILE).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        dict(zip(HOSTILE, row, strict=True)) for row in zip(*HOSTILE.values(), strict=True)
    ]
    assert json.loads(written("json", HOSTILE)) == [json.loads(line) for line in lines]
    rows = list(csv.reader(io.StringIO(written("csv", HOSTILE).decode())))
    assert rows == [["a\\x1b[31m", "n"], ["x\\x1b]0;y\\x07", "1"], ['q"uo,te', ""], ["\\u202e\\n\\r\\t", "3"]]
    assert written("table", {"name": ["a", "longer"], "n": [1, 22]}) == b"name     n\na        1\nlonger  22\n"
    assert pyarrow.parquet.read_table(io.BytesIO(written("parquet", HOSTILE))).to_pydict() == HOSTILE


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv"])
def test_nothing_steers_a_terminal(form: str) -> None:
    text = written(form, HOSTILE)
    assert not illegible(text.decode()) and text.count(b"\n") == {"json": 5, "jsonl": 3}.get(form, 4)


def test_rows_with_too_many_columns_are_blocks() -> None:
    names = [f"column_{number}" for number in range(12)]
    table = pyarrow.table({name: ["x" * 80, "y"] for name in names})
    for room, first in ((60, "-- row 1"), (200, "-- row 1"), (400, f"{names[0]}  ")):
        out = io.BytesIO()
        assert write_table(table.to_reader(), out, room) == 2
        lines = out.getvalue().decode().splitlines()
        assert lines[0].startswith(first) and max(map(width, lines)) <= room
    out = io.BytesIO()
    write_table(table.to_reader(), out, 60)
    lines = out.getvalue().decode().splitlines()
    assert lines[1] == f"column_0   {'x' * 48}…" and lines[13:16] == ["-- row 2", "column_0   y", "column_1   y"]


def test_times_and_names_of_usual_length_are_not_cut() -> None:
    """They become blocks before that, on a wide terminal too."""
    texts = ["2026-11-26T19:53:41.637004Z", "2026-11-26T19:53:41.637004Z"]
    for columns, first in ((6, "column 0"), (7, "-- row 1")):
        out = io.BytesIO()
        write_table(pyarrow.table({f"column {number}": texts for number in range(columns)}).to_reader(), out, 200)
        lines = out.getvalue().decode().splitlines()
        assert lines[0].startswith(first) and "\u2026" not in out.getvalue().decode()


@pytest.mark.parametrize("room", [20, 40, 60, 200])
def test_a_table_fits_the_terminal(room: int) -> None:
    columns = {f"column {number}": ["x" * 100, "数据" * 9] for number in range(4)}
    out = io.BytesIO()
    assert write_table(pyarrow.table(columns).to_reader(), out, room) == 2
    lines = out.getvalue().decode().splitlines()
    assert max(map(width, lines)) == min(room, 4 * 60 + 3 * 2) and "…" in lines[1]


@pytest.mark.parametrize(("form", "empty"), [("json", b"[]\n"), ("jsonl", b""), ("csv", b"a\n"), ("table", b"a\n")])
def test_no_rows(form: str, empty: bytes) -> None:
    assert written(form, {"a": []}) == empty


def test_times_that_python_has_not() -> None:
    beyond = pyarrow.array([300_000_000_000_000_000], pyarrow.timestamp("us", "UTC"))
    out = io.BytesIO()
    WRITERS["jsonl"](pyarrow.table({"t": beyond}).to_reader(), out)
    assert json.loads(out.getvalue())["t"].startswith("11476-")


def test_the_list_has_every_column() -> None:
    text = "\n".join(list_lines(None))
    narrow = [line for line in list_lines(60) if not line.startswith("    ")]
    assert max(map(len, narrow)) <= 60 and "".join("".join(list_lines(60)).split()) == "".join(text.split())
    for table in CAPTURED.values():
        assert f"{table.name}: {table.text}" in text
        assert all(f"  {column.name} " in text and column.text in text for column in table.columns)
