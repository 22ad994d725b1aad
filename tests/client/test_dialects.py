from pathlib import Path

import pytest

from kcli import __version__
from kcli.client.dialects import feature, is_shown, spoken
from kcli.client.handshake import ApiVersions
from kcli.errors import NetworkError
from kcli.schemas.ranges import Range

NEWER = """{"apiKey": 1, "type": "request", "name": "FetchRequest", "validVersions": "0-99", "flexibleVersions": "12+",
    "fields": [{"name": "Odd", "type": "int32", "versions": "99"}]}"""


def test_what_kcli_calls_itself() -> None:
    assert spoken(None) == __version__
    assert spoken("kip-1018") == f"{__version__}-kip-1018"
    assert spoken("./my drafts/") == f"{__version__}-my.drafts"
    # A folder is what it is called, from wherever it is named.
    assert spoken("/some/where/my drafts,Greet=30100") == spoken("my drafts,Greet=30100") != spoken("my drafts")


@pytest.mark.parametrize(
    ("dialect", "features", "ranges", "shown"),
    [
        ("kip-1018", {}, {1: Range(4, 18)}, False),
        ("kip-1018", {"kip-1018": 1}, {1: Range(4, 18)}, True),
        ("kip-1018", {"kip-227-draft": 1}, {1: Range(4, 18)}, False),
        ("kip-1018", {"kip-1018": 2}, {1: Range(4, 18)}, False),
        ("kip-630-draft", {}, {1: Range(4, 18), 59: Range(0, 1)}, False),
        # An api of its own shows it, too: no other broker has that.
        ("kip-227-draft", {}, {1: Range(4, 18)}, False),
        ("kip-227-draft", {}, {1: Range(4, 18), 30227: Range(0, 0)}, True),
    ],
)
def test_what_shows_a_dialect(dialect: str, features: dict[str, int], ranges: dict[int, Range], shown: bool) -> None:
    assert is_shown(dialect, features, ranges) is shown


def test_a_version_beyond_apaches_shows_a_dialect(tmp_path: Path) -> None:
    (tmp_path / "FetchRequest.json").write_text(NEWER)
    (tmp_path / "FetchResponse.json").write_text(NEWER.replace("equest", "esponse"))
    assert is_shown(str(tmp_path), {}, {1: Range(4, 99)})
    assert not is_shown(str(tmp_path), {}, {1: Range(4, 18)})


def test_a_feature_is_what_shows_it() -> None:
    row = feature("kip-1018")
    assert is_shown("kip-1018", {row["name"]: row["maxVersion"]}, {})


def test_versions_are_those_of_what_is_spoken() -> None:
    rows = [{"apiKey": 1, "minVersion": 4, "maxVersion": 18}]
    with_it = ApiVersions("b", {"apiKeys": rows, "supportedFeatures": [feature("kip-227-draft")]}, "kip-227-draft")
    without = ApiVersions("b", {"apiKeys": rows}, "kip-227-draft")
    assert (with_it.dialect, without.dialect) == ("kip-227-draft", None)
    with pytest.raises(NetworkError, match="b does not have IncrementalFetch"):
        without.best(30227)
