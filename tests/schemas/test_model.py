import pytest

from kcli.schemas.catalog import catalog
from kcli.schemas.definition import build
from kcli.schemas.model import Releases, release_order
from kcli.schemas.ranges import NONE, Range
from tests.schemas.definitions import field, message


@pytest.mark.parametrize(
    ("api", "version", "request_header", "response_header"),
    [
        ("Fetch", 11, 1, 0),
        ("Fetch", 12, 2, 1),
        ("ControlledShutdown", 0, 0, 0),
        ("ControlledShutdown", 1, 1, 0),
        ("ControlledShutdown", 3, 2, 1),
        ("ApiVersions", 2, 1, 0),
        ("ApiVersions", 3, 2, 0),
        ("SaslHandshake", 1, 1, 0),
        ("SaslAuthenticate", 2, 2, 1),
    ],
)
def test_headers(api: str, version: int, request_header: int, response_header: int) -> None:
    found = catalog().apis[catalog().api_key(api)]
    assert found.request_header_version(version) == request_header
    assert found.response_header_version(version) == response_header


def test_releases_are_ordered_by_number() -> None:
    assert sorted(["3.10", "3.9", "10.0", "3.9.1"], key=release_order) == ["3.9", "3.9.1", "3.10", "10.0"]


def test_a_run_of_releases() -> None:
    run = Releases("2.8", "3.9", Range(0, 3), unstable=True)
    assert "3.1" in run
    assert "3.10" not in run
    assert 3 not in run
    assert str(run) == "2.8-3.9"
    assert run.enabled == Range(0, 2)
    assert str(run.starting("3.0")) == "3.0-3.9"
    assert str(run.starting("2.0")) == "2.8-3.9"
    assert run.starting("4.0") is None


def test_an_api_whose_only_version_is_unstable_has_none() -> None:
    assert Releases("4.1", "4.1", Range(0, 0), unstable=True).enabled == NONE


@pytest.mark.parametrize(
    ("kind", "array", "element", "struct"),
    [("[]string", True, "string", False), ("records", False, "records", False), ("[]S", True, "S", True)],
)
def test_types(kind: str, array: bool, element: str, struct: bool) -> None:
    raw = field("F", kind, fields=[field("A")]) if struct else field("F", kind)
    (built,) = build(message("M", raw)).fields
    assert (built.is_array, built.element, built.is_struct) == (array, element, struct)
