"""The engine: what a query may do, and what it may not."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError, UsageError
from kcli.sql.engine import Engine
from kcli.sql.scans import Scan

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")
SCHEMA = pyarrow.schema([("a", pyarrow.int64()), ("b", pyarrow.string()), ("c", pyarrow.string())])


class World:
    """Tables t and u of 10 rows each, and a view of t."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, frozenset[str]]] = []
        self.error: InputError | None = None

    def scan(self, name: str) -> Scan:
        def source(wanted: frozenset[str]) -> Iterator[Any]:
            self.asked.append((name, wanted))
            made = {"a": list(range(10)), "b": list("abcdefghij"), "c": ["c"] * 10}
            yield pyarrow.record_batch({each: made[each] for each in made if each in wanted or each == "a"})
            if self.error is not None:
                raise self.error

        return Scan(name, SCHEMA, [source])


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def engine(world: World) -> Iterator[Engine]:
    with Engine([world.scan("t"), world.scan("u")], {"v": "SELECT b, count(*) AS n FROM t GROUP BY b"}) as made:
        yield made


def rows(engine: Engine, query: str) -> list[dict[str, Any]]:
    with engine.answer(query) as reader:
        found: list[dict[str, Any]] = reader.read_all().to_pylist()
    return found


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT b FROM t", {"t": {"b"}}),
        ("SELECT x.b FROM (SELECT * FROM t) x WHERE x.a > 3;", {"t": {"a", "b"}}),
        ("SELECT u.c FROM t JOIN u USING (a)", {"t": {"a"}, "u": {"a", "c"}}),
        ("SELECT n FROM v", {"t": {"b"}}),
        ("FROM t", {"t": {"a", "b", "c"}}),
        ("SELECT count(*) FROM t -- no column", {"t": {"a"}}),
        ("SUMMARIZE t", {"t": {"a", "b", "c"}}),
        ("SELECT 1", {}),
        ("DESCRIBE t", {}),
        ("SHOW TABLES", {}),
    ],
)
def test_columns_that_the_query_reads_are_made(
    query: str, read: dict[str, set[str]], engine: Engine, world: World
) -> None:
    assert rows(engine, query)
    assert {name: set(wanted) for name, wanted in world.asked} == read


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("SELECT b FROM T", {"u", "v"}),
        ("DESCRIBE t", {"u", "v"}),
        ("WITH u AS (SELECT 1) FROM u, v", {"u"}),
        ("FROM query_table('u')", {"t", "v"}),
        ("SHOW TABLES", set()),
        ("SELECT view_name FROM duckdb_views()", set()),
    ],
)
def test_tables_are_defined_when_a_query_first_names_them(query: str, left: set[str], engine: Engine) -> None:
    rows(engine, query)
    assert set(engine.undefined) == left
    assert rows(engine, "SELECT count(*) AS n FROM t, u, v") == [{"n": 1000}]


def test_an_unknown_table_is_told_from_all_that_there_are(engine: Engine) -> None:
    assert rows(engine, "SELECT count(*) AS n FROM t") == [{"n": 10}]
    with pytest.raises(UsageError, match='Table with name uu does not exist! Did you mean "u"'):
        rows(engine, "FROM t, uu")
    engine.connection.execute("CREATE VIEW _own AS SELECT 1")  # as kcli makes for itself
    assert [row["name"] for row in rows(engine, "show  tables;")] == ["t", "u", "v"]


def test_a_pivot_names_the_values_that_become_columns(engine: Engine) -> None:
    assert rows(engine, "PIVOT (SELECT a % 2 AS a FROM t) ON a IN (0, 1) USING count(*)::INT") == [{"0": 5, "1": 5}]
    with pytest.raises(UsageError, match=r"PIVOT: name the values that become columns: ON api IN \('FETCH"):
        rows(engine, "PIVOT t ON a USING count(*)")


def test_a_table_may_be_read_twice_and_asked_again(engine: Engine) -> None:
    assert rows(engine, "SELECT count(*) AS n FROM t x JOIN t y USING (a)") == [{"n": 10}]
    assert rows(engine, "SELECT sum(a)::INT AS n FROM t") == [{"n": 45}]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("selec 1", 'query: Parser Error: syntax error at or near "selec"'),
        ("SELECT nosuch FROM t", 'query: Binder Error: Referenced column "nosuch" not found'),
        ("SELECT b::INT FROM t", "query: Conversion Error: Could not convert string 'a' to INT32"),
        ("", "query: 0 statements"),
        ("SELECT 1; SELECT 2", "query: 2 statements"),
        ("SELECT error('a\nb')", "query: Invalid Input Error: a b"),
    ],
)
def test_what_is_wrong_is_one_line(query: str, why: str, engine: Engine) -> None:
    with pytest.raises(UsageError) as caught:
        rows(engine, query)
    assert str(caught.value).startswith(why) and "\n" not in str(caught.value)
    assert rows(engine, "SELECT 1 AS n") == [{"n": 1}]


