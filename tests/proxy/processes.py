"""`kcli proxy` as a process of its own."""

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

from tests.processes import running

__all__ = ["Proxied", "proxied"]


class Proxied:
    """A running proxy. bootstrap: where it listens."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert self.process.stderr is not None
        self.said: dict[str, str] = {}
        while "bootstrap.servers" not in self.said:
            line = self.process.stderr.readline()
            assert line, self.process.communicate()
            name, _, value = line.strip().partition("=")
            self.said[name] = value
        self.bootstrap = self.said["bootstrap.servers"]

    def stop(self) -> tuple[int, str, str]:
        """By Ctrl-C: exit code, standard output, and what is left of standard error."""
        self.process.send_signal(signal.SIGINT)
        out: list[str] = []
        # What was read with the lines before is in the stream's buffer, which `communicate` passes over.
        reader = threading.Thread(target=lambda: out.append(self.process.stdout.read() if self.process.stdout else ""))
        reader.start()
        assert self.process.stderr is not None
        err = self.process.stderr.read()
        reader.join()
        return self.process.wait(60), out[0], err


@contextlib.contextmanager
def proxied(*options: str, stdout: int = subprocess.PIPE, quiet: bool = True) -> Iterator[Proxied]:
    command = [sys.executable, "-m", "kcli.cli", "proxy", *["--quiet"] * quiet, *options]
    with running(subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)) as process:
        yield Proxied(process)
