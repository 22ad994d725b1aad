import pytest

from kcli.client.versions import ApiVersions
from kcli.errors import NetworkError, UsageError


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
