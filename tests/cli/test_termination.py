"""SIGTERM while a command is busy: temporary folders go, and the signal ends the process; what ignores it goes on."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.processes import ended

pytest.importorskip("duckdb")

KCLI = [sys.executable, "-m", "kcli.cli"]
FOREVER = "SELECT count(*) FROM exchanges, range(1000000000000)"


def test_temporary_folders_go(samples: Path, tmp_path: Path) -> None:
    words = [*KCLI, "sql", FOREVER, str(samples / "ipv6.pcapng")]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with ended(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)) as kcli:
        while not any(tmp_path.glob("kcli-*")) and kcli.poll() is None:
            pass
        kcli.send_signal(signal.SIGTERM)
        said = kcli.communicate()
    assert (kcli.returncode, said) == (-signal.SIGTERM, (b"", b""))
    assert not [*tmp_path.iterdir()]


def test_what_nohup_ignores_is_ignored(samples: Path, tmp_path: Path) -> None:
    words = ["nohup", *KCLI, "decode", "pcap", "-", "-q", "-o", str(tmp_path / "out")]
    with ended(subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE)) as kcli:
        assert kcli.stdin
        kcli.stdin.write((samples / "ipv6.pcapng").read_bytes())
        kcli.stdin.flush()
        while not any(tmp_path.iterdir()) and kcli.poll() is None:
            pass
        kcli.send_signal(signal.SIGHUP)
        kcli.communicate()
    assert kcli.returncode == 0 and (tmp_path / "out").stat().st_size


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_query_over_standard_input_that_waits_for_more(
    number: signal.Signals, code: int, samples: Path, tmp_path: Path
) -> None:
    """DuckDB's thread reads it: kcli waited for that thread, and it for bytes, for ever."""
    words = [*KCLI, "sql", "SELECT * FROM exchanges", "-", "--format", "csv", "-o", str(tmp_path / "out")]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with ended(subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE)) as kcli:
        assert kcli.stdin
        kcli.stdin.write((samples / "ipv6.pcapng").read_bytes())
        kcli.stdin.flush()
        while kcli.poll() is None and any(fcntl.ioctl(kcli.stdin, termios.FIONREAD, bytes(4))):
            pass  # until all of it has been read
        kcli.send_signal(number)
        kcli.wait(60)
    assert kcli.returncode == code and not (tmp_path / "out").exists()


LOST = """
import sys, time
from kcli.cli.termination import repeat_lost_interrupts
class Lost:
    def __init__(self, error): self.error = error
    def __del__(self): raise self.error
repeat_lost_interrupts()
try:
    Lost(KeyboardInterrupt())
    time.sleep(30)
except KeyboardInterrupt:
    print("heard")
Lost(ValueError("said"))
"""


def test_an_interrupt_in_a_finalizer_is_heard() -> None:
    """Python passes over errors there: `pipeline run` went on to its end and said 0."""
    made = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=20, check=False)
    assert (made.returncode, made.stdout) == (0, "heard\n")
    assert "KeyboardInterrupt" not in made.stderr and "ValueError: said" in made.stderr


STARTING = """
import abc, signal
from kcli.cli.termination import repeat_lost_interrupts
repeat_lost_interrupts()
register = abc.ABCMeta.register
def interrupted(*words):
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    return register(*words)
abc.ABCMeta.register = interrupted
try:
    import kcli.core.records.batches
except KeyboardInterrupt:
    print("heard", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_an_interrupt_while_a_compiled_module_starts_is_heard() -> None:
    """Its start registers its views of memory, and passes over any error of that."""
    done = subprocess.run([sys.executable, "-c", STARTING], capture_output=True, text=True, timeout=25)
    assert (done.stdout, done.stderr) == ("heard True\n", "")
