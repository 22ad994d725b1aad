"""Response values cut to what their version has, so that a handler says everything and need not ask for versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field

__all__ = ["shape"]

Shaper = Callable[[dict[str, Any]], dict[str, Any]]


def shape(api_key: int, version: int, value: dict[str, Any], dialect: str | None = None) -> dict[str, Any]:
    """The value without the fields that this version of the response lacks, at any depth."""
    return shaper(catalog(dialect).known(api_key).response, version, dialect)(value)


@lru_cache(maxsize=512)
def shaper(name: str, version: int, dialect: str | None) -> Shaper:
    messages.data(name, version, dialect)  # SchemaError: no such version
    return of_fields(catalog(dialect).message(name).fields, version)


def of_fields(fields: tuple[Field, ...], version: int) -> Shaper:
    here = [field for field in fields if version in field.versions or version in field.tagged]
    inner: Mapping[str, Shaper | None] = {
        field.name: of_fields(field.fields, version) if field.is_struct else None for field in here
    }

    def cut(value: dict[str, Any]) -> dict[str, Any]:
        made = {}
        for name, each in value.items():
            if name not in inner:
                continue
            into = inner[name]
            if into is None or each is None:
                made[name] = each
            elif isinstance(each, dict):
                made[name] = into(each)
            else:
                made[name] = [into(one) for one in each]
        return made

    return cut
