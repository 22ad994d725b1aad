"""What every test has: the samples, and surroundings that do not depend on who runs it."""

import gc
import os
import signal
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# The same examples in every run; HYPOTHESIS_PROFILE=search looks for others. A busy machine is no failure.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


# `make suite` runs in several processes, a file's tests in one of them, and those of files that share a Spark session,
# brokers or diagnoses in one, too (tests/together.py). What takes longest begins first, so that all processes end
# together.
LONGEST_FIRST = (
    "tests/pipeline/test_streaming.py",
    "tests/real/test_lab.py",
    "tests/diagnose/test_commands.py",
    "tests/real/test_snapshots.py",
    "tests/test_distribution.py",
    "tests/pipeline/test_cluster.py",
    "tests/test_docs.py",
    "tests/test_matrix.py",
    "tests/real/",
    "tests/pipeline/",
    "tests/cli/pipeline/test_run.py",
    "tests/test_untrusted_text.py",
    "tests/sessions/test_histories.py",
)


def pytest_configure() -> None:
    """Let tests send Ctrl-C: a shell that starts them in the background has them, and what they start, ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays for the whole run: no garbage is looked for in it, which takes half as long as collecting
    without that, in every process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=turn)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With --dist loadfile."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.together import Scheduling

    return Scheduling(config, log)


def turn(item: pytest.Item) -> int:
    path = item.path.relative_to(ROOT).as_posix()
    return next((n for n, begin in enumerate(LONGEST_FIRST) if path.startswith(begin)), len(LONGEST_FIRST))


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of real captures, log directories and snapshots (samples/README.md)."""
    return ROOT / "samples"


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colour, width or time zone of the terminal that the tests were started from."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def cut(tmp_path: Path) -> Callable[[str], str]:
    """A copy of a capture that ends in the middle of a packet."""

    def make(capture: str) -> str:
        made = tmp_path / "cut.pcap"
        made.write_bytes(Path(capture).read_bytes()[:-7])
        return str(made)

    return make
