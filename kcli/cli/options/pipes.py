"""Named pipes among the files of a command, as `<(zcat night.pcap.gz)` or /dev/stdin, which can be read only once.
Commands look at the start of a file, and some read it twice. They handle that for standard input ("-"), so the first
pipe becomes that. Others are copied to temporary files, removed when the command ends.
"""

import os
import select
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from kcli.cli.options.file_type import start_of
from kcli.cli.terminal.streams import standard_input
from kcli.input_names import name_of, note_copy
from kcli.temporary import lasting_folder

STDIN = 0
LOOK_SECONDS = 0.1


def without_pipes(files: Sequence[str]) -> tuple[str, ...]:
    """Return the files, each pipe by a name that can be read as any other file. Raises OSError."""
    made: list[str] = []
    for file in files:
        if file == "-" or not is_pipe(file):
            made.append(file)
        elif "-" in (*files, *made):
            made.append(copied(file))
        else:
            become_input(file)
            made.append("-")
    return tuple(made)


def has_more() -> bool:
    """Wait for bytes on standard input, or its end. Returns False if the wait is no longer needed."""
    from kcli.capture.io.capture_file import StandardInput

    while not select.select([STDIN], [], [], LOOK_SECONDS)[0]:
        if StandardInput.given_up.is_set():
            return False
    return True


def is_pipe(file: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(file).st_mode)  # noqa: PTH116
    except OSError:
        return False


def become_input(file: str) -> None:
    """Make a pipe standard input."""
    handle = os.open(file, os.O_RDONLY)
    if handle != STDIN:
        os.dup2(handle, STDIN)
        os.close(handle)


def with_input_aside(files: Sequence[str], is_read_once: Callable[[bytes], bool]) -> tuple[str, ...]:
    """Return the files; in place of standard input a copy, if it has to be read twice by its first bytes.

    Raises OSError.
    """
    if "-" not in files or is_read_once(start_of("-") or b""):
        return tuple(files)
    aside = copied("-")
    return tuple(aside if file == "-" else file for file in files)


def copied(file: str, name: str | None = None) -> str:
    """Copy the contents of a pipe or standard input. name: of the copy in its folder. Returns the copy's path."""
    import shutil  # a start without pipes is spared it

    path = Path(lasting_folder("kcli-pipe-")) / (name or Path(name_of(file)).name)
    note_copy(str(path), file)
    with path.open("wb") as copy:
        if file == "-":
            shutil.copyfileobj(standard_input(), copy)
        else:
            with open(file, "rb") as source:  # noqa: PTH123
                shutil.copyfileobj(source, copy)
    return str(path)
