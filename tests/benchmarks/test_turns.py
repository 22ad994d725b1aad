"""Two processes that measure by turns, by what they say in one file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.turns import CLOCK, PROCESSOR, TURNS, processor_time, spent, turn

ROOT = Path(__file__).parents[2]
SIDE = """
import sys
from benchmarks.turns import turn
name, count = sys.argv[1:]
for number in range(int(count)):
    turn()
    print(f"{name}{number}", flush=True)
"""


def both(tmp_path: Path, first: int, second: int) -> list[str]:
    """What two sides said that have so much to say."""
    here, there = os.pipe(), os.pipe()
    said = tmp_path / "said"
    with said.open("a") as out:
        sides = [
            subprocess.Popen(
                [sys.executable, "-c", SIDE, name, str(count)],
                env=os.environ | {TURNS: f"{source},{target},{mine}", "PYTHONPATH": str(ROOT)},
                stdout=out,
                pass_fds=(source, target),
            )
            for name, count, source, target, mine in (
                ("a", first, here[0], there[1], 1),
                ("b", second, there[0], here[1], 0),
            )
        ]
    for descriptor in (*here, *there):
        os.close(descriptor)
    assert [side.wait(60) for side in sides] == [0, 0]
    return said.read_text().split()


def test_they_measure_by_turns(tmp_path: Path) -> None:
    assert both(tmp_path, 3, 3) == ["b0", "a0", "b1", "a1", "b2", "a2"]


def test_who_is_left_goes_on_alone(tmp_path: Path) -> None:
    assert both(tmp_path, 1, 4) == ["b0", "a0", "b1", "b2", "b3"]
    assert both(tmp_path, 0, 2)[-2:] == ["b0", "b1"]


def test_alone_it_does_nothing() -> None:
    turn()


def test_a_commands_processor_time() -> None:
    assert processor_time([sys.executable, "-c", "sum(range(100_000))"]) > 0
    with pytest.raises(subprocess.CalledProcessError):
        processor_time([sys.executable, "-c", "raise SystemExit(2)"])


def test_a_bench_on_the_processors_clock_waits_for_nothing() -> None:
    code = """
import os, subprocess, sys, time
from benchmarks.turns import turn
assert "KCLI_BENCH_CLOCK" not in os.environ
start = time.perf_counter()
time.sleep(2)
asleep = time.perf_counter() - start
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.5: pass"], check=True)
print(asleep < 1, time.perf_counter() - start >= 0.5)
"""
    environment = os.environ | {CLOCK: PROCESSOR, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_the_processors_clock_counts_a_kcli_beside_the_bench() -> None:
    code = """
import subprocess, sys, time
from benchmarks.turns import turn
busy = "import time\\nwhile time.process_time() < 0.5: pass\\nprint(flush=True)\\ninput()"
for name in ("kcli.cli", "other"):
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", busy, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as beside:
        beside.stdout.readline()
        print(time.perf_counter() - start >= 0.5)
        beside.stdin.write(b"\\n")
"""
    environment = os.environ | {CLOCK: PROCESSOR, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_memory_is_the_commands_own() -> None:
    """However large the process is that measures."""
    ballast = bytearray(b"x") * (64 << 20)
    small, large = (spent([sys.executable, "-S", "-c", f"b'x' * ({mib} << 20)"]) for mib in (0, 40))
    assert small.peak < len(ballast) >> 11 and large.peak > small.peak + (35 << 10)
    assert 0 < small.wall < 60 and 0 < small.processor < 60


def test_a_command_that_fails_and_one_that_is_not_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(subprocess.CalledProcessError) as failed:
        spent([sys.executable, "-c", "print(7, flush=True); exit(3)"], str(out))
    assert failed.value.returncode == 3 and out.read_text() == "7\n"
    with pytest.raises(subprocess.CalledProcessError):
        spent([str(tmp_path / "nothing")])
