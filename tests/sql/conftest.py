"""What the tests of `kcli sql` ask with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.nothing import NothingReadError
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs

Rows = list[dict[str, Any]]


@pytest.fixture
def ask() -> Callable[..., Rows]:
    """ask(query, *paths, **options): the rows, also of captures without an exchange (see tests/cli/test_nothing.py)."""
    pytest.importorskip("duckdb")

    def rows(query: str, *paths: Path | str, **options: Any) -> Rows:
        found: Rows = []
        inputs = sort_inputs([str(path) for path in paths])
        with suppress(NothingReadError), open_engine(inputs, options) as engine, engine.answer(query) as reader:
            found = reader.read_all().to_pylist()
        return found

    return rows
