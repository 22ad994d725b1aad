"""Layouts for the kernel; that it reads by them what the grammar reads is in tests/core/test_fetches.py."""

from __future__ import annotations

import pytest

from kcli.schemas.catalog import catalog
from kcli.sessions.columns import ASKED, TOLD, layout


@pytest.mark.parametrize("version", range(7, 19))
def test_every_version_with_sessions_has_a_layout(version: int) -> None:
    made = layout(version)
    assert made is not None
    flexible, request, response = made
    assert flexible == (version >= 12)
    for side, names in ((request, ASKED), (response, TOLD)):
        columns = {column for kind, _, column in side[2] if kind != 6 and column >= 0}
        missing = {name for name, column in names.items() if column not in columns}
        later = {"currentLeaderEpoch": 9, "lastFetchedEpoch": 12, "preferredReadReplica": 11}
        assert missing == {name for name, since in later.items() if name in names and version < since}


def test_versions_without_sessions_have_none() -> None:
    assert [layout(version) for version in (-1, 0, 6, 99)] == [None] * 4
    assert 18 in catalog().message("FetchRequest").versions
