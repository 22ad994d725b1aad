"""What the kernel selects; that it reads by it what the grammar reads is in tests/core/test_fetches.py."""

from __future__ import annotations

import pytest

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
