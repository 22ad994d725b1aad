"""Sources of `kcli top`: files, a stream, or a `kcli capture` or `kcli proxy` of its own."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import kcli
from kcli.cli.top.packets import RecentPackets
from kcli.diagnose.following import LiveInput
from kcli.errors import InputError, KcliError, NetworkError, UsageError
from kcli.filelike import Stream
from kcli.metrics.figures import LiveFigures
from kcli.metrics.measuring import MeasuredStore, MeasuringFollower
from kcli.temporary import temporary_file

STOP_S = 5.0  # that a reader has to end
ERRORS: dict[int, type[KcliError]] = {2: UsageError, 3: InputError, 4: NetworkError}


class Feeder:
    """A kcli in a process of its own, which writes packets to a pipe. words: its command and options."""

    def __init__(self, words: Sequence[str]) -> None:
        self.stderr = temporary_file()
        path = os.pathsep.join(filter(None, [str(Path(kcli.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kcli.cli", *words, "-o", "-"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.stderr, start_new_session=True,
            env={**os.environ, "PYTHONPATH": path}, bufsize=0,
        )  # fmt: skip

    def lines(self) -> list[str]:
        """Return the lines of its standard error."""
        return os.pread(self.stderr.fileno(), 1 << 16, 0).decode(errors="replace").splitlines()

    def stop(self) -> None:
        """End the feeding process, and wait until it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        assert self.process.stdout is not None
        self.process.stdout.close()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.stderr.close()

    def check(self) -> None:
        """Raise the error with which the process has failed, if any."""
        code = self.process.poll()
        if code:
            text = (self.lines() or ["it has ended"])[-1].removeprefix("kcli: ")
            raise ERRORS.get(code, NetworkError)(text)


class ReaderStoppedError(Exception):
    """Raised to end reading when the screen is closed."""


class StoppableFollower(MeasuringFollower):
    """A follower that ends on request."""

    stopped: threading.Event

    def piece_read(self) -> None:
        super().piece_read()
        if self.stopped.is_set():
            raise ReaderStoppedError


class Reader(threading.Thread):
    """Fills figures in a thread of its own. given: files or streams; read: options of DecodeOptions.

    failure: the error that ended it early.
    """

    def __init__(self, figures: LiveFigures, inputs: Sequence[str | Stream], read: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.figures, self.given, self.read = figures, inputs, read
        self.stopped = threading.Event()
        self.failure: Exception | None = None
        self.store: MeasuredStore | None = None

    def run(self) -> None:
        """Read to the end, or until `stop`."""
        try:
            with MeasuredStore(self.figures) as self.store:
                follower = StoppableFollower(self.store, self.given, **self.read)
                follower.stopped = self.stopped
                for _ in follower.judgements():
                    if self.stopped.is_set():
                        return
        except (ReaderStoppedError, KeyboardInterrupt):
            pass
        except Exception as error:  # noqa: BLE001 - the main thread raises it
            self.failure = error

    def stop(self) -> None:
        """End the reading thread, and wait some seconds for it."""
        self.stopped.set()
        for each in self.given:
            if isinstance(each, LiveInput):
                each.over = True
        if self.store is not None:
            with contextlib.suppress(Exception):
                self.store.connection.interrupt()
        self.join(STOP_S)


@contextlib.contextmanager
def fed(words: Sequence[str]) -> Iterator[tuple[Feeder, LiveInput, RecentPackets]]:
    """Start a process that feeds, and return it with the stream of its packets."""
    feeder = Feeder(words)
    try:
        recent = RecentPackets(feeder.process.stdout)
        yield feeder, LiveInput(recent), recent
    finally:
        feeder.stop()
