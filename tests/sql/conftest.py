"""What the tests of `kcli sql` ask with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.sql.inputs import sort_inputs
from kcli.sql.tables import open_engine

Rows = list[dict[str, Any]]


@pytest.fixture
def ask() -> Callable[..., Rows]:
    """ask(query, *paths, **options): the rows."""
    pytest.importorskip("duckdb")

    def rows(query: str, *paths: Path | str, **options: Any) -> Rows:
        with open_engine(sort_inputs([str(path) for path in paths]), options) as engine, engine.answer(query) as reader:
            found: Rows = reader.read_all().to_pylist()
        return found

    return rows
