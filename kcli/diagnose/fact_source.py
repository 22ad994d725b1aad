"""Reads captures into the tables of rules, in one pass."""

from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from kcli.capture.audit import ClientProfile
from kcli.capture.filters import ALL, Filter
from kcli.pipeline.rows.row_source import RowSource
from kcli.rules.rule_tables import READ


class Store(Protocol):
    """Takes rows."""

    def put(self, table: str, row: tuple[Any, ...]) -> None: ...
    def put_late(self, tables: Mapping[str, Callable[[], Iterable[tuple[Any, ...]]]]) -> None: ...
    def put_batch(self, table: str, batch: Any) -> None: ...
    def flush(self) -> None: ...


class FactSource(RowSource):
    """Reads captures and puts their rows into a store. options: see DecodeOptions."""

    by_day = False
    rows_at_once = 60_000  # a batch takes about 2 ms, however few its rows

    def __init__(
        self,
        paths: Sequence[str],
        store: Store,
        chosen_columns: Mapping[str, Container[str]] | None = None,
        wanted: frozenset[str] = READ,
        chosen: Filter = ALL,
        **options: Any,
    ) -> None:
        """Prepare to read. chosen_columns: the columns to make, of tables that need not be whole. wanted: the tables to
        fill. chosen: the exchanges to make rows of.
        """
        self.store, self.chosen_columns = store, chosen_columns or {}
        super().__init__(self.put_row, wanted, self.put_columns, paths, chosen, **options)

    @property
    def has_rows(self) -> bool:
        """Return whether there are rows of exchanges or events."""
        return bool(self.rows.exchanges or self.rows.events)

    def put_row(self, table: str, row: tuple[Any, ...]) -> None:
        """Put a row into the store, if its table is wanted."""
        if table in self.wanted_tables:
            self.store.put(table, row)

    def put_columns(self, table: str, _day: int, batch: Any, _nameless: bool) -> None:
        """Put a record batch into the store, if its table is wanted."""
        if table in self.wanted_tables:
            self.store.put_batch(table, batch)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files piece by piece. InputError at the end for damaged files."""
        try:
            yield from super().read(moved)
        finally:
            self.put_all(last=True)

    def put_all(self, last: bool = False) -> None:
        """Put the rows so far into the store. last: also rows that more packets might complete. The store calls
        functions for the rows of software and versions when a query reads these.
        """
        self.flush(last)
        self.store.flush()
        profiles, name_of = self.rows.uses.profiles, self.bodies.name
        self.store.put_late({"software": partial(software, profiles), "offers": partial(offers, profiles, name_of)})


def software(profiles: Mapping[str, ClientProfile]) -> Iterable[tuple[Any, ...]]:
    """Yield the rows of `software`. profiles: client profiles by connection."""
    for link, profile in profiles.items():
        if profile.software:
            yield link.partition("-")[2], profile.software, profile.version


def offers(profiles: Mapping[str, ClientProfile], name_of: Callable[[int], str | None]) -> Iterable[tuple[Any, ...]]:
    """Yield the rows of `offers`. profiles: client profiles by connection; name_of: returns the name of an API."""
    distinct = {(link.partition("-")[0], id(profile)): profile for link, profile in profiles.items()}
    for server, key, newest in sorted(
        {(server, *each) for (server, _), profile in distinct.items() for each in profile.offered.items()}
    ):
        yield server, name_of(key) or str(key), newest
