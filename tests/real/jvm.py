"""Java processes: commands that run to their end, and servers that are started, watched and ended."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tests.real.maven import LIGHT, unavailable

__all__ = ["PortTakenError", "check_alive", "end", "java", "run_java"]

# And what Kafka's reflection asks of Java 17.
JVM = (
    *LIGHT,
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)


class PortTakenError(AssertionError):
    """Someone else took a port between our look and the broker's bind."""


def java(
    jars: Sequence[Path], main: str, *arguments: str, heap: str = "512m", options: Sequence[str] = ()
) -> list[str]:
    """The command line that runs a Java class."""
    program = shutil.which("java")
    if program is None:
        unavailable("java (17 or newer) is not installed")
    return [program, f"-Xmx{heap}", *JVM, *options, "-cp", os.pathsep.join(map(str, jars)), main, *arguments]


def run_java(
    jars: Sequence[Path], main: str, *arguments: str, stdin: bytes = b"", timeout: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """Run a Java class to its end; its output is not checked."""
    return subprocess.run(java(jars, main, *arguments), input=stdin, capture_output=True, timeout=timeout, check=False)


def check_alive(process: subprocess.Popen[bytes], log: Path, until: float) -> None:
    """Wait a moment; complain with the end of its log when the process has ended or the time is up."""
    time.sleep(0.1)
    ended = process.poll() is not None
    if ended or time.monotonic() > until:
        text = log.read_text(errors="replace")
        kind = PortTakenError if "Address already in use" in text else AssertionError
        raise kind(f"{'ended' if ended else 'not up'} after start: {text[-3000:]}")


def end(process: subprocess.Popen[bytes], how: signal.Signals, seconds: float) -> None:
    process.send_signal(how)
    process.send_signal(signal.SIGCONT)  # a paused one would never notice
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin:
        process.stdin.close()
