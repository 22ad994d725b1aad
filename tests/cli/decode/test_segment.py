"""`kcli decode segment` as a script sees it."""

from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.grammar import messages
from kcli.records import build_batch
from kcli.records.encoding import encode_batches
from tests.cli.conftest import Rows
from tests.records.vectors import named


def test_a_folder_with_all_its_files(orders: Path, capsys: pytest.CaptureFixture[str], rows: Rows) -> None:
    (orders / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    assert main(["decode", "segment", str(orders), "--format", "jsonl"]) == 0
    found = rows()
    assert [Path(row["file"]).name for row in found if row.get("event") == "file"] == [
        "00000000000000000000.log",
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "leader-epoch-checkpoint",
    ]
    assert {"offset": 299, "position": 4805} in found and {"epoch": 0, "startOffset": 0} in found
    assert main(["decode", "segment", str(orders)]) == 0
    assert "startOffset" in capsys.readouterr().out


def test_internal_topics_are_decoded_by_the_folders_name(tmp_path: Path, rows: Rows) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    topic = b"\1\2\0" + messages.data("TopicRecord", 0).write({"name": "t", "topicId": "A" * 22})
    (folder / "00000000000000000000.log").write_bytes(build_batch([(0, None, topic, ())]))
    assert main(["decode", "segment", str(folder), "--records", "full", "--format", "jsonl"]) == 0
    (row,) = rows()
    assert row["records"][0]["_record"]["type"] == "TOPIC_RECORD"
    log = str(folder / "00000000000000000000.log")
    assert main(["decode", "batch", log, "--topic", "__cluster_metadata"]) == 0
    assert rows()[0]["records"][0]["_record"]["data"]["name"] == "t"
    assert main(["decode", "batch", log, "--topic", "orders"]) == 2


def test_positions_and_payloads_are_there_when_asked_for(file: Path, rows: Rows) -> None:
    assert main(["decode", "segment", str(file), "--records", "full", "--format", "jsonl"]) == 0
    assert not any("_position" in row or "_payload" in row for row in rows())
    extra = ["--position", "--exact"]
    assert main(["decode", "segment", str(file), "--records", "full", "--format", "jsonl", *extra]) == 0
    found = rows()
    assert [row["_position"] for row in found[:2]] == [0, found[0]["sizeInBytes"]]
    assert encode_batches(found) == file.read_bytes()


def test_parquet(orders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    out = tmp_path / "x.parquet"
    assert main(["decode", "segment", str(orders), "--format", "parquet", "-o", str(out)]) == 0
    assert pyarrow.parquet.read_table(out).num_rows == 482
    assert main(["decode", "segment", str(orders), "--format", "parquet"]) == 2
    log = orders / "00000000000000000000.log"
    log.write_bytes(named("key-length-long") + log.read_bytes())
    assert main(["decode", "segment", str(log), "--format", "parquet", "-o", str(out)]) == 3
    assert pyarrow.parquet.read_table(out).num_rows >= 482


def test_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "segment", str(tmp_path / "none.log")]) == 3
    assert main(["decode", "segment", str(tmp_path)]) == 3
    assert "no log segment in this directory" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--verify"], ["--format", "parquet"], ["--format", "jsonl"], []], ids=str)
def test_another_kind_of_file_leaves_the_output(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A few bytes of JSON were a batch cut at the end, which is lawful: exit 0, and an empty table in place of OUT."""
    other, out = tmp_path / "x.json", tmp_path / "out"
    other.write_text('{"a": 1}\n')
    out.write_text("old")
    assert main(["decode", "segment", str(other), *words, "-o", str(out)]) == 3
    assert out.read_text() == "old" and "no record batches (looks like JSON" in capsys.readouterr().err
