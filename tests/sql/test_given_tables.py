"""All tables are there, whatever was given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.tables.captured import CAPTURED


@pytest.mark.parametrize("name", CAPTURED)
def test_each_table_can_be_asked_of_each_input(name: str, samples: Path, ask: Callable[..., Any]) -> None:
    filled = {
        "ipv6.pcapng": {"exchanges", "connections", "groups", "hourly", "records"},
        "orders-0": {"records"},
        "__cluster_metadata-0": {"metadata"},
    }
    for given, tables in filled.items():
        (row,) = ask(f"SELECT count(*) AS n, count(DISTINCT file) AS files FROM {name}", samples / given)
        assert (row["n"] > 0) == (name in tables) and (row["files"] > 0) == (name in tables), given