FORBIDDEN = [
    "COPY t TO '{out}'",
    "COPY (SELECT 1) TO '{out}' (FORMAT PARQUET)",
    "EXPORT DATABASE '{out}'",
    "ATTACH '{out}' AS x",
    "CREATE TABLE x AS SELECT 1",
    "CREATE VIEW t AS SELECT 1",
    "CREATE MACRO f() AS 1",
    "CREATE SECRET s (TYPE S3)",
    "INSERT INTO t SELECT * FROM t",
    "DROP VIEW t",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{secret}'",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "SET memory_limit = '1TB'",
    "PRAGMA enable_external_access = true",
    "CALL pragma_version()",
    "CHECKPOINT",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_parquet('{secret}')",
    "SELECT * FROM parquet_metadata('{secret}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM '{secret}'",
    'SELECT * FROM "{secret}"',
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM read_csv('http://127.0.0.1:{port}/x.csv')",
    "SELECT * FROM 'http://127.0.0.1:{port}/x.parquet'",
    "SELECT getenv('HOME')",
    "SELECT * FROM os",
    "SELECT * FROM world",
    "SELECT * FROM query('COPY t TO ''{out}''')",
    "EXPLAIN ANALYZE COPY t TO '{out}'",
]


@pytest.mark.parametrize("query", FORBIDDEN)
def test_a_query_reaches_nothing_but_its_tables(query: str, engine: Engine, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        port = server.getsockname()[1]
        given = query.format(out=tmp_path / "out", secret=secret, folder=tmp_path, port=port)
        with pytest.raises(UsageError) as caught:
            rows(engine, given)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "hunter2" not in str(caught.value) and "\n" not in str(caught.value)
    assert [*tmp_path.iterdir()] == [secret]
    assert rows(engine, "SELECT count(*) AS n FROM t") == [{"n": 10}]


MAKES = ["CREATE TABLE x AS SELECT 1", "CREATE TEMP TABLE t AS SELECT 1", "CREATE VIEW x AS SELECT 1", "DROP VIEW t"]
MAKES += ["COPY (SELECT 1) TO '{out}'", "ATTACH ':memory:' AS x", "SET memory_limit = '1TB'", "INSERT INTO t SELECT 1"]


@pytest.mark.parametrize("made", MAKES)
@pytest.mark.parametrize(
    "explain",
    ["EXPLAIN", "EXPLAIN ANALYZE", "explain\tanalyze", "EXPLAIN /* x */ ANALYZE", "EXPLAIN (ANALYZE)",
     "EXPLAIN (FORMAT json)", "-- a\nEXPLAIN ANALYZE", "EXPLAIN (ANALYZE, FORMAT html)",
     "/* /* */ SELECT 1 --*/ EXPLAIN", "EXPLAIN /* /* */ SELECT 1 --*/ ", "EXPLAIN ANALYZE SELECT 1; EXPLAIN"],
)  # fmt: skip
def test_only_a_select_is_explained(explain: str, made: str, engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="query: ") as caught:
        rows(engine, f"{explain} {made.format(out=tmp_path / 'out')}")
    assert "\n" not in str(caught.value) and not [*tmp_path.iterdir()]
    assert rows(engine, "SELECT count(*) AS n FROM t") == [{"n": 10}]


@pytest.mark.parametrize("words", ["", "ANALYZE", "(ANALYZE)", "(FORMAT json)", "/* c */ (ANALYZE, FORMAT json)"])
def test_a_select_is_explained(words: str, engine: Engine) -> None:
    [found] = rows(engine, f"-- why\nEXPLAIN {words} SELECT count(*) FROM t")
    assert ("analyzed" in found["explain_key"]) == ("ANALYZE" in words)
    assert ("{" in found["explain_value"]) == ("json" in words)


CLOSED = ["SELECT * FROM duckdb_settings()", 'FROM "DuckDB_Settings"()', "FROM (SELECT d.* FROM duckdb_settings() d)"]
CLOSED += ["WITH s AS (FROM duckdb_settings()) SELECT * FROM s", "EXPLAIN ANALYZE SELECT * FROM duckdb_settings()"]
CLOSED += ["SELECT current_setting('memory_limit')", "SELECT 'memory_limit'.current_setting()", "FROM duckdb_secrets()"]
CLOSED += ["FROM pg_settings", "FROM pg_catalog.pg_settings", "SELECT * FROM query('FROM duckdb_settings()')"]
CLOSED += ["FROM query_table('pg_settings')", "FROM query_table(['t', 'pg_catalog.pg_settings'])"]
CLOSED += ["FROM duckdb_temporary_files()", "FROM duckdb_databases", "SUMMARIZE SELECT * FROM duckdb_settings()"]
CLOSED += ["SELECT a FROM t WHERE a IN (SELECT length(current_setting('temp_directory')))", "FROM duckdb_memory()"]


@pytest.mark.parametrize("query", CLOSED)
def test_settings_and_files_are_not_told(query: str, engine: Engine) -> None:
    with pytest.raises(UsageError, match="shows data of this machine, or runs text"):
        rows(engine, query)


def test_tables_and_their_columns_may_be_asked_for(engine: Engine) -> None:
    for query in ("SHOW TABLES", "DESCRIBE t", "SUMMARIZE t", "FROM duckdb_columns() LIMIT 1", "SHOW ALL TABLES"):
        assert rows(engine, query), query


def test_a_list_or_text_that_a_function_makes_is_bounded(engine: Engine) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    for made in ("list_sum(range(1000000000 + a))", "repeat(b, 4000000000)"):
        with pytest.raises(InputError, match=r"needs more than (1.25 GiB|512 MiB) of memory[^\n]+$"):
            rows(engine, f"SELECT {made} FROM t")
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_too_little_memory_is_one_line(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (RuntimeError("can't start new thread"), MemoryError()):

        def submit(*_given: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor.submit", submit)
        with pytest.raises(InputError, match="more memory than this process may have"):
            rows(engine, "SELECT 1")


def test_settings_are_locked_in_a_safe_state(engine: Engine) -> None:
    def rows(engine: Engine, query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = engine.connection.sql(query).to_arrow_table().to_pylist()
        return found

    names = ("enable_external_access", "lock_configuration", "autoinstall_known_extensions", "python_scan_all_frames")
    found = rows(engine, f"SELECT name, value FROM duckdb_settings() WHERE name IN {names} ORDER BY name")
    assert [row["value"] for row in found] == ["false", "false", "true", "false"]
    limits = rows(
        engine, "SELECT current_setting('memory_limit') AS m, current_setting('max_temp_directory_size') AS d"
    )
    assert limits == [{"m": "512.0 MiB", "d": "16.0 GiB"}]


def test_what_is_wrong_with_an_input_comes_behind_the_rows(engine: Engine, world: World) -> None:
    world.error = InputError("cut", file="x.pcap")
    with pytest.raises(InputError, match=r"x\.pcap: cut"), engine.answer("SELECT a FROM t") as reader:
        assert reader.read_all().num_rows == 10


def test_a_bug_in_a_source_shows_as_what_it_is() -> None:
    def broken(_wanted: frozenset[str]) -> Iterator[Any]:
        yield dict[str, int]()["a bug"]

    with Engine([Scan("t", SCHEMA, [broken])]) as engine, pytest.raises(KeyError, match="a bug"):
        rows(engine, "SELECT a FROM t")


def test_its_folder_goes_with_it() -> None:
    with Engine([]) as engine:
        folder = Path(engine.folder.name)
        assert folder.is_dir()
    assert not folder.exists()


def test_a_query_has_so_many_seconds(tmp_path: Path) -> None:
    """What takes the rows may take longer; the next query has its own seconds."""
    endless = "SELECT count(*) FROM range(400000000) AS a, range(400000000) AS b"
    with Engine([], seconds=0.3) as engine:
        with pytest.raises(InputError, match=r"takes longer than 0\.3 s \(--timeout\)"), engine.answer(endless) as rows:
            rows.read_all()
        engine.seconds = 60.0
        with engine.answer("SELECT 1 AS a") as rows:
            assert rows.read_all().to_pylist() == [{"a": 1}]


def test_more_seconds_than_a_clock_has_are_as_many_as_it_has() -> None:
    with Engine([], seconds=1e15) as engine, engine.answer("SELECT 1 AS one") as rows:
        assert [row for batch in rows for row in batch.to_pylist()] == [{"one": 1}]
