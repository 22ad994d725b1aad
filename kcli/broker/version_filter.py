"""Removes from a response the fields that its version lacks, so that handlers don't have to check the version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import is_
from typing import Any

from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field

VersionFilter = Callable[[dict[str, Any]], dict[str, Any]]


@lru_cache(maxsize=512)
def version_filter(message: str, version: int, dialect: str | None = None) -> VersionFilter:
    """Return a function that drops the fields of a message that this version lacks.

    A struct that needs no change is returned itself, not a copy. Raises SchemaError if the message has no such version.
    """
    messages.data(message, version, dialect)
    made = struct_filter(catalog(dialect).message(message).fields, version)
    return made.struct if made is not None else unchanged


def unchanged(value: dict[str, Any]) -> dict[str, Any]:
    return value


def struct_filter(fields: tuple[Field, ...], version: int) -> StructFilter | None:
    """Return the filter of a struct; None if this version lacks no field, at any depth."""
    present = [field for field in fields if version in field.versions or version in field.tagged]
    absent = frozenset(field.name for field in fields) - {field.name for field in present}
    inner = {field.name: struct_filter(field.fields, version) for field in present if field.is_struct}
    structs = {name: each for name, each in inner.items() if each is not None}
    return StructFilter(absent, structs) if absent or structs else None


class StructFilter:
    """A filter. absent: names of fields that the version lacks; structs: the filters of struct and array fields."""

    __slots__ = ("absent", "structs")

    def __init__(self, absent: frozenset[str], structs: Mapping[str, StructFilter]) -> None:
        self.absent, self.structs = absent, structs

    def struct(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a struct without the fields that this version lacks."""
        made = value
        if not self.absent.isdisjoint(value):
            made = value.copy()
            for name in self.absent:
                made.pop(name, None)
        for name, inner in self.structs.items():
            each = made.get(name)
            if each:
                kept = inner.struct(each) if isinstance(each, dict) else inner.array(each)
                if kept is not each:
                    made = made | {name: kept}
        return made

    def array(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows without the fields that this version lacks."""
        if not self.structs and all(map(self.absent.isdisjoint, rows)):
            return rows
        made = [self.struct(each) for each in rows]
        return rows if all(map(is_, made, rows)) else made
