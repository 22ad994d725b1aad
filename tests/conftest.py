"""What every test has: the samples, and surroundings that do not depend on who runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


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
