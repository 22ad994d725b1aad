"""Topic names that come from other connections."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from kcli.pipeline.packets.decoding import Decoded
from kcli.pipeline.rows.topic_name_fill import name_topics, names_in, to_name
from kcli.pipeline.writing import TableWriter, WrittenFile, stored_schema
from kcli.tables.parquet import parquet_writer
from tests.pipeline.outputs import filled

ID = "AAAAAAAAAAAAAAAAAAAAAQ"
OTHER = "BBBBBBBBBBBBBBBBBBBBBQ"


def rewritten(tmp_path: Path, table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a table, nothing else in them, after their topics were named."""
    path = tmp_path / "x.parquet"
    whole = [filled(table, row) for row in rows]
    with path.open("wb") as file, parquet_writer(file, stored_schema(table)) as writer:
        writer.write_table(pyarrow.Table.from_pylist(whole, stored_schema(table)))
    name_topics(str(path), table, {ID: ("orders", 100)})
    return [
        {name: row[name] for name in rows[0]} for row in pyarrow.parquet.read_table(path, partitioning=None).to_pylist()
    ]


def test_exchanges_show_the_names_they_lacked(tmp_path: Path) -> None:
    bare, named = f'{{"topicId":"{ID}","n":1}}', f'{{"topicId":"{ID}","_topicName":"orders","n":1}}'
    before = [(bare, None, 101), (None, bare, 100), (bare.replace(ID, OTHER), named, 101), ('{"a" : 1}', bare, 500)]
    after = [(named, None, 101), (None, bare, 100), (bare.replace(ID, OTHER), named, 101), ('{"a" : 1}', named, 500)]
    columns = ("request", "response", "completed_ns")
    for api_key in (1, 3):
        rows = rewritten(
            tmp_path, "exchanges", [dict(zip(columns, row, strict=True)) | {"api_key": api_key} for row in before]
        )
        texts = [[text and json.loads(text) for text in (row["request"], row["response"])] for row in rows]
        assert texts == [[text and json.loads(text) for text in row[:2]] for row in after]


def test_other_tables_have_the_names_throughout(tmp_path: Path) -> None:
    before = [("mine", ID), (None, ID), (None, OTHER), ("old", None)]
    rows = rewritten(tmp_path, "remote_fetches", [{"topic": topic, "topic_id": topic_id} for topic, topic_id in before])
    assert [row["topic"] for row in rows] == ["mine", "orders", None, "old"]


def test_names_are_known_from_the_first_time(tmp_path: Path) -> None:
    writer = TableWriter(str(tmp_path), "x")
    for row in ((ID, "new", 30), (ID, "first", 10), (OTHER, "o", 5), (ID, "late", 20)):
        writer.put("topic_names", row)
    (written,) = writer.close()
    assert names_in(str(tmp_path / written.path)) == {ID: ("first", 10), OTHER: ("o", 5)}


@pytest.mark.parametrize("kept", ["LiM8oXcTSBWR3XF1qnjt6A", "AAAAAAAAAAAAAAAAAAAAAQ"])
def test_which_files_are_named(kept: str) -> None:
    """An id that Kafka keeps for itself is noted in no row: where it has a name, all rows may lack it."""
    tables = ("exchanges", "topic_names")
    files = [WrittenFile(table, None, f"{table}{end}", 1, bool(end)) for table in tables for end in ("", "-nameless")]
    decoded = Decoded(0, files, [WrittenFile("exchanges", None, "open", 1, True)], {kept})
    assert to_name(decoded, set()) == []
    assert [file.path for file in to_name(decoded, {kept})] == (
        ["exchanges-nameless", "open"] if kept[0] == "L" else ["exchanges", "exchanges-nameless", "open"]
    )
