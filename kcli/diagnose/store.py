"""The tables of facts while captures are read: rows in memory, or in files that queries read where they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from kcli.address_space import give_back
from kcli.diagnose.lean import LEAN, in_turn, needed_of, read_by, with_columns, words_of
from kcli.diagnose.words import KEYS, MOST_WORDS, Words, kind_of_texts
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.rules.prepared import BY_ID, PREPARED, TOPIC, ends_sql
from kcli.rules.rule_tables import LARGEST, READ, RuleTables, kind_of, query_around
from kcli.tables.arrays import batch_of_rows, nulls_at
from kcli.tables.call_views import NAMELESS_IDS, SAID_TOPICS
from kcli.tables.definition import Column, schema_of
from kcli.tables.duckdb_engine import SOURCES, STORE_MEMORY

SMALL = 1 << 22  # bytes of rows: fewer are read faster than a query over them is optimized, or words are numbered
ROWS = 50_000  # of a table that wait to be put in at once
# Rows in memory while captures are read: those of 400 MB of small requests, as files cost a tenth of the time. Of more
# rows all go to files, which queries read where they are. After that DuckDB has room for the tables of as many.
HELD = 192 << 20  # bytes

# Tables of topics by name and by id.
OF_TOPICS = ("fetch_partitions", "produce_partitions", "record_batches")
# Prepared tables of the largest ones, and texts in their SQL that numbered rows make unnecessary.
OF_NUMBERED = ("calls", "fetched", "produced", "batches", "inner_clients")
NAMED_ALREADY = re.compile(r"coalesce\((\w+\.)?(client_id|api), (?:''|concat\('API ', api_key\))\)")
# Texts in other queries that make a client id of its own type a text again.
UNTYPED = re.compile(r"coalesce\(((?:\w+\.)?client_id), ''\)")
ENDS_OF_NUMBERS = f"SELECT number AS connection, {ends_sql('word')} FROM connection_words WHERE number > 0"
# The name of each topic id by its place in the type of both, and how a query has it without a join.
TOPIC_IDS = """
SET VARIABLE topics_by_id = (
  SELECT list(t.topic ORDER BY w.word)
  FROM (SELECT CAST(unnest(enum_range(CAST(NULL AS topic_word))) AS topic_word) AS word) AS w
  LEFT JOIN topic_by_id t ON t.topic_id = w.word
)
"""
TOPIC_OF_ID = TOPIC.replace("t.topic", "getvariable('topics_by_id')[enum_code(CAST(p.topic_id AS topic_word)) + 1]")
# Columns of other tables whose texts have a type of their own, as in numbered rows, so that the two compare.
TOPICS = ("topic", "topic_id")
ID = [Column("topic_id", "string", "")]
TYPED = {"topic_names": TOPICS} | {
    name: tuple(each for each in ("client_id", "group_id", "member_id", "topic") if each in table.names)
    for name, table in FACTS.items()
    if name.endswith("_said")
}
# Tables that grow with the traffic.
OF_TRAFFIC = (
    "exchange_facts", "fetch_partitions", "produce_partitions", "record_batches", "undecodable", "called", "tcp",
)  # fmt: skip


class FactStore(RuleTables):
    """Takes rows of tables, and answers queries over them; close it when done. Raises UsageError if DuckDB is missing.

    given: the tables whose rows it takes, those that rules read unless more is asked of it.
    """

    def __init__(self, given: frozenset[str] = READ) -> None:
        super().__init__(memory=STORE_MEMORY, given=given)
        self.columns = {name: (TABLES | FACTS)[name].columns for name in given}
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.late: dict[str, Callable[[], Iterable[tuple[Any, ...]]]] = {}
        self.held: dict[str, list[Any]] = {}
        self.held_bytes = 0
        self.files: dict[str, list[Path]] = {}  # with rows of each table, in the order that they came
        self.unjoined = 0  # IP fragments whose datagram is not whole
        self.nameless = False  # whether a row has a topic by its id alone
        self.nameless_ids: set[str] = set()  # of partitions
        self.words: Words | None = None  # the numbers of texts; None: rows are few, and have the texts
        self.kinds_made: set[str] = set()  # of texts
        self.views_made: list[str] = []  # of tables that messages say
        self.awaited: list[str] = []  # queries
        self.lean: dict[str, set[str]] = {}  # tables without columns that nobody was to read, with those that they have
        self.before: dict[str, set[str]] = {}  # the same of a table that is to have more

    def put(self, table: str, row: tuple[Any, ...]) -> None:
        """Take a row."""
        rows = self.rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= ROWS:
            self.store(table)

    def put_late(self, tables: Mapping[str, Callable[[], Iterable[tuple[Any, ...]]]]) -> None:
        """Take what gives the rows of tables that few read; it is called when one does."""
        self.late.update(tables)

    def put_batch(self, table: str, batch: Any) -> None:
        """Take a record batch. Columns of the largest tables may be parts of more memory, or of such that the next one
        takes."""
        import pyarrow

        if table in OF_TOPICS and batch.column("topic").null_count:
            self.nameless = True
            if table != "record_batches":
                self.nameless_ids |= nameless_in(batch)
        if self.words is not None and table in LARGEST:
            batch = self.words.numbered(table, batch)
        elif table in LARGEST:
            batch = batch.copy_to(pyarrow.default_cpu_memory_manager())
        self.hold(table, batch)
        if self.words is None and self.held_bytes >= SMALL:
            self.number()
        if self.held_bytes > HELD:
            self.spill_held()

    def hold(self, table: str, batch: Any) -> None:
        """Hold rows in memory."""
        self.held.setdefault(table, []).append(batch)
        self.held_bytes += batch.nbytes

    def number(self) -> None:
        """Number the texts of rows from here on, and of those that came."""
        self.words = Words()
        for table in LARGEST:
            batches = self.held.pop(table, [])
            self.held_bytes -= sum(each.nbytes for each in batches)
            for each in batches:
                self.hold(table, self.words.numbered(table, each))

    def spill_held(self) -> None:
        """Write the rows that are held to files: as they are, with each text once a batch."""
        import pyarrow

        for table in [*self.held]:
            batches, files = self.held.pop(table), self.files.setdefault(table, [])
            files.append(Path(self.folder.name) / f"{table}-{len(files)}.arrows")
            batches = [*self.alike(table, batches)]
            with pyarrow.OSFile(str(files[-1]), "wb") as file, pyarrow.ipc.new_stream(file, batches[0].schema) as out:
                for each in batches:
                    out.write_batch(each)
        self.held_bytes = 0

    def alike(self, table: str, batches: Iterable[Any]) -> Iterable[Any]:
        """Return rows of a table that all have the same types."""
        return batches if self.words is None or table not in self.words.columns else self.words.alike(table, batches)

    def batches(self, table: str) -> Iterator[Any]:
        """Yield the rows of a table as record batches."""
        import pyarrow

        for path in self.files.get(table, ()):
            yield from pyarrow.ipc.open_stream(pyarrow.memory_map(str(path)))
        yield from self.held.get(table, ())

    def has(self, table: str) -> bool:
        """Return whether captures gave a row of a table."""
        return table in self.files or any(each.num_rows for each in self.held.get(table, ()))

    def suit(self) -> None:
        """Let DuckDB optimize queries where there are rows enough: else that takes longer than it saves."""
        self.execute(f"SET enable_optimizer = {'false' if self.is_small else 'true'}")

    @property
    def is_small(self) -> bool:
        """Return whether there are few rows."""
        return self.words is None

    def expect(self, queries: Iterable[str]) -> list[str]:
        """Note queries to come; see RuleTables."""
        self.awaited += (found := in_turn(queries))
        return found

    def provide(self, sql: str) -> None:
        """Make the tables that a query reads, and those anew that lack a column of it; see RuleTables."""
        for table in self.lean.keys() & read_by(sql):
            if not needed_of(table, [sql]) <= self.lean[table]:
                self.before[table] = self.lean[table]
                self.drop(table)
        self.awaited.append(sql)
        super().provide(sql)
        self.awaited.remove(sql)

    def answer(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the answer to a query; see RuleTables."""
        found = super().answer(sql)
        self.release()
        return found

    def drop_unread(self, answered: str) -> None:
        """Drop tables that no query to come is to read; see RuleTables."""
        if answered in self.awaited:
            self.awaited.remove(answered)
            for table in [each for each in self.lean if not needed_of(each, self.awaited)]:
                self.drop(table)

    def drop(self, table: str) -> None:
        """Drop a prepared table, which is made anew for the next query that reads it."""
        self.execute(f"DROP TABLE {table}")
        self.made.discard(table)
        del self.lean[table]

    def suited(self, sql: str, table: str = "") -> str:
        """Return a query as it is asked of the rows there are; see RuleTables."""
        if self.words is None:
            return sql
        if table in LEAN:
            self.lean[table] = needed_of(table, self.awaited) | self.before.pop(table, set())
            sql = with_columns(sql, self.lean[table])
        if table in OF_NUMBERED:
            sql = NAMED_ALREADY.sub(r"\1\2", sql)
            if table == "inner_clients" and self.has_one_number("exchange_facts", "client_id", "address"):
                return self.inner_of_numbers(sql)
        elif table == "link_ends":
            self.make_words("connection")
            return ENDS_OF_NUMBERS
        elif table == "topic_by_id":
            if not self.unnamed():
                sql = SAID_TOPICS  # there is none to look for
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

    def has_one_number(self, table: str, *kinds: str) -> bool:
        """Return whether a table is numbered, and each text of these kinds has one number alone."""
        assert self.words is not None
        return table in self.words.columns and not any(self.words.numbers(each).packed for each in kinds)

    def inner_of_numbers(self, sql: str) -> str:
        """Return the query of `inner_clients` over numbers of texts: rows are put together before they have texts."""
        self.make("exchange_facts")
        rows = sql.replace("FROM exchange_facts", "FROM exchange_facts_rows")
        return self.with_texts(f"({rows})", {name: name for name in ("client_id", "address")})

    def source_for(self, table: str, sql: str, place: int) -> str:
        """Return what a query reads in place of a table with numbered rows, and make it: with the texts that it needs.
        place: of the table in the query."""
        columns = self.words.columns.get(table) if self.words is not None else None
        if columns is None:
            return table
        self.make(table)  # what was made for the same query may have released it
        words = words_of(query_around(sql, place))
        needed = {name: kind for name, kind in columns.items() if name in words and name not in KEYS}
        return f"({self.with_texts(f'{table}_rows', needed, [each for each in columns if each not in KEYS])})"

    def with_texts(self, rows: str, kinds: Mapping[str, str], numbered: Iterable[str] = ()) -> str:
        """Return a query over numbered rows that has the texts of some columns, and all that are not `numbered`. kinds:
        by column."""
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
        """Return whether texts of a kind are a type of their own, and make them."""
        if self.words is None:
            return False
        if kind not in self.kinds_made:
            self.make_words(kind)
        return kind not in KEYS and self.words.kinds[kind].size <= MOST_WORDS

    def make_words(self, kind: str) -> None:
        """Make a type of a kind's texts, and list them by number in a variable; in a table where they are too many."""
        assert self.words is not None
        numbers = self.words.numbers(kind)
        for table, columns in TYPED.items():
            for name in (each for each in columns if kind_of_texts(each) == kind):
                for batch in self.batches(table):
                    numbers.numbers_of([each for each in batch.column(name).to_pylist() if each])
        self.kinds_made.add(kind)
        if self.is_typed(kind):
            words = numbers.table().column("word").to_pylist()  # by number, from 0 on
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

    def said_topics(self) -> dict[str, str]:
        """Return the topics that messages name, by their ids."""
        rows = (row for batch in self.batches("topic_names") for row in batch.to_pylist())
        return {row["topic_id"]: row["topic"] for row in sorted(rows, key=itemgetter("learnt_ns"), reverse=True)}

    def unnamed(self) -> set[str]:
        """Return the ids of topics that partitions have without a name, and that no message names."""
        return self.nameless_ids - self.said_topics().keys() if self.nameless_ids else set()

    def make_nameless_ids(self) -> None:
        """Make the table of the ids of topics that partitions have without a name."""
        if "nameless_ids" not in self.made:
            kind = "topic_word" if self.is_typed("topic") else "VARCHAR"
            given = batch_of_rows([(each,) for each in sorted(self.nameless_ids)], schema_of(ID))
            self.connection.register("ids_given", given)
            self.execute(f"CREATE TABLE nameless_ids AS SELECT CAST(topic_id AS {kind}) AS topic_id FROM ids_given")
            self.connection.unregister("ids_given")
            self.made.add("nameless_ids")

    def may_be_nameless(self) -> bool:
        """Return whether topics are known by their ids alone; see RuleTables."""
        return self.nameless

    def flush(self) -> None:
        """Put in what waits. Where rows have gone to files, all do."""
        for table in [*self.rows]:
            self.store(table)
        if self.files:
            self.spill_held()
            give_back()

    def store(self, table: str) -> None:
        """Put the rows that wait into their table."""
        if self.rows[table]:
            self.put_batch(table, batch_of_rows(self.rows[table], schema_of(self.columns[table])))
            self.rows[table] = []

    def load(self, table: str) -> None:
        """Make a table that captures give."""
        import pyarrow

        if table in self.late:
            self.rows[table] = [*self.late.pop(table)()]
            self.store(table)
        given = [*self.alike(table, self.batches(table))] or [batch_of_rows([], schema_of(self.columns[table]))]
        if self.words is not None and table not in self.words.columns:
            given = [*map(self.words.keyed, given)]
        rows = pyarrow.Table.from_batches(given)
        column, unread = self.unread_of(table)
        if unread:
            rows = without(rows, column, unread, where_they_are=table in self.files)
        self.connection.register(self.registered(table), rows)
        if self.words is not None and table in TYPED:
            kinds = {name: kind_of_texts(name) for name in TYPED[table]}
            casts = [f"CAST({name} AS {kind}_word) AS {name}" for name, kind in kinds.items() if self.is_typed(kind)]
            replaced = f"REPLACE ({', '.join(casts)})" if casts else ""
            self.execute(f"CREATE VIEW {table} AS SELECT * {replaced} FROM {table}_rows")
            self.views_made.append(table)

    def registered(self, table: str) -> str:
        """Return the name of a table that captures give, as DuckDB has it."""
        return f"{table}_rows" if self.words is not None and (table in self.words.columns or table in TYPED) else table

    def make(self, table: str) -> None:
        """Make a table; see RuleTables."""
        fresh = table not in self.made
        super().make(table)
        if table == "topic_by_id" and fresh and self.is_typed("topic"):
            self.execute(TOPIC_IDS)
        if table in PREPARED:
            self.release()

    def release(self) -> None:
        """Map files of numbered rows no longer into memory: whoever reads them next does so anew."""
        for table in self.made & self.words.columns.keys() if self.files and self.words is not None else ():
            self.connection.unregister(self.registered(table))
            self.made.discard(table)

    def forget(self) -> None:
        """Give up what was prepared, for rows that are still to come."""
        for view in self.views_made:
            self.execute(f"DROP VIEW {view}")
        for table in self.made:
            if table in self.given:
                self.connection.unregister(self.registered(table))
            else:
                self.execute(f"DROP {kind_of(table)} {table}")
        self.made.clear()
        for kind in self.kinds_made:
            self.execute(f"DROP TABLE IF EXISTS {kind}_words")
            self.execute(f"RESET VARIABLE {kind}_words")
            self.execute(f"DROP TYPE IF EXISTS {kind}_word")
        for each in (self.views_made, self.kinds_made, self.awaited, self.lean):
            each.clear()

    def empty(self) -> None:
        """Give up the rows of exchanges and connections, for those that are still to come. Names stay known."""
        for table in OF_TRAFFIC:
            self.held_bytes -= sum(each.nbytes for each in self.held.pop(table, ()))
            for path in self.files.pop(table, ()):
                path.unlink()
        self.words, self.nameless = None, False
        self.nameless_ids.clear()


def without(rows: Any, name: str, values: Collection[Any], *, where_they_are: bool) -> Any:
    """Return the rows of a table that have none of these values in a column. where_they_are: read them without a copy,
    anew for each query.
    """
    import pyarrow
    from pyarrow import compute, dataset

    kind = rows.schema.field(name).type
    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    wanted = ~compute.field(name).cast(kind).isin(pyarrow.array([*values], kind))
    return dataset.dataset(rows).filter(wanted) if where_they_are else rows.filter(wanted)


def nameless_in(batch: Any) -> set[str]:
    """Return the ids of topics whose names rows lack."""
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
