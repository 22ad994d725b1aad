"""The facts, of which some tables are made."""

from kcli.pipeline.entry import published
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES


def test_facts_are_no_tables_and_lie_apart() -> None:
    assert not FACTS.keys() & TABLES.keys()
    for name, table in FACTS.items():
        assert not table.dated
        assert published(3, {"table": name, "day": None, "path": "x/y"}) == f"_kcli/facts/{name}/00000003-y"
