"""The Kaitai specification by itself; tests/real/test_kaitai.py has it compiled."""

import re
from pathlib import Path

import pytest
import yaml

from kcli.schemas.catalog import catalog
from kcli.schemas.export.kaitai import identifier, kaitai
from tests.greeting import greeting


@pytest.mark.parametrize(
    ("name", "snake"),
    [("maxWaitMs", "max_wait_ms"), ("FetchRequest", "fetch_request"), ("kRaftVersion", "k_raft_version"),
     ("DescribeAclsRequest", "describe_acls_request"), ("9é", "x_9_")],
)  # fmt: skip
def test_names_are_identifiers(name: str, snake: str) -> None:
    assert identifier(name) == snake
    assert re.fullmatch("[a-z][a-z0-9_]*", snake)


def test_a_draft_is_in_it(tmp_path: Path) -> None:
    tables = catalog(greeting(tmp_path))
    types = yaml.load("\n".join(kaitai(tables)), Loader=yaml.CSafeLoader)["types"]
    body = next(each for each in types["request"]["seq"] if each["id"] == "body")
    assert body["type"]["cases"][30100] == "greet_request(api_version)"
    assert types["greet_request"]["seq"] == [
        {"id": "name", "type": "text(true)"},
        {"id": "num_times", "type": "count(true)", "if": "version >= 1"},
        {"id": "times", "type": "s4", "repeat": "expr", "repeat-expr": "num_times.value < 0 ? 0 : num_times.value",
         "if": "version >= 1"},
        {"id": "tagged_fields", "type": "unknown_tags"},
    ]  # fmt: skip
