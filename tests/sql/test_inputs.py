"""What is given, sorted by what it holds."""

import json
import os
import shutil
from pathlib import Path

import pytest

from kcli.errors import InputError
from kcli.sql.inputs import is_read_once, sort_inputs
from tests.capture.wires import SAMPLES
from tests.inside import kcli


def test_files_and_folders_are_sorted_by_what_they_hold(samples: Path, tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"PAR1....PAR1")
    given = [str(samples), str(tmp_path / "odd"), "-", str(samples / "java44-txn.pcap")]
    made = sort_inputs(given)
    assert [Path(path).name for path in made.captures] == [
        "ipv6.pcapng", "java44-consume-classic.pcap", "java44-txn.pcap", "kcat-codecs.pcap",
        "old-librdkafka-on-3.9.pcap", "sasl-plain-scram.pcap", "tls.pcap", "-", "java44-txn.pcap",
    ]  # fmt: skip
    assert [Path(path).parent.name for path in made.segments] == ["orders-0"]
    assert {Path(path).suffix for path in made.metadata} == {".checkpoint"} and len(made.metadata) == 2
    assert made.written == [(None, str(tmp_path / "odd"))]


def test_segments_of_the_metadata_log_are_metadata(tmp_path: Path) -> None:
    log = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    log.parent.mkdir()
    log.touch()
    assert sort_inputs([str(tmp_path)]).metadata == [str(log)]


def test_what_has_no_name_is_sorted_by_its_start(samples: Path, tmp_path: Path) -> None:
    sources = {"orders-0/*.log": "segments", "__cluster_metadata-0/*.checkpoint": "metadata", "*.pcap": "captures"}
    for pattern, kind in sources.items():
        copy = tmp_path / kind
        copy.write_bytes(sorted(samples.glob(pattern))[0].read_bytes())
        assert getattr(sort_inputs([str(copy)]), kind) == [str(copy)]
    assert is_read_once((tmp_path / "captures").read_bytes()[:4096]) and is_read_once(b"")
    assert not is_read_once((tmp_path / "segments").read_bytes()[:4096]) and not is_read_once(b"PAR1...")


def test_the_pipelines_tables_are_named_by_their_folders(tmp_path: Path) -> None:
    for name in ("exchanges/date=2026-11-21/a.parquet", "clients/b.parquet", "_kcli/c.parquet"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    assert [table for table, _ in sort_inputs([str(tmp_path)]).written] == ["clients", "exchanges"]


def test_what_is_missing_is_found_before_anything_is_read(samples: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sort_inputs([str(samples), str(tmp_path / "missing")])
    with pytest.raises(InputError, match="holds no capture, log segment, snapshot or Parquet table"):
        sort_inputs([str(tmp_path)])


def test_a_name_that_is_not_utf_8_has_its_bytes_in_the_column(tmp_path: Path) -> None:
    """Every kind of table has it: the first ended in a traceback."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.pcap")
    shutil.copy(SAMPLES / "java44-txn.pcap", path)
    for table in ("exchanges", "records", "undecodable", "clients"):
        done = kcli("sql", f"SELECT any_value(file) AS file FROM {table}", path, "--format", "jsonl", "-q")
        found = json.loads(done.stdout)["file"]
        assert done.returncode == 0 and found in (None, f"{tmp_path}/\\xff\\xfe.pcap"), table
