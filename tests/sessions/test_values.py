import dataclasses

import pytest

from kcli.sessions.values import FetchRequest, FetchResponse, Position, Result


def test_values_stay_as_they_are() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        FetchRequest(0, 0).epoch = 1  # type: ignore[misc]
    assert FetchResponse() == FetchResponse(0, 0, {}, 0)


def test_what_is_not_said_is_minus_one() -> None:
    assert Position(5) == (5, -1, 1 << 20, -1, -1, -1)
    assert Result()[:3] == (-1, -1, -1)
