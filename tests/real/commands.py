"""Kafka's command-line classes in one Java process for many of them (Commands.java)."""

import atexit
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.real.jvm import java
from tests.real.maven import compiled

__all__ = ["Commands", "Ended", "commands"]


class Ended(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    stdout: bytes
    stderr: bytes


class Commands:
    """A Java process on this classpath that runs one class after the other; it ends with `close()` or with this one."""

    def __init__(self, classpath: Sequence[Path]) -> None:
        words = java([compiled("Commands.java"), *classpath], "Commands")
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def run(self, main: str, *arguments: str, stdin: bytes = b"") -> Ended:
        assert self.process.stdin is not None
        parts = [*(word.encode() for word in (main, *arguments)), stdin]
        blocks = b"".join(struct.pack(">i", len(part)) + part for part in parts)
        self.process.stdin.write(struct.pack(">i", len(parts) - 1) + blocks)
        self.process.stdin.flush()
        return Ended(self.number(), self.read(self.number()), self.read(self.number()))

    def number(self) -> int:
        return int(struct.unpack(">i", self.read(4))[0])

    def read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        data = self.process.stdout.read(size)
        assert len(data) == size, f"Java has ended: exit {self.process.wait()}"
        return data

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


# A broker's own classes and the tools of the release beside it take turns; more of them would take memory, 100 MB each.
KEPT_AT_ONCE = 2
KEPT: dict[tuple[Path, ...], Commands] = {}


def commands(classpath: Sequence[Path]) -> Commands:
    """The process of this classpath, which may have run others before."""
    key = tuple(classpath)
    kept = KEPT.pop(key, None)
    if kept is None or kept.process.poll() is not None:
        kept = Commands(classpath)
    KEPT[key] = kept
    end_all(but=KEPT_AT_ONCE)
    return kept


@atexit.register
def end_all(but: int = 0) -> None:
    """The most recent ones excepted."""
    while len(KEPT) > but:
        KEPT.pop(next(iter(KEPT))).close()
