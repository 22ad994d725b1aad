"""Handlers are found by API key, version and dialect."""

import subprocess
import sys
from itertools import chain
from pathlib import Path
from pkgutil import walk_packages

import pytest

from kcli.broker import apis
from kcli.broker.metadata.registry import offered, route
from kcli.broker.mock_rules import Answers
from kcli.broker.response import HangUpError
from kcli.schemas.apikeys import API_VERSIONS, FETCH, FETCH_SNAPSHOT, INCREMENTAL_FETCH, METADATA, PRODUCE
from kcli.schemas.catalog import catalog
from kcli.schemas.ranges import Range
from tests.greeting import GREET, greeting, newer_metadata


def test_every_module_has_a_handler_that_is_asked() -> None:
    handlers = {each.handle for each in (*apis.APIS.values(), *chain.from_iterable(apis.DRAFTS.values()))}
    found = walk_packages(apis.__path__, f"{apis.__name__}.")
    modules = {each.name for each in found if not each.ispkg}
    assert {handle.__module__ for handle in handlers} == modules


def test_handlers_are_loaded_when_they_are_asked_for() -> None:
    loaded = "print(*(name for name in sys.modules if name.startswith('kcli.broker.apis.')), sep=',')"
    script = (
        f"import sys; from kcli.broker.metadata.registry import route; {loaded}; route(18, 3, None, None); {loaded}"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\nkcli.broker.apis.cluster,kcli.broker.apis.cluster.api_versions\n"


def test_what_is_offered_lies_within_kafkas_versions() -> None:
    for key, versions in offered(None, None).items():
        theirs = catalog(None).known(key).versions
        assert theirs.lo <= versions.lo <= versions.hi <= theirs.hi


@pytest.mark.parametrize(
    ("dialect", "key", "version", "module"),
    [
        (None, FETCH, 7, "records.fetch"),
        ("kip-227-draft", FETCH, 7, "records.incremental_fetch"),
        ("kip-227-draft", FETCH, 8, "records.fetch"),
        ("kip-227-draft", INCREMENTAL_FETCH, 0, "records.incremental_fetch"),
        ("kip-630-draft", FETCH, 12, "cluster.snapshot_draft"),
        ("kip-630-draft", FETCH, 13, "records.fetch"),
        ("kip-630-draft", FETCH_SNAPSHOT, 0, "cluster.snapshot_draft"),
        ("kip-1018", FETCH, 18, "records.fetch"),
        ("kip-1018", FETCH_SNAPSHOT, 0, "cluster.fetch_snapshot"),
    ],
)
def test_a_draft_has_a_handler_of_its_own(dialect: str | None, key: int, version: int, module: str) -> None:
    found = route(key, version, dialect, None)
    assert found.handle.__module__ == f"{apis.__name__}.{module}"
    assert (found.api.key, found.api.version, found.api.dialect) == (key, version, dialect)


def test_an_api_of_a_dialect_is_offered_in_it_alone() -> None:
    assert INCREMENTAL_FETCH not in offered(None, None)
    assert INCREMENTAL_FETCH not in offered("kip-630-draft", None)
    assert offered("kip-227-draft", None)[INCREMENTAL_FETCH] == Range(0, 0)


def test_a_releases_versions() -> None:
    assert offered(None, "2.8")[PRODUCE] == Range(0, 9)
    with pytest.raises(HangUpError, match=r"^Produce v10: this broker has v0-9$"):
        route(PRODUCE, 10, None, "2.8")


@pytest.mark.parametrize("key", [99, -1, INCREMENTAL_FETCH])
def test_an_unsupported_key(key: int) -> None:
    with pytest.raises(HangUpError, match=rf"^unsupported API key {key}$"):
        route(key, 0, None, None)


def test_an_unsupported_version() -> None:
    with pytest.raises(HangUpError, match=r"^Metadata v99: this broker has v0-13$"):
        route(METADATA, 99, None, None)


def test_api_versions_is_answered_in_any_version() -> None:
    api = route(API_VERSIONS, 77, None, None).api
    assert (api.known, api.version) == (False, 77)
    # In version 0, whose response header has no tagged fields.
    assert api.encode({"errorCode": 35, "apiKeys": [], "throttleTimeMs": 0}) == b"\0\x23\0\0\0\0"


def test_what_a_draft_defines_is_offered(tmp_path: Path) -> None:
    """A new API, a new version that goes on from the broker's; not one beyond a gap, which no range could name."""
    assert offered(greeting(tmp_path / "greet"), None)[GREET] == Range(0, 1)
    newer = newer_metadata(tmp_path / "newer")
    assert offered(newer, None)[METADATA] == Range(0, 14)
    assert offered(newer, "2.8")[METADATA] == Range(0, 11)
    ruled, streams = Answers([{"api": "StreamsGroupHeartbeat"}]), 88
    assert offered(None, None, ruled)[streams] == catalog(None).known(streams).versions
    assert streams not in offered(None, "2.8", ruled)


def test_every_version_that_is_offered_is_in_the_tables() -> None:
    for key, made in apis.APIS.items():
        known = catalog().apis[key].versions
        assert known.lo <= made.versions.lo <= made.versions.hi <= known.hi, key
