"""Topic names by id, in the core's table and in its twin."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.capture.kafka.names import PlainNames, new_names


@pytest.mark.parametrize("make", [PlainNames, new_names])
def test_both_tables_have_the_same_verbs(make: Any) -> None:
    names, uuid = make(), bytes(range(16))
    assert names.get(uuid) is None and len(names) == 0
    names.learn(uuid, 'größe "x"')
    assert names.get(uuid) == '"größe \\"x\\""' and len(names) == 1


@pytest.mark.parametrize("make", [PlainNames, new_names])
def test_zero_is_nobodys_id(make: Any) -> None:
    names = make()
    names.learn(bytes(16), "orders")
    assert names.get(bytes(16)) is None and len(names) == 0
