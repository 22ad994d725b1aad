"""A short run of each fuzz target with a fixed seed (`make fuzz MINUTES=10`: a long one), and the fuzzer itself."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.errors import InputError
from tests.fuzz import run, sanitized, targets
from tests.fuzz.damage import damaged
from tests.fuzz.run import TooLong, bounded, fuzz, seconds_of
from tests.fuzz.targets import TARGETS, Target


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_damage_breaks_nothing(target: Target) -> None:
    assert fuzz(target, 0.3, seed=1) > 0  # .ci/run has a minute of them on the core that checks itself


def test_the_same_seed_does_the_same_damage() -> None:
    data = bytes(range(256))
    made = {damaged(data, random.Random(7)) for _ in range(3)}
    assert len(made) == 1
    assert made != {data}


def test_a_fault_is_found_and_can_be_had_again() -> None:
    def faulty(rng: random.Random) -> bytes:
        if rng.random() < 0.1:
            raise IndexError("a bug")
        return b""

    with pytest.raises(IndexError) as raised:
        fuzz(Target("faulty", faulty), 5, seed=3)
    assert raised.value.__notes__[0].startswith("faulty, seed 3, round ")


def test_an_error_for_users_that_comes_through_is_a_fault() -> None:
    def careless(rng: random.Random) -> bytes:
        raise InputError("not caught")

    with pytest.raises(AssertionError, match="not caught"):
        fuzz(Target("careless", careless), 5, seed=3)


def test_what_a_run_has_found() -> None:
    """Bytes in a struct behind a tag, in a section of tags out of the usual form: compared as JSON says them, too."""
    targets.message(random.Random("1795317699 message 1536"))


@pytest.mark.parametrize(
    ("limit", "work", "why"),
    [("TOO_LONG", time.thread_time, "of a processor"), ("HANGS", lambda: time.sleep(60), "ended")],
)
def test_a_round_that_does_not_end_is_a_fault(
    limit: str, work: Callable[[], object], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, limit, 0.2)
    with pytest.raises(TooLong, match=why), bounded():
        while True:
            work()


def test_the_timers_of_others_go_on() -> None:
    handler = signal.getsignal(signal.SIGALRM)
    before = signal.setitimer(signal.ITIMER_REAL, 500)
    try:
        with bounded():
            assert signal.getsignal(signal.SIGALRM) is run.give_up
        assert signal.getsignal(signal.SIGALRM) is handler
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 400
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)


def test_a_run_is_as_long_as_it_says() -> None:
    assert (seconds_of("10"), seconds_of("0.5"), seconds_of("60s")) == (600, 30, 60)


def test_the_round_under_way_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sanitizer ends the process: what it was at stands in a file."""
    note = tmp_path / "round"
    monkeypatch.setenv("KCLI_FUZZ_PROGRESS", str(note))
    fuzz(Target("any", lambda rng: b""), 0.01, seed=5)
    assert note.read_text().startswith("any, seed 5, round ")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
def test_a_sanitized_run_takes_its_own_core_and_ends_at_a_report(tmp_path: Path) -> None:
    around = sanitized.environment(tmp_path)
    assert around["PYTHONPATH"].split(os.pathsep)[0] == str(tmp_path)
    assert "libasan" in around["LD_PRELOAD"] and "halt_on_error=1" in around["UBSAN_OPTIONS"]
