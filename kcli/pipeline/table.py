"""What a table is: its name, what it says, and its columns, each with a type and a comment."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WHO", "Column", "Table", "define"]

# The columns that all tables of exchanges begin with.
WHO = """
timestamp      instant  when the request's last packet was captured
connection     string   "server-client", each as address:port
server         string   the broker's end
client         string   the client's end
client_id      string   from the request's header
correlation_id int32    of request and response
api_version    int16    of request and response
"""


@dataclass(frozen=True, slots=True)
class Column:
    """kind: an Arrow type by name, "instant" or "strings"."""

    name: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """dated: partitioned by the UTC date of `timestamp`, as a folder `date=2026-11-21`."""

    name: str
    text: str
    columns: tuple[Column, ...]
    dated: bool = True

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


def columns(text: str) -> tuple[Column, ...]:
    """One a line: name, kind, what it says."""
    rows = [line.split(None, 2) for line in text.splitlines() if line]
    return tuple(Column(name, kind, says) for name, kind, says in rows)


def define(tables: dict[str, Table], name: str, text: str, *parts: str, dated: bool = True) -> None:
    """Add a table to `tables`. parts: its columns, one a line."""
    tables[name] = Table(name, text, columns("".join(parts)), dated)
