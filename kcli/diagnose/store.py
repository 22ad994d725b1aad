"""The tables of facts while captures are read. Rows are in memory, or in files that queries read in place."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from kcli.address_space import give_back
from kcli.diagnose.lean import LEAN, in_turn, needed_of, read_by, with_columns, words_of
from kcli.diagnose.words import KEYS, MOST_WORDS, Words, kind_of_texts
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.rules.prepared import BY_ID, TOPIC, ends_sql
from kcli.rules.rule_tables import READ, RuleTables, kind_of, query_around
from kcli.tables.arrays import batch_of_rows, nulls_at
from kcli.tables.call_views import NAMELESS_IDS, SAID_TOPICS
from kcli.tables.definition import Column, schema_of
from kcli.tables.duckdb_engine import SOURCES, STORE_MEMORY, files_sql
from kcli.tables.parquet import silent_writer
from kcli.topic_names import METADATA_ID

SMALL = 1 << 22  # bytes: with fewer rows, optimizing a query or numbering texts takes longer than it saves
ROWS = 50_000  # rows of a table that are collected before they become a record batch
# Most bytes of rows in memory while captures are read: those of 400 MB of small requests. If there are more, all are
# written to files, so that DuckDB later has memory for tables of that many.
MOST_BUFFERED = 192 << 20  # bytes

# Tables with topics by name and by id.
OF_TOPICS = ("fetch_partitions", "produce_partitions", "record_batches")
# Prepared tables that are made from the largest tables, and expressions in their SQL that numbered rows do not need.
OF_NUMBERED = ("calls", "fetched", "produced", "batches", "inner_clients")
NAMED_ALREADY = re.compile(r"coalesce\((\w+\.)?(client_id|api), (?:''|concat\('API ', api_key\))\)")
# Expressions in other queries that turn a client id of the ENUM type into plain text.
UNTYPED = re.compile(r"coalesce\(((?:\w+\.)?client_id), ''\)")
ENDS_OF_NUMBERS = f"SELECT number AS connection, {ends_sql('word')} FROM connection_words WHERE number > 0"
# The topic name of each topic id, by the id's position in the ENUM type, and the expression that replaces a join.
TOPIC_IDS = """
SET VARIABLE topics_by_id = (
  SELECT list(t.topic ORDER BY w.word)
  FROM (SELECT CAST(unnest(enum_range(CAST(NULL AS topic_word))) AS topic_word) AS word) AS w
  LEFT JOIN topic_by_id t ON t.topic_id = w.word
)
"""
TOPIC_OF_ID = TOPIC.replace("t.topic", "getvariable('topics_by_id')[enum_code(CAST(p.topic_id AS topic_word)) + 1]")
# Columns of other tables whose texts have an ENUM type, as in numbered rows, so that both can be compared.
TOPICS = ("topic", "topic_id")
ID = [Column("topic_id", "string", "")]
TYPED = {"topic_names": TOPICS} | {
    name: tuple(each for each in ("client_id", "group_id", "member_id", "topic") if each in table.names)
    for name, table in FACTS.items()
    if name.endswith("_said")
}
# Options of Parquet files that are read a few times.
PLAIN = {"compression": "none", "use_dictionary": False, "write_statistics": False}
# Tables that grow with the traffic.
OF_TRAFFIC = (
    "exchange_facts", "fetch_partitions", "produce_partitions", "record_batches", "undecodable", "called", "tcp",
    "refused_records", "share_calls", "uncommitted",
)  # fmt: skip


class FactStore(RuleTables):
    """Holds rows of tables and answers queries over them; close it when done. Raises UsageError if DuckDB is missing.

    given: the tables that are filled with rows; by default those that rules read.
    """

    def __init__(self, filled: frozenset[str] = READ) -> None:
        super().__init__(memory=STORE_MEMORY, filled=filled)
        self.columns = {name: (TABLES | FACTS)[name].columns for name in filled}
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.late: dict[str, Callable[[], Iterable[tuple[Any, ...]]]] = {}
        self.buffered: dict[str, list[Any]] = {}
        self.buffered_bytes = 0
        self.files: dict[str, list[Path]] = {}  # with rows of each table, in order of arrival
        self.aged: dict[str, int] = {}  # rows of each table that the next call of `age` forgets, the first ones
        self.unjoined = 0  # IP fragments of incomplete datagrams
        self.nameless = False  # whether a row has a topic id without a name
        self.nameless_ids: set[str] = set()  # topic ids without a name in rows of partitions
        self.words: Words | None = None  # the numbers of texts; None while rows are few and hold the texts
        self.kinds_made: set[str] = set()  # kinds of texts that are ENUM types or tables in DuckDB
        self.views_made: list[str] = []  # views of texts with ENUM types
        self.announced: list[str] = []  # announced queries
        self.lean: dict[str, set[str]] = {}  # prepared tables with only some columns, by name; these columns
        self.before: dict[str, set[str]] = {}  # the columns of a table before it is made again with more

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        """Add a row."""
        rows = self.rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= ROWS:
            self.store(table)

    def put_late(self, tables: Mapping[str, Callable[[], Iterable[tuple[Any, ...]]]]) -> None:
        """Add functions that return the rows of rarely read tables; each is called when a query first reads its
        table.
        """
        self.late.update(tables)

    def put_batch(self, table: str, batch: Any) -> None:
        """Add a record batch of new rows."""
        self.add(table, batch)

    def add(self, table: str, batch: Any) -> None:
        """Add a record batch."""
        if table in OF_TOPICS and batch.column("topic").null_count:
            self.nameless = True
            if table != "record_batches":
                self.nameless_ids |= nameless_in(batch)
        self.buffer(table, batch if self.words is None else self.words.numbered(table, batch))
        if self.words is None and self.buffered_bytes >= SMALL:
            self.number()
        if self.buffered_bytes > MOST_BUFFERED:
            self.spill()

    def buffer(self, table: str, batch: Any) -> None:
        """Add a record batch to those in memory."""
        self.buffered.setdefault(table, []).append(batch)
        self.buffered_bytes += batch.nbytes

    def number(self) -> None:
        """Number the texts in the rows so far, and in all later rows."""
        self.words = Words()
        buffered, self.buffered, self.buffered_bytes = self.buffered, {}, 0
        for table, batches in buffered.items():
            for each in batches:
                self.buffer(table, self.words.numbered(table, each))

    def spill(self) -> None:
        """Write the rows in memory to Parquet files. DuckDB reads them in place, in little memory."""
        for table in [*self.buffered]:
            batches, files = self.in_memory(table), self.files.setdefault(table, [])
            del self.buffered[table]
            files.append(Path(self.folder.name) / f"{table}-{len(files)}.parquet")
            with silent_writer()(files[-1], batches[0].schema, **PLAIN) as file:
                for each in batches:
                    file.write_batch(each)
        self.buffered_bytes = 0

    def in_memory(self, table: str) -> list[Any]:
        """Return a table's record batches that are in memory, cast so that all have the same types."""
        batches = self.buffered.get(table, [])
        return batches if self.words is None else [*self.words.with_same_types(table, batches)]

    def batches(self, table: str) -> Iterator[Any]:
        """Yield the rows of a table as record batches."""
        if table in self.files:
            from pyarrow.parquet import ParquetFile

            for path in self.files[table]:
                yield from ParquetFile(path).iter_batches(ROWS)
        yield from self.buffered.get(table, ())

    def has(self, table: str) -> bool:
        """Return whether a table has rows."""
        return table in self.files or any(each.num_rows for each in self.buffered.get(table, ()))

    def choose_optimizer(self) -> None:
        """Switch DuckDB's optimizer off while rows are few, as it takes longer than it saves."""
        self.execute(f"SET enable_optimizer = {'false' if self.is_small else 'true'}")

    @property
    def is_small(self) -> bool:
        """Return whether the rows are few."""
        return self.words is None

    def expect(self, queries: Iterable[str]) -> list[str]:
        """Announce queries; see RuleTables."""
        self.announced += (found := in_turn(queries))
        return found

    def provide(self, sql: str) -> None:
        """Make the tables that a query reads; a table that lacks a column that it needs is made again. See
        RuleTables.
        """
        for table in self.lean.keys() & read_by(sql):
            if not needed_of(table, [sql]) <= self.lean[table]:
                self.before[table] = self.lean[table]
                self.drop(table)
        self.announced.append(sql)
        super().provide(sql)
        self.announced.remove(sql)

    def drop_unread(self, answered: str) -> None:
        """Drop tables that no announced query reads any more; see RuleTables."""
        if answered in self.announced:
            self.announced.remove(answered)
            for table in [each for each in self.lean if not needed_of(each, self.announced)]:
                self.drop(table)

    def drop(self, table: str) -> None:
        """Drop a prepared table. The next query that reads it makes it again."""
        self.execute(f"DROP TABLE {table}")
        self.made.discard(table)
        del self.lean[table]

    def suited(self, sql: str, table: str = "") -> str:
        """Return a query adapted to the way in which rows are stored; see RuleTables."""
        if self.words is None:
            return sql
        if table in LEAN:
            self.lean[table] = needed_of(table, self.announced) | self.before.pop(table, set())
            sql = with_columns(sql, self.lean[table])
        if table in OF_NUMBERED:
            sql = NAMED_ALREADY.sub(r"\1\2", sql)
            if table == "inner_clients" and "exchange_facts" in self.words.columns:
                return self.inner_of_numbers(sql)
        elif table == "link_ends":
            self.make_words("connection")
            return ENDS_OF_NUMBERS
        elif table == "topic_by_id":
            if not self.unnamed():
                sql = SAID_TOPICS  # every topic has a name in messages
            if self.is_typed("topic"):
                casts = ", ".join(f"CAST({each} AS topic_word) AS {each}" for each in TOPICS)
                sql = f"SELECT {casts} FROM ({sql}) AS named"
        if BY_ID in sql and self.is_typed("topic"):
            sql = sql.replace(TOPIC, TOPIC_OF_ID).replace(BY_ID, "")
        if NAMELESS_IDS in sql:
            self.make_nameless_ids()
            sql = sql.replace(NAMELESS_IDS, "nameless_ids")
        if UNTYPED.search(sql) and self.is_typed("client_id"):
            sql = UNTYPED.sub(r"coalesce(\1, CAST('' AS client_id_word))", sql)
        return SOURCES.sub(lambda at: at[0].replace(at[1], self.source_for(at[1], sql, at.start())), sql)

    def inner_of_numbers(self, sql: str) -> str:
        """Return the query of `inner_clients` over numbered rows: it groups by numbers, and then looks up the texts."""
        self.make("exchange_facts")
        rows = sql.replace("FROM exchange_facts", "FROM exchange_facts_rows")
        return self.with_texts(f"({rows})", {name: name for name in ("client_id", "address")})

    def source_for(self, table: str, sql: str, place: int) -> str:
        """Return the source that replaces a table with numbered rows in a query: a subquery with the texts that it
        needs. Make the table first. place: the position of the table's name in the query.
        """
        columns = self.words.columns.get(table) if self.words is not None else None
        if columns is None:
            return table
        self.make(table)  # an earlier table of the same query may have released it
        words = words_of(query_around(sql, place))
        needed = {name: kind for name, kind in columns.items() if name in words and name not in KEYS}
        return f"({self.with_texts(f'{table}_rows', needed, [each for each in columns if each not in KEYS])})"

    def with_texts(self, rows: str, kinds: Mapping[str, str], numbered: Iterable[str] = ()) -> str:
        """Return a query over numbered rows with the texts of some columns. kinds: the kind of text, by column.
        numbered: the columns of numbers to leave out, by default those of `kinds`; all others are kept.
        """
        listed = {name: f"getvariable('{kind}_words')[r.{name}]" for name, kind in kinds.items() if self.is_typed(kind)}
        joins = "".join(
            f" JOIN {kind}_words {name}_of ON r.{name} = {name}_of.number"
            for name, kind in kinds.items()
            if name not in listed
        )
        texts = "".join(f", {listed.get(name, f'{name}_of.word')} AS {name}" for name in kinds)
        left_out = ", ".join(numbered or kinds)
        return f"SELECT r.* EXCLUDE ({left_out}){texts} FROM {rows} r{joins}"

    def is_typed(self, kind: str) -> bool:
        """Return whether the texts of a kind are an ENUM type, and make it."""
        if self.words is None:
            return False
        self.make_words(kind)
        return kind not in KEYS and self.words.kinds[kind].size <= MOST_WORDS

    def make_words(self, kind: str) -> None:
        """Make, on first use, an ENUM type of a kind's texts, and a variable that lists them by number; or a table if
        they are too many.
        """
        assert self.words is not None
        if kind in self.kinds_made:
            return
        numbers = self.words.numbers(kind)
        for table, columns in TYPED.items():
            for name in (each for each in columns if kind_of_texts(each) == kind):
                for batch in self.batches(table):
                    numbers.of(batch.column(name))
        self.kinds_made.add(kind)
        if self.is_typed(kind):
            words = numbers.table().column("word").to_pylist()  # by number, from 0
            self.execute(f"SET VARIABLE {kind}_words = ?", sorted({*words}))
            self.execute(f"CREATE TYPE {kind}_word AS ENUM (SELECT unnest(getvariable('{kind}_words')))")
            self.execute(f"SET VARIABLE {kind}_words = CAST(? AS {kind}_word[])", words[1:])
            return
        self.connection.register("words_given", numbers.table())
        number = "USMALLINT" if numbers.kind.itemsize == 2 else "UINTEGER"
        self.execute(f"""
CREATE TABLE {kind}_words AS
SELECT CAST(number AS {number}) AS number, CASE WHEN number > 0 THEN word END AS word FROM words_given
""")
        self.connection.unregister("words_given")

    def topic_names(self) -> dict[str, str]:
        """Return {topic id: name} as messages state them."""
        rows = (row for batch in self.batches("topic_names") for row in batch.to_pylist())
        return {row["topic_id"]: row["topic"] for row in sorted(rows, key=itemgetter("learnt_ns"), reverse=True)}

    def unnamed(self) -> set[str]:
        """Return the topic ids in rows of partitions whose name no message states, and other traffic may tell."""
        return self.nameless_ids - self.topic_names().keys() - {METADATA_ID} if self.nameless_ids else set()

    def make_nameless_ids(self) -> None:
        """Make the table of topic ids that rows of partitions have without a name."""
        if "nameless_ids" not in self.made:
            kind = "topic_word" if self.is_typed("topic") else "VARCHAR"
            id_rows = batch_of_rows([(each,) for each in sorted(self.nameless_ids)], schema_of(ID))
            self.connection.register("ids_given", id_rows)
            self.execute(f"CREATE TABLE nameless_ids AS SELECT CAST(topic_id AS {kind}) AS topic_id FROM ids_given")
            self.connection.unregister("ids_given")
            self.made.add("nameless_ids")

    def may_be_nameless(self) -> bool:
        """Return whether a row has a topic id without a name; see RuleTables."""
        return self.nameless

    def flush(self) -> None:
        """Make record batches of the collected rows. Once some rows are in files, write all to files."""
        for table in [*self.rows]:
            self.store(table)
        if self.files:
            self.spill()
            give_back()

    def store(self, table: str) -> None:
        """Make a record batch of a table's collected rows."""
        if self.rows[table]:
            self.put_batch(table, batch_of_rows(self.rows[table], schema_of(self.columns[table])))
            self.rows[table] = []

    def load(self, table: str) -> None:
        """Register a table's rows in DuckDB; see RuleTables."""
        import pyarrow

        rows = f"{table}_given"
        if table in self.files:
            rows = files_sql(map(str, self.files[table]))
        else:
            batches = self.in_memory(table) or [self.late_rows(table)]
            self.connection.register(rows, pyarrow.Table.from_batches(batches))
        self.execute(f"CREATE VIEW {self.registered(table)} AS SELECT * FROM {rows}{self.condition_of(table)}")
        if self.words is not None and table in TYPED:
            kinds = {name: kind_of_texts(name) for name in TYPED[table]}
            casts = [f"CAST({name} AS {kind}_word) AS {name}" for name, kind in kinds.items() if self.is_typed(kind)]
            replaced = f"REPLACE ({', '.join(casts)})" if casts else ""
            self.execute(f"CREATE VIEW {table} AS SELECT * {replaced} FROM {table}_rows")
            self.views_made.append(table)

    def late_rows(self, table: str) -> Any:
        """Return a record batch of the rows that the table's function returns, or of none."""
        batch = batch_of_rows([*self.late.get(table, list)()], schema_of(self.columns[table]))
        return batch if self.words is None else self.words.numbered(table, batch)

    def registered(self, table: str) -> str:
        """Return the name under which DuckDB has the rows of a table."""
        return f"{table}_rows" if self.words is not None and (table in self.words.columns or table in TYPED) else table

    def make(self, table: str) -> None:
        """Make a table; see RuleTables."""
        fresh = table not in self.made
        super().make(table)
        if table == "topic_by_id" and fresh and self.is_typed("topic"):
            self.execute(TOPIC_IDS)

    def drop_tables(self) -> None:
        """Drop all prepared tables and views of rows; see RuleTables."""
        for view in self.views_made:
            self.execute(f"DROP VIEW {view}")
        for table in self.made:
            if table in self.filled:
                self.execute(f"DROP VIEW {self.registered(table)}")
                self.connection.unregister(f"{table}_given")
            else:
                self.execute(f"DROP {kind_of(table)} {table}")
        for each in (self.made, self.views_made, self.announced, self.lean):
            each.clear()

    def forget(self) -> None:
        """Drop all prepared tables and types, as more rows are to come."""
        self.drop_tables()
        for kind in self.kinds_made:
            self.execute(f"DROP TABLE IF EXISTS {kind}_words")
            self.execute(f"RESET VARIABLE {kind}_words")
            self.execute(f"DROP TYPE IF EXISTS {kind}_word")
        self.kinds_made.clear()

    def age(self) -> None:
        """Forget the rows of exchanges and connections from before the last call. Those since then are kept, and so are
        names of topics and the like. Prepared tables have to be forgotten before.
        """
        recent = {table: [*rows_from(self.aged.get(table, 0), self.batches(table))] for table in OF_TRAFFIC}
        for table in OF_TRAFFIC:
            self.buffered_bytes -= sum(each.nbytes for each in self.buffered.pop(table, ()))
            for path in self.files.pop(table, ()):
                path.unlink()
        words, self.words, self.nameless = self.words, None, False
        self.nameless_ids.clear()
        for table, batches in recent.items():
            self.aged[table] = sum(each.num_rows for each in batches)
            while batches:
                batch = batches.pop(0)
                self.add(table, batch if words is None else words.worded(table, batch))


def rows_from(first: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows of record batches from a number on."""
    for batch in batches:
        if first < batch.num_rows:
            yield batch.slice(first)
        first = max(first - batch.num_rows, 0)


def nameless_in(batch: Any) -> set[str]:
    """Return the topic ids in rows without a topic name."""
    import numpy
    import pyarrow

    topics, ids = (
        each if pyarrow.types.is_dictionary(each.type) else each.dictionary_encode()
        for each in (batch.column("topic"), batch.column("topic_id"))
    )
    places = numpy.frombuffer(ids.indices.buffers()[1], numpy.int32)[ids.indices.offset :][: len(ids)]
    nameless, missing = nulls_at(topics.indices, slice(None)), nulls_at(ids.indices, slice(None))
    known = ids.dictionary.to_pylist()
    used = places[nameless if missing is None else nameless & ~missing]
    return {known[place] for place in numpy.flatnonzero(numpy.bincount(used)).tolist()}
