"""Counts that several processes make are those that one makes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.parallel import stats_jobs
from kcli.capture.parallel.stats_jobs import SharedStatistics
from kcli.capture.statistics import COLUMNS, StatisticsSink
from tests.capture.wires import DATA, SAMPLES
from tests.processes import ended

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process counts all here")
TXN, CODECS, BOOT, TLS = (
    str(path)
    for path in (
        SAMPLES / "java44-txn.pcap",
        SAMPLES / "kcat-codecs.pcap",
        DATA / "kraft-boot.pcap.zst",
        SAMPLES / "tls.pcap",
    )
)
KCLI = [sys.executable, "-m", "kcli.cli", "stats"]


def run(*words: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run([*KCLI, *words], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def read(files: list[str], by: Sequence[str], jobs: int = 1) -> Any:
    """All that is known in the end."""
    source = CaptureDecoder(files, StatisticsSink(by))
    for _ in source.read() if jobs == 1 else SharedStatistics(source, jobs).read():
        pass
    engine = source.engine
    return source.sink.rows(), source.tally, source.passed, engine.connections, source.tally.unaccounted(engine)


@pytest.mark.parametrize("by", [*((each,) for each in COLUMNS), ("client", "api", "error"), ("topic", "minute")])
@pytest.mark.parametrize("jobs", [2, 5])
def test_the_same_rows_whatever_the_number(by: tuple[str, ...], jobs: int) -> None:
    files = [TXN, CODECS, BOOT, TLS]
    assert read(files, by, jobs) == read(files, by)


@pytest.mark.parametrize(
    "words",
    [[TXN, "--format", "csv"], [CODECS, "--errors"], [TXN, "--topic", "pay-*"], [TXN, "--where", "latency_ms > 1"]],
)
def test_the_command_prints_the_same(words: list[str]) -> None:
    assert run(*words, "--jobs", "3") == run(*words)


def test_what_can_be_read_of_a_damaged_file(cut: Callable[[str], str]) -> None:
    broken = cut(TXN)
    one = run(broken, CODECS)
    assert one[0] == 3 and one[1] and run(broken, CODECS, "--jobs", "3") == one


@pytest.mark.parametrize(("name", "most"), [("MOST_GROUPS", 5), ("MOST_CONNECTIONS", 3)])
def test_one_process_counts_where_there_is_too_much(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats_jobs, name, most)
    seen: list[bool] = []
    before = CaptureDecoder.read

    def read_alone(self: CaptureDecoder[Any], *moved: Any) -> Any:
        seen.append(True)
        return before(self, *moved)

    monkeypatch.setattr(CaptureDecoder, "read", read_alone)
    made = read([TXN], ["connection"], 2)
    assert seen
    assert made == read([TXN], ["connection"])


SLOW = """
import sys, time
from kcli.capture.io import capture_file
from kcli.capture.decoder import CaptureDecoder
from kcli.cli import main
capture_file.PIECE = 4096
before = CaptureDecoder.pieces
def pieces(self, *moved):
    for each in before(self, *moved):
        time.sleep(0.6)
        yield each
        print("counted", file=sys.stderr, flush=True)
CaptureDecoder.pieces = pieces
print("ready", file=sys.stderr, flush=True)
sys.exit(main.main())
"""


def test_ctrl_c_shows_what_all_have_counted() -> None:
    command = [sys.executable, "-c", SLOW, "stats", TXN, "--jobs", "3", "--format", "jsonl", "--by", "broker"]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)) as kcli:
        assert kcli.stdout is not None and kcli.stderr is not None
        assert kcli.stderr.readline() == b"ready\n"
        for _ in range(6):
            assert kcli.stderr.readline() == b"counted\n"
        kcli.send_signal(signal.SIGINT)
        out, err = kcli.stdout.read(), kcli.stderr.read()
        assert kcli.wait(60) == 130
    assert b'"broker"' in out and b"Traceback" not in err
