"""What every test has: the samples, and surroundings that do not depend on who runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# The same examples in every run; HYPOTHESIS_PROFILE=search looks for others. A busy machine is no failure.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


# `make test` runs in several processes of pytest-xdist. A file's tests share one, and those on Spark share its session;
# what takes longest begins first, so that no process ends long after the others.
SPARK = "tests/pipeline/"
LONGEST_FIRST = (SPARK, "tests/test_distribution.py", "tests/real/test_snapshots.py", "tests/real/")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Name the group before pytest-xdist looks for groups."""
    path = place(item)
    item.add_marker(pytest.mark.xdist_group("spark" if path.startswith(SPARK) else path))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(
            key=lambda item: next((n for n, begin in enumerate(LONGEST_FIRST) if place(item).startswith(begin)), 99)
        )


def place(item: pytest.Item) -> str:
    return item.path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of real captures, log directories and snapshots (samples/README.md)."""
    return ROOT / "samples"


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colour, width or time zone of the terminal that the tests were started from."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "KCLI_REQUIRE_CORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")
