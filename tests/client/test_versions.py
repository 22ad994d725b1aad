import pytest

from kcli.client.handshake import ApiVersions
from kcli.errors import NetworkError, UsageError
from kcli.schemas.apikeys import FETCH, LIST_OFFSETS, METADATA, PRODUCE
from kcli.schemas.catalog import catalog


def versions(low: int, high: int) -> ApiVersions:
    return ApiVersions(
        "broker b:1", {"errorCode": 0, "apiKeys": [{"apiKey": 1, "minVersion": low, "maxVersion": high}]}
    )


def test_the_newest_that_both_have() -> None:
    assert versions(4, 17).best(1) == 17
    assert versions(4, 17).best(1, high=12) == 12
    assert versions(4, 999).best(1) < 100


@pytest.mark.parametrize(
    ("theirs", "key", "wanted", "words"),
    [
        ((4, 17), 3, {}, "broker b:1 does not have Metadata .API key 3"),
        ((4, 17), 1, {"high": 3}, "accepts Fetch v4-17, not the v0-3 wanted"),
        ((0, 3), 1, {"low": 5}, "accepts Fetch v0-3, not the v5 wanted"),
        ((900, 999), 1, {}, "accepts Fetch v900-999"),
    ],
)
def test_nothing_in_common_is_said(theirs: tuple[int, int], key: int, wanted: dict[str, int], words: str) -> None:
    with pytest.raises(NetworkError, match=words):
        versions(*theirs).best(key, **wanted)


def test_an_api_nobody_knows() -> None:
    with pytest.raises(UsageError, match="API key 9999"):
        versions(0, 1).best(9999)


def test_features() -> None:
    answer = {
        "apiKeys": [],
        "finalizedFeatures": [{"name": "group.version", "maxVersionLevel": 1, "minVersionLevel": 1}],
    }
    assert ApiVersions("b", answer).features == {"group.version": 1}


def named(**ranges: tuple[int, int]) -> ApiVersions:
    keys = [(catalog().api_key(name), low, high) for name, (low, high) in ranges.items()]
    return ApiVersions("b", {"apiKeys": [{"apiKey": k, "minVersion": a, "maxVersion": b} for k, a, b in keys]})


def test_the_nearest_version() -> None:
    broker = named(Produce=(0, 11), Fetch=(4, 17), Metadata=(0, 12))
    assert broker.nearest(FETCH, 18) == 17
    assert broker.nearest(FETCH, 1) == 4
    assert broker.nearest(METADATA, 5) == 5
    assert broker.nearest(LIST_OFFSETS, 1) is None
    assert broker.nearest(PRODUCE, 0) == 3  # 4.x names versions that it does not take
    assert named(Produce=(0, 11), Fetch=(0, 17)).nearest(PRODUCE, 0) == 0
