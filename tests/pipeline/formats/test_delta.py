"""Delta tables: the same rows, pinned by the table of runs; a run that dies on the way is as if it had not been."""

import contextlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import DeltaTable

from kcli.cli.report.command import write_tables
from kcli.errors import InputError, UsageError
from kcli.jsontext import dumps
from kcli.pipeline.context import Options
from kcli.pipeline.entry import Entry
from kcli.pipeline.formats import delta
from kcli.pipeline.formats.delta import row_of
from kcli.pipeline.formats.delta_log import DeltaLog
from kcli.pipeline.formats.runs import format_of
from kcli.pipeline.journal import Journal
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.output_lock import HeldError
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.schemas import arrow_schema, filed_schema
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.tables import FILED, TABLES
from kcli.pipeline.writing import TableWriter, file_form, stored_schema, written_schema
from kcli.report.fleet import ask_here
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs
from tests.pipeline.outputs import assert_decoded, filled, rows_of, run_here, unaccounted
from tests.pipeline.test_run import rotated

OF_RUNS = ("exchanges", "lineage", "clients")  # tables of the runs that are made by hand


def sql(path: Path, query: str) -> list[dict[str, Any]]:
    """Return what `kcli sql` answers."""
    with open_engine(sort_inputs([str(path)]), {}) as engine, engine.answer(query) as answer:
        rows: list[dict[str, Any]] = answer.read_all().to_pylist()
    return rows


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the tables that are written by hand."""
    monkeypatch.setattr(delta, "FILED", {name: FILED[name] for name in OF_RUNS})


def written(journal: Journal) -> Entry:
    """Return a run of a few rows, with a file that the next run replaces, ready to be committed."""
    entry = journal.begin()
    entry.stats = {"clock": entry.run, "exchanges": 1, "ended": "2026-11-21T00:00:00+00:00"}
    for passing in (False, True):
        writer = TableWriter(journal.folder(entry), "open" if passing else "rows")
        for table in OF_RUNS:
            row = filled(table, {"timestamp": 86_400_000_000, "run": entry.run})
            writer.put(table, tuple(row[name] for name in TABLES[table].names))
        entry.add(writer.close(), passing=passing)
    return entry


def commit_one(output: Path) -> int:
    """Commit a run by hand, as the next run does; return its number."""
    journal = Journal(str(output), "delta")
    journal.recover()
    entry = written(journal)
    journal.commit(entry)
    return entry.run


def counts(output: Path) -> dict[str, int]:
    """Return how many rows readers see that take the versions of the last run."""
    stored = Journal(str(output)).runs.stored()
    return {name: sum(pyarrow.parquet.read_metadata(each.uri).num_rows for each in stored[name]) for name in OF_RUNS}


def newest(output: Path) -> dict[str, int]:
    """Return how many rows a reader of single tables sees."""
    return {name: DeltaTable(output / name).to_pyarrow_table().num_rows for name in OF_RUNS}


def test_both_formats_hold_the_same_rows(samples: Path, tmp_path: Path, output: Path) -> None:
    halves = rotated(samples, tmp_path, 2, "java44-consume-classic.pcap")
    parts = [[halves[0], samples / "old-librdkafka-on-3.9.pcap"], [halves[1]]]
    plain = tmp_path / "plain"
    for paths in parts:
        for folder, kind in ((output, "delta"), (plain, "parquet")):
            run_pipeline(LocalEngine(), [str(path) for path in paths], Options(str(folder), table_format=kind))
    assert_decoded(output, [path for paths in parts for path in paths])
    assert unaccounted(output) == 0
    for table in TABLES:
        assert Counter(map(str, rows_of(output, table))) == Counter(map(str, rows_of(plain, table))), table
    assert [each.rows for each in ask_here(str(output))] == [each.rows for each in ask_here(str(plain))]
    pages = BytesIO(), BytesIO()
    for page, folder in zip(pages, (output, plain), strict=True):
        write_tables(page, str(folder))
    assert pages[0].getvalue().replace(str(output).encode(), str(plain).encode()) == pages[1].getvalue()
    asked = " UNION ALL ".join(f"SELECT '{table}' AS name, count(*) AS rows FROM {table}" for table in TABLES)
    assert sql(output, asked) == sql(plain, asked)
    assert sql(output / "clients", "FROM clients") == sql(output, "FROM clients") != []
    runs = sql(output, "SELECT run, captures, kcli, versions FROM runs ORDER BY run")
    assert [row["run"] for row in runs] == [1, 2]
    for table, version in json.loads(runs[-1]["versions"]).items():
        assert DeltaTable(output / table).version() == version


def test_a_folder_keeps_its_format(samples: Path, output: Path) -> None:
    assert format_of(StoragePath(str(output))) is None
    run_here([samples / "ipv6.pcapng"], output, table_format="delta")
    assert format_of(StoragePath(str(output))) == "delta"
    with pytest.raises(UsageError, match=r"holds tables as delta, not parquet \(take --table-format delta\)"):
        run_here([samples / "kcat-codecs.pcap"], output, table_format="parquet")
    run_here([samples / "kcat-codecs.pcap"], output)
    assert len(Journal(str(output)).entries) == 2


@contextlib.contextmanager
def dying_at(monkeypatch: pytest.MonkeyPatch, step: int, *, behind: bool) -> Iterator[None]:
    """Let the step die, before it is done or behind it: a file's move, a table that is made, a commit, the row."""
    left = [step]

    def mortal(done: Any) -> Any:
        def do(*given: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and not behind:
                raise KeyboardInterrupt
            made = done(*given, **more)
            if left[0] == 0:
                raise KeyboardInterrupt
            return made

        return do

    with monkeypatch.context() as patched:
        for owner, name in ((StoragePath, "move"), (DeltaLog, "make"), (DeltaLog, "set_to"), (delta, "write_rows")):
            patched.setattr(owner, name, mortal(getattr(owner, name)))
        yield


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("behind", [False, True])
def test_a_run_that_dies_at_any_step_has_not_been(behind: bool, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = commit_one(output)
    before = counts(output)
    assert before == newest(output) == dict.fromkeys(OF_RUNS, 2)
    steps, died = 0, 0
    while True:
        journal = Journal(str(output))
        assert [each.run for each in journal.entries] == [first]
        journal.recover()
        assert newest(output) == before
        entry = written(journal)
        steps += 1
        try:
            with dying_at(monkeypatch, steps, behind=behind):
                journal.commit(entry)
            break
        except KeyboardInterrupt:
            died += 1
            if len(Journal(str(output)).entries) > 1:
                break  # behind the last step it counts
            assert counts(output) == before
    assert died > 12
    assert counts(output) == newest(output) == dict.fromkeys(OF_RUNS, 3)
    assert [each.run for each in Journal(str(output)).entries] == [first, entry.run]


@pytest.mark.usefixtures("few")
def test_numbers_of_runs_that_died_are_not_given_again(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_one(output)
    with monkeypatch.context() as patched:
        patched.setattr(delta, "write_rows", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            commit_one(output)
    assert commit_one(output) == 3
    assert DeltaTable(output / "clients").transaction_version("kcli") == 3


@pytest.mark.usefixtures("few")
def test_of_two_runs_at_once_one_is_refused(output: Path) -> None:
    commit_one(output)
    one, other = Journal(str(output)), Journal(str(output))
    first, second = written(one), written(other)
    one.commit(first)
    with pytest.raises(HeldError, match="another run has written to it meanwhile"):
        other.commit(second)
    assert counts(output) == dict.fromkeys(OF_RUNS, 3)


@pytest.mark.usefixtures("few")
def test_a_reader_that_is_open_goes_on(output: Path) -> None:
    """A table that is open in Arrow, DuckDB and Polars, over a run that replaces files and one that compacts them."""
    import duckdb
    import polars

    from kcli.pipeline.upkeep import compact, vacuum

    commit_one(output)
    table = DeltaTable(output / "clients")
    held = table.to_pyarrow_dataset()
    asked = duckdb.from_arrow(held).aggregate("count(*)")
    lazy = polars.scan_delta(output / "clients", version=table.version())
    before = sorted(map(str, held.to_table().to_pylist()))
    commit_one(output)
    compact(str(output))
    assert vacuum(str(output)) == []
    assert sorted(map(str, held.to_table().to_pylist())) == before
    assert asked.fetchall() == [(2,)]
    assert lazy.collect().height == 2
    assert len(DeltaTable(output / "clients").to_pandas()) == 3
    version = DeltaTable(output / "clients").version()
    removed = vacuum(str(output), 0)
    assert DeltaTable(output / "clients").version() == version
    assert len(removed) >= 9
    assert [each.run for each in Journal(str(output)).history] == [1, 2, 3]
    assert len(list((output / "runs").glob("*.parquet"))) == 1
    assert counts(output) == newest(output) == dict.fromkeys(OF_RUNS, 3)


@pytest.mark.usefixtures("few")
def test_runs_that_are_none_of_kclis_are_one_line(output: Path) -> None:
    for said in ({"state": "{}"}, {"state": "7"}, {"versions": "[]"}, {"inputs": "x"}):
        journal = Journal(str(output), "delta")
        entry = written(journal)
        row = row_of(entry, {}) | {"state": dumps({"folder": entry.folder})} | said
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(delta, "row_of", lambda *_, row=row: row)
            journal.commit(entry)
        with pytest.raises(InputError, match="not the runs of kcli pipeline"):
            Journal(str(output))
        shutil.rmtree(output)


def forget_schemas() -> None:
    for known in (stored_schema, arrow_schema, written_schema, filed_schema, file_form):
        known.cache_clear()


@pytest.mark.usefixtures("few")
def test_a_later_column_is_null_in_older_rows(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For readers of the table, and of the version before."""
    import polars

    whole = TABLES["clients"]
    with monkeypatch.context() as older:
        for tables in (TABLES, FILED):
            older.setitem(tables, "clients", replace(whole, columns=whole.columns[:-1]))
        older.setattr(delta, "FILED", {name: FILED[name] for name in OF_RUNS})
        forget_schemas()
        commit_one(output)
        held = DeltaTable(output / "clients").to_pyarrow_dataset()
    forget_schemas()
    commit_one(output)
    column = whole.names[-1]
    assert column not in held.schema.names
    assert held.count_rows() == 2
    found = DeltaTable(output / "clients").to_pyarrow_table()
    assert sorted(map(str, found.column(column).to_pylist())) == ["", "", "None"]
    assert polars.scan_delta(output / "clients").collect()[column].null_count() == 1
    [row] = sql(output, f"SELECT count(*) AS rows, count({column}) AS said FROM clients")
    assert row == {"rows": 3, "said": 2}
