"""Worker processes: forks of this one, and pipes to them."""

import os
import signal
import stat
import struct
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from kcli.capture.filters import Filter
from kcli.temporary import ENDING

LENGTH = struct.Struct("=q")


def can_share(files: Sequence[str], chosen: Filter, key_logs: Sequence[str]) -> bool:
    """Return whether several processes can share these files: the core can read each of them twice, and each process
    can filter on its own.
    """
    if not hasattr(os, "fork") or key_logs or chosen.where is not None or chosen.topic is not None:
        return False
    return "-" not in files and all(stat.S_ISREG(Path(name).stat().st_mode) for name in files if Path(name).exists())


def fork_to(work: Callable[[], None], unused: Sequence[int]) -> int:
    """Fork a process that only does the work, and return its id. unused: files to close in it."""
    pid = os.fork()
    if not pid:
        for file in unused:
            os.close(file)
        do(work)
    return pid


def do(work: Callable[[], None]) -> NoReturn:
    """Do the work and exit without the first process's cleanup, so that nothing is written twice."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides when this one ends
        for number in ENDING:  # signals at which the first process cleans up; this one must not
            signal.signal(number, signal.SIG_DFL)
        work()
        code = 0
    except BrokenPipeError:
        pass  # the first process has ended
    except BaseException:  # noqa: BLE001  a fork must not go on as its parent
        traceback.print_exc()
    finally:
        os._exit(code)


def stop(pid: int) -> None:
    """End a process, whatever it is doing."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def write_packed(pipe: int, data: bytes) -> None:
    """Write bytes with their length in front."""
    write_all(pipe, LENGTH.pack(len(data)) + data)


def write_all(pipe: int, data: bytes) -> None:
    """Write all bytes to a pipe."""
    done = 0
    while done < len(data):
        done += os.write(pipe, memoryview(data)[done:])


def read_packed(pipe: int) -> bytes:
    """Read bytes as `write_packed` writes them. Raises BrokenPipeError if the pipe ends before."""
    return read_all(pipe, *LENGTH.unpack(read_all(pipe, LENGTH.size)))


def read_all(pipe: int, size: int) -> bytes:
    """Read `size` bytes. Raises BrokenPipeError if the pipe ends before."""
    found = bytearray()
    while len(found) < size:
        more = os.read(pipe, min(size - len(found), 1 << 20))
        if not more:
            raise BrokenPipeError
        found += more
    return bytes(found)
