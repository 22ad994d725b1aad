"""Ensures that only one run at a time writes to an output folder.

A run puts a claim into DIR/_kcli/holders, lists the others there, and works only if there are none. So of two runs at
least one sees the other, wherever a written file is listed at once (local disks, HDFS, S3, GCS). The oldest claim
stays, the others give way. A claim is removed at the end of its run. The claim of a dead run is detected on that run's
machine, because its process is gone, or the machine was restarted.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from kcli.errors import InputError, KcliError
from kcli.input_names import RUNS_FOLDER
from kcli.jsontext import dumps, loads
from kcli.pipeline.storage import StoragePath

PATIENCE = 2.0  # seconds in which later claims have to give way
GLANCE = 0.1  # seconds between checks for that
PAUSE = 1.0  # seconds between attempts of a run that waits


class HeldError(KcliError):
    """Another run writes to the output."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of an output. since: UTC, ISO 8601.

    machine, boot: ids of the machine and of its last start; space: of the process ids (containers have their own);
    started: start of the process in ticks since boot. "" or 0 if the system has no such value.
    """

    host: str
    pid: int
    since: str
    machine: str = ""
    boot: str = ""
    space: str = ""
    started: int = 0

    @classmethod
    def current(cls) -> Holder:
        """Return this process as a holder."""
        since = datetime.now(UTC).isoformat(timespec="seconds")
        machine = first_line("/etc/machine-id")
        boot = first_line("/proc/sys/kernel/random/boot_id")
        return cls(socket.gethostname(), os.getpid(), since, machine, boot, pid_space(), started(os.getpid()))

    @classmethod
    def read(cls, claim: StoragePath) -> Holder:
        """Return the holder in a claim. Raises InputError if the file is no claim."""
        try:
            return cls(**loads(claim.read(), what="a claim"))
        except TypeError as error:
            raise InputError(f"not a claim of kcli pipeline: {error}", file=claim.uri) from None

    def is_gone(self, own: Holder) -> bool:
        """Return whether the holder has certainly ended, as seen from `own`."""
        if (self.host, self.machine) != (own.host, own.machine):
            return False
        if self.boot != own.boot:
            return bool(self.machine and self.boot and own.boot)  # restarted since
        return self.space == own.space and not is_running(self.pid, self.started)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


def first_line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def pid_space() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def started(pid: int) -> int:
    """Return the start of a process in ticks since boot (proc(5), stat, field 22); 0 without such a process, or without
    /proc.
    """
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def is_running(pid: int, since: int) -> bool:
    """Return whether the process that started then (`since`; 0: unknown) still runs."""
    if since:
        return started(pid) == since
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextlib.contextmanager
def holding(output: str, *, wait: bool = False, notify: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """Hold an output folder. wait: until no other run holds it; notify: called once with each run that is waited for.

    Raises HeldError if another run holds it and `wait` is false. Raises OSError if the folder can't be written to.
    """
    own = Holder.current()
    named = ""
    while True:
        with claimed(output, own) as other:
            if other is None:
                yield
                return
        if not wait:
            raise HeldError(f"{output}: {other} (try again when that has ended, or with --wait)")
        if other != named:
            notify(f"{output}: {other}: waiting for it")
            named = other
        time.sleep(PAUSE)


@contextlib.contextmanager
def claimed(output: str, own: Holder) -> Iterator[str | None]:
    """Write a claim, and remove it at the end. Yields None if it prevails, else a text on the claim that does."""
    claims = StoragePath(output) / RUNS_FOLDER / "holders"
    mine = claims / f"{time.time_ns():020d}-{os.urandom(4).hex()}.json"
    try:
        try:
            mine.write(dumps(asdict(own)).encode())
        except NotADirectoryError:
            raise InputError("a file; the name of a folder is expected", file=output) from None
        yield rival(claims, mine, own)
    finally:
        with contextlib.suppress(FileNotFoundError):
            mine.remove()


def rival(claims: StoragePath, mine: StoragePath, own: Holder) -> str | None:
    end = time.monotonic() + PATIENCE
    while others := other_holders(claims, mine, own):
        first = min(others)
        if first < mine.name or time.monotonic() > end:
            return others[first]
        time.sleep(GLANCE)
    return None


def other_holders(claims: StoragePath, mine: StoragePath, own: Holder) -> dict[str, str]:
    """Return {name of the claim: text} of the other holders. Claims of dead runs are removed."""
    found = {}
    for each in claims.listed():
        place = StoragePath(each.uri)
        if place.name == mine.name or not place.name.endswith(".json"):
            continue
        try:
            holder = Holder.read(place)
            if holder.is_gone(own):
                place.remove()
                continue
            elsewhere = "" if holder.host == own.host else f"; if that is dead, remove {each.uri}"
            found[place.name] = f"another run writes to it, {holder}{elsewhere}"
        except FileNotFoundError:
            continue  # that run has ended meanwhile
        except InputError:
            found[place.name] = f"another run writes to it; if that is dead, remove {each.uri}"
    return found
