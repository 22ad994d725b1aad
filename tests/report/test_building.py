"""One pass over captures makes the tables; damaged files are read as far as they go."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.capture.filters import Filter
from kcli.errors import InputError
from kcli.report.building import USED, TableBuilder
from kcli.report.engine import ReportEngine
from tests.capture.decoding import as_values, pieces

pytest.importorskip("duckdb")
COUNT = "SELECT count(*), count(DISTINCT connection) FROM exchange_facts"


def test_only_tables_that_are_used(samples: Path, tmp_path: Path) -> None:
    for _ in TableBuilder([str(samples / "java44-txn.pcap")], str(tmp_path)).read():
        pass
    assert {path.name for path in tmp_path.iterdir()} <= USED
    assert (tmp_path / "record_batches").is_dir()


def test_rows_of_what_is_chosen(samples: Path, tmp_path: Path) -> None:
    path = str(samples / "java44-txn.pcap")
    for number, chosen in enumerate((Filter(apis=frozenset({0})), Filter(topic="pay-in"), Filter(client_id="nobody"))):
        for _ in (builder := TableBuilder([path], str(tmp_path / str(number)), chosen)).read():
            pass
        expected = sum(chosen.wants(each) for part in pieces(as_values([path])) for each in part)
        with ReportEngine(tmp_path / str(number)) as tables:
            tables.open("exchange_facts")
            assert tables.run("SELECT count(*) FROM exchange_facts")[1] == [(expected,)] and builder.built == bool(
                expected
            )
            tables.open("client_uses")
            [[uses, named]] = tables.run("SELECT count(*), count(software) FROM client_uses")[1]
            assert (uses and named) if expected else not uses


def test_several_captures_are_one(samples: Path, tmp_path: Path) -> None:
    paths = [str(samples / name) for name in ("java44-txn.pcap", "ipv6.pcapng")]
    read: list[int] = []
    for _ in TableBuilder(paths, str(tmp_path)).read(read.append):
        pass
    assert sum(read) == sum(Path(path).stat().st_size for path in paths)
    with ReportEngine(tmp_path) as tables:
        tables.open("exchange_facts")
        [[exchanges, connections]] = tables.run(COUNT)[1]
    assert exchanges > 57 and connections > 2


def test_damage_is_told_at_the_end(samples: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((samples / "java44-txn.pcap").read_bytes()[:40_000] + bytes(10))
    builder = TableBuilder([str(cut), str(tmp_path / "missing.pcap")], str(tmp_path / "tables"))
    with pytest.raises(InputError):
        for _ in builder.read():
            pass
    with ReportEngine(tmp_path / "tables") as tables:
        tables.open("exchange_facts")
        assert tables.run(COUNT)[1][0][0] > 10
