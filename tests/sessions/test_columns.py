"""What the kernel selects; that it reads by it what the grammar reads is in tests/core/sessions/test_fetches.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.schema_views import definition
from kcli.core import COMPILED
from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.sessions.columns import REQUEST, RESPONSE, layout

SINCE = {"currentLeaderEpoch": 9, "lastFetchedEpoch": 12, "preferredReadReplica": 11, "_tags": 12, "replicaState": 15}


@pytest.mark.skipif(not COMPILED, reason="the core is not built")
@pytest.mark.parametrize("version", range(7, 19))
def test_every_version_with_sessions_has_a_layout(version: int) -> None:
    made = layout(version)
    assert made is not None
    assert made[2] == (version >= 13)
    for paths, message in ((REQUEST, messages.request(1, version)), (RESPONSE, messages.response(1, version))):
        selection = message.select(paths)
        for path in paths:
            missing = {name for name, since in SINCE.items() if name in path and version < since}
            if not path.endswith("[]") and path != "replicaId?":
                assert (selection.place(path).type == "missing") == bool(missing), path


def test_versions_without_sessions_have_none() -> None:
    assert [layout(version) for version in (-1, 0, 6, 99)] == [None] * 4
    assert 18 in catalog().message("FetchRequest").versions


@pytest.mark.skipif(not COMPILED, reason="the core is not built")
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("partition", {"type": "string"}),
        ("fetchOffset", {"type": "uuid"}),
        ("fetchOffset", {"taggedVersions": "12+", "tag": 9}),
    ],
)
def test_a_dialect_whose_rows_are_of_another_shape_has_none(
    field: str, change: dict[str, object], tmp_path: Path
) -> None:
    fetch: dict[str, Any] = json.loads(json.dumps(definition(catalog().message("FetchRequest"), None)))
    fields = fetch["fields"]
    for name in ("topics", "partitions"):
        fields = next(each for each in fields if each["name"].lower() == name)["fields"]
    wanted = next(each for each in fields if each["name"].lower() == field.lower())
    wanted.pop("default", None)
    wanted |= change
    (tmp_path / "FetchRequest.json").write_text(json.dumps(fetch))
    assert layout(12) is not None
    assert layout(12, str(tmp_path)) is None
