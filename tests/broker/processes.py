"""`kcli broker serve` as a process of its own."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.processes import running

__all__ = ["Served", "served"]


class Served:
    """bootstrap: where it listens."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.bootstrap = line.strip().partition("=")[2]

    def kill(self) -> None:
        """As kill -9 does."""
        self.process.kill()
        self.process.communicate()

    def stop(self) -> int:
        """In good order; its exit code."""
        self.process.terminate()
        self.process.communicate(timeout=60)
        return self.process.returncode


@contextlib.contextmanager
def served(*options: str, data: Path | None = None) -> Iterator[Served]:
    command = [sys.executable, "-m", "kcli.cli", "broker", "serve", "--port", "0", "--quiet", *options]
    command += ["--data", str(data)] if data else []
    with running(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)) as process:
        yield Served(process)
