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
