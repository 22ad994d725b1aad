"""Capturing what is said to a broker of the lab, with tcpdump."""

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.processes import ended
from tests.real.lab import Cluster

__all__ = ["LINK", "captured", "capturing"]

LINK = "lo"


@contextlib.contextmanager
def captured(cluster: Cluster, file: Path, *options: str) -> Iterator[None]:
    """Write all that goes to or from the cluster's plain listeners into a capture file.

    options: further ones for tcpdump. The test is skipped where tcpdump is missing or may not capture.
    """
    with capturing(cluster.ports["PLAINTEXT"], file, "-U", "--immediate-mode", *options) as able:
        if not able:
            pytest.skip("tcpdump is not installed, or may not capture here")
        yield


def wait_for_the_rest(file: Path, seconds: float) -> None:
    """Wait until a capture file has not grown for so long: packets are on their way to it for a while."""
    size = -1
    while size != (size := file.stat().st_size):
        time.sleep(seconds)


@contextlib.contextmanager
def capturing(ports: Sequence[int], file: Path, *options: str) -> Iterator[bool]:
    """Write all that goes to or from these ports into a capture file; False where that can't be done.

    Without options it costs those who talk least: packets are taken over by the block.
    """
    if (tcpdump := shutil.which("tcpdump")) is None:
        yield False
        return
    wanted = " or ".join(f"tcp port {port}" for port in ports)
    command = [tcpdump, "-i", LINK, "-w", str(file), "-B", "262144", *options, wanted]
    with ended(subprocess.Popen(command, stderr=subprocess.PIPE, text=True)) as process:
        assert process.stderr
        if "listening on" not in process.stderr.readline():
            process.wait()
            yield False
            return
        try:
            yield True
            wait_for_the_rest(file, 0.3 if "--immediate-mode" in options else 1.5)
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
    assert "\n0 packets dropped by kernel" in rest, rest
