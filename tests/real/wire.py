"""Capturing what is said to a broker of the lab, with tcpdump."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.lab import Cluster

__all__ = ["captured"]

LINK = "lo"


@contextlib.contextmanager
def captured(cluster: Cluster, file: Path, *options: str) -> Iterator[None]:
    """Write all that goes to or from the cluster's plain listeners into a capture file.

    options: further ones for tcpdump. The test is skipped where tcpdump is missing or may not capture.
    """
    if (tcpdump := shutil.which("tcpdump")) is None:
        pytest.skip("tcpdump is not installed")
    ports = " or ".join(f"tcp port {port}" for port in cluster.ports["PLAINTEXT"])
    command = [tcpdump, "-i", LINK, "-w", str(file), "-U", "-B", "65536", "--immediate-mode", *options, ports]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said = process.stderr.readline()
        if "listening on" not in said:
            process.wait()
            pytest.skip(f"tcpdump may not capture here: {said.strip()}")
        try:
            yield
            time.sleep(0.3)  # what is on its way to the file
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
    assert "\n0 packets dropped by kernel" in rest, rest
