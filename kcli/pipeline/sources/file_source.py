"""The common part of the data sources: paths, options, columns, and rows as Arrow batches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.errors import InputError, UsageError
from kcli.extras import require
from kcli.jsontext import loads
from kcli.pipeline.sources.pushdown import Test, split
from kcli.pipeline.storage import CAPTURES, StoredFile, gather

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ModuleNotFoundError:
    require("a data source of kcli", "spark")
    raise

ROWS = 5_000  # in an Arrow batch


ARROW = {"timestamp": ("us", "UTC")}


Column = tuple[str, str]  # name, Spark's type


class Input(InputPartition):
    """The input of one task."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)


def shows_secrets(options: Mapping[str, str]) -> bool:
    """Return the option `secrets` = "true": else passwords, keys and tokens are left out."""
    return options.get("secrets", "").lower() == "true"


class KcliSource(DataSource):
    """The common part of the sources: paths, options, columns. Subclasses say `columns`, `suffixes` and `reading`."""

    columns: Sequence[Column] = ()
    suffixes: tuple[str, ...] = CAPTURES

    def schema(self) -> str:
        return ", ".join(f"`{name}` {kind}" for name, kind in self.chosen())

    def chosen(self) -> list[Column]:
        """Return the columns that are asked for, all without the option."""
        names = self.options.get("columns")
        if not names:
            return list(self.columns)
        known = dict(self.columns)
        wanted = [name.strip() for name in names.split(",")]
        for name in wanted:
            if name not in known:
                raise UsageError(f"{name}: no such column of {self.name()} (there are: {', '.join(known)})")
        return [(name, known[name]) for name in wanted]

    def files(self) -> list[StoredFile]:
        """Return the files of the option `path`. Raises UsageError without it, InputError: no such file."""
        path, paths = self.options.get("path"), self.options.get("paths")
        if not path and not paths:
            raise UsageError(f"{self.name()} needs a path: .load(path)")
        return gather([each for text in (path, paths) if text for each in listed(text)], self.suffixes)

    def reader(self, schema: Any) -> FileReader:
        names = [field.name for field in schema.fields]
        return (FilteringReader if self.options.get("pushdown") == "true" else FileReader)(self, names)

    # For subclasses

    def inputs(self) -> list[Any]:
        """Return the input of each task."""
        return list(self.files())

    def rows(self, task: Any, wanted: frozenset[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a task, all columns; a column that is not wanted may be None."""
        raise NotImplementedError


def listed(text: str) -> list[str]:
    """Return the paths of an option: a JSON array, as Spark writes several, or with commas."""
    if text.startswith("["):
        with contextlib.suppress(InputError):
            made = loads(text)
            if isinstance(made, list) and all(isinstance(each, str) for each in made):
                return made
    return text.split(",")


class FileReader(DataSourceReader):
    """Rows of a source as Arrow batches of the columns that are wanted."""

    def __init__(self, source: KcliSource, wanted: Sequence[str]) -> None:
        self.source, self.wanted = source, list(wanted)
        self.tests: list[Test] = []
        self.filtered: set[str] = set()

    def partitions(self) -> Sequence[InputPartition]:
        return [Input(each) for each in self.source.inputs()] or [Input(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if partition.value is None:
            return
        rows: list[tuple[Any, ...]] = []
        tests = self.tests
        for row in self.source.rows(partition.value, frozenset(self.wanted) | self.filtered):
            if all(test(row) for test in tests):
                rows.append(row)
            if len(rows) >= ROWS:
                yield self.batch(rows)
                rows = []
        if rows:
            yield self.batch(rows)

    def batch(self, rows: list[tuple[Any, ...]]) -> Any:
        """Return these rows as an Arrow batch of the wanted columns."""
        import pyarrow

        names = [name for name, _ in self.source.columns]
        kinds = dict(self.source.columns)
        by_name = dict(zip(names, zip(*rows, strict=True), strict=True))
        arrays = [pyarrow.array(by_name[name], arrow_type(kinds[name])) for name in self.wanted]
        return pyarrow.record_batch(arrays, names=self.wanted)


class FilteringReader(FileReader):
    """One that takes filters. Spark refuses a reader with this method where its own setting is off."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - the API's name
        names = [name for name, _ in self.source.columns]
        self.tests, rest = split(filters, names)
        self.filtered = {names[test.index] for test in self.tests if hasattr(test, "index")}
        return rest


def arrow_type(kind: str) -> Any:
    """Return Arrow's type of one of Spark's."""
    import pyarrow

    if kind == "timestamp":
        return pyarrow.timestamp("us", "UTC")
    if kind.startswith("array<"):
        return pyarrow.list_(arrow_type(kind[6:-1]))
    if kind.startswith("map<"):
        key, _, value = kind[4:-1].partition(",")
        return pyarrow.map_(arrow_type(key.strip()), arrow_type(value.strip()))
    names: dict[str, Callable[[], Any]] = {
        "string": pyarrow.string, "binary": pyarrow.binary, "boolean": pyarrow.bool_, "tinyint": pyarrow.int8,
        "smallint": pyarrow.int16, "int": pyarrow.int32, "bigint": pyarrow.int64, "double": pyarrow.float64,
    }  # fmt: skip
    return names[kind]()
