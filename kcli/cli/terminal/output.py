"""Output of data: standard output, or a file that is replaced when all of it is written; never an input."""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import click

from kcli.cli.options import Command
from kcli.cli.terminal.streams import STANDARD_OUTPUT, STDIN, STDOUT
from kcli.errors import InputError, UsageError
from kcli.input_names import RUNS_FOLDER
from kcli.named_file import NamedFile, open_named
from kcli.shell import quoted

Name = str | Path | None  # of a file; None and "-": standard output

OUTPUTS = ("output", "record", "page", "traces")  # options that name a file to write
PRIVATE, SEALED = 0o600, 0o400  # file modes: of raw traffic and files with secrets; of snapshots, as Kafka's own
LINKS = 40  # that a name may lead through, as in Linux

# Files that commands read out of a folder: a partition's, KRaft's, the pipeline's. Compiled where it is needed.
MEMBER = (
    r".+\.(log|index|timeindex|txnindex|snapshot|checkpoint|parquet|jar)"
    r"|leader-epoch-checkpoint|quorum-state|meta\.properties|partition\.metadata"
)


def output_option(command: Command) -> Command:
    """Add -o OUT, for a command that prints data in the format that --format names, or the suffix of OUT."""
    suffix = "Without --format, the suffix of OUT (.jsonl, .csv, ...) determines the format."
    return named_output(f"Write to OUT instead of standard output. {suffix}", command)


def one_form_output_option(command: Command) -> Command:
    """Add -o OUT, for a command that prints data in one form."""
    return named_output("Write to OUT instead of standard output.", command)


def named_output(text: str, command: Command) -> Command:
    replaced = "An existing OUT is replaced at the end; if the input is damaged (exit code 3), by the readable part."
    return click.option("-o", "--output", metavar="OUT", help=f"{text} {replaced}")(command)


@contextlib.contextmanager
def open_output(
    output: Name, inputs: Iterable[str | Path], *, sealed: bool = False, private: bool = False
) -> Iterator[BinaryIO]:
    """Open the output: standard output for None or "-", a pipe or a device as it is, else a file.

    A file is written under a temporary name beside `output`, which it replaces at the end: mode and links of the old
    file stay. So does a partial file when InputError ends the writing: it has the part that could be read. Every other
    exception leaves the old file. inputs: names of the data's sources ("-": standard input), besides the files on the
    command line.

    sealed: it is useless unless complete; it is synced to the disk, and read-only then. private: it holds raw traffic;
    like output of --show-secrets, it is for its owner alone, and written through no link.

    Raises UsageError if the output is one of the inputs, OSError with the name as it was given.
    """
    refuse_inputs(output, inputs)
    private = private or shows_secrets()
    handle = descriptor_of(output)
    if handle == STDOUT:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    shown, target = str(output), os.path.realpath(str(output))
    if handle is not None or is_stream(target):
        with open_named(target if handle is None else os.dup(handle), shown) as out:
            yield cast(BinaryIO, out)
        return
    if private:
        refuse_link(shown)
    with replacement(Path(target), shown, SEALED if sealed else PRIVATE if private else None) as out:
        yield cast(BinaryIO, out)


def descriptor_of(output: Name) -> int | None:
    """Return the open file that a name means: standard output, /dev/stdout, /dev/fd/3, links to them."""
    if output is None or str(output) == "-":
        return STDOUT
    path = Path(output)
    own = os.path.realpath("/dev/fd")
    for _ in range(LINKS):
        folder = os.path.realpath(path.parent)
        if folder == own and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = Path(folder) / path.readlink()
    return None


def is_stream(path: str) -> bool:
    """Return whether the path can't be replaced by a file: it is a pipe, a terminal or a device."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextlib.contextmanager
def replacement(target: Path, shown: str, mode: int | None) -> Iterator[io.BufferedWriter[NamedFile]]:
    """Open a file that replaces the target at the end. mode: of the file; None: that of the one before it, or the usual
    one.
    """
    before, sealed = replaceable(target, shown), mode == SEALED
    part = target.with_name(f".kcli-{os.urandom(6).hex()}.part")
    remove = functools.partial(part.unlink, missing_ok=True)
    # Ctrl-C may come where no block of ours is entered: between two frames of contextlib, which a cycle then keeps.
    atexit.register(remove)
    out = None
    worth = False
    try:
        handle = created(part, shown, private=before is not None or mode is not None)
        out = open_named(handle, shown)
        try:
            yield out
            worth = True
        except InputError as error:
            worth = out.tell() > 0 and not sealed
            if worth:
                error.text += f"; {shown} is incomplete"
            raise
        finally:
            if worth:
                out.flush()
                settle(handle, before, mode, shown)
                out.close()
                part.replace(target)
                if sealed:
                    sync_folder(target.parent)
    finally:
        remove()  # it has its name by now, or is of no use
        atexit.unregister(remove)
        if out is not None:
            with contextlib.suppress(OSError, ValueError):
                out.raw.close()
                out.close()


def created(part: Path, shown: str, *, private: bool) -> int:
    try:
        return os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    except OSError as error:
        reason = error.strerror
        if error.errno == errno.ENOENT:
            named = Path(shown).parent  # or a link leads to another one
            folder = quoted(str(part.parent if named.exists() else named))
            reason = f"there is no folder {folder} to write it to (mkdir -p {folder})"
        raise OSError(error.errno, reason, shown) from None


def replaceable(target: Path, shown: str) -> os.stat_result | None:
    """Return the status of the target; None if it does not exist. Raises OSError if it is not a file, or can't be
    written.
    """
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OSError(error.errno, error.strerror, shown) from None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder; the name of a file is expected", shown)
    if not os.access(target, os.W_OK):
        code = errno.EROFS if os.statvfs(target).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(code, os.strerror(code), shown)
    return status


def settle(handle: int, before: os.stat_result | None, mode: int | None, shown: str) -> None:
    """Give a written file its mode, and the owner of the file that it replaces. A sealed file is synced, too. Raises
    OSError.
    """
    try:
        if before is not None:
            with contextlib.suppress(PermissionError):
                os.fchown(handle, before.st_uid, before.st_gid)
            os.fchmod(handle, stat.S_IMODE(before.st_mode))
        if mode is not None:
            os.fchmod(handle, mode)
        if mode == SEALED:
            os.fsync(handle)
    except OSError as error:
        raise OSError(error.errno, error.strerror, shown) from None


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_inputs(output: Name, inputs: Iterable[str | Path]) -> None:
    """Raise UsageError if the output is an input, by any name; is an input file of a folder; or belongs to the log
    segment of an input. Any other file on the command line is an input, too.
    """
    refuse_second(output)
    output_status = status_of(output, STDOUT)
    if output_status is None or not stat.S_ISREG(output_status.st_mode):
        return
    shown = STANDARD_OUTPUT if output in (None, "-") else str(output)
    option = option_of(shown)
    for each in (*inputs, *named_files()):
        input_status = status_of(each, STDIN)
        if input_status is None:
            continue
        if stat.S_ISREG(input_status.st_mode) and os.path.samestat(output_status, input_status):
            name = "standard input" if str(each) == "-" else each
            raise UsageError(f"{option} {shown}: is the input {name} itself (another file expected)")
        if shown != STANDARD_OUTPUT and is_part_of(Path(str(output)), each, input_status):
            raise UsageError(f"{option} {shown}: belongs to the input {each} (another file expected)")


def refuse_second(output: Name) -> None:
    """Raise UsageError where two options of the command name the same file to write."""
    context = click.get_current_context(silent=True)
    if context is None or output is None or is_stream(str(output)):
        return
    paths = [
        (min(each.opts, key=len), context.params.get(each.name or ""))
        for each in context.command.params
        if each.name in OUTPUTS
    ]
    target = os.path.realpath(output)
    same = [f"{option} {file}" for option, file in paths if file is not None and os.path.realpath(str(file)) == target]
    if len(same) > 1:
        raise UsageError(f"{', '.join(same)}: one file for two outputs (another one expected)")


def option_of(output: str) -> str:
    """Return the option by which the command got an output, in its shortest form."""
    context = click.get_current_context(silent=True)
    if context is not None:
        for each in context.command.params:
            if each.name in OUTPUTS and str(context.params.get(each.name)) == output:
                return min(each.opts, key=len)
    return "-o"


def named_files() -> Iterator[str]:
    """Yield the files that options and arguments of the command name: keys, properties, rules,
    definitions of messages.
    """
    context = click.get_current_context(silent=True)
    for name, value in ({} if context is None else context.params).items():
        if name in OUTPUTS:
            continue
        for text in filter(None, map(str, value if isinstance(value, tuple) else (value,))):
            folder = name == "dialect" and Path(text).is_dir()
            for path in (text, text.partition("=")[2]):
                with contextlib.suppress(OSError, ValueError):
                    if path and Path(path).is_file():
                        yield path
            yield from map(str, Path(text).glob("*.json")) if folder else ()


def shows_secrets() -> bool:
    """Return whether the command was asked to show secrets."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.params.get("secrets"))


def refuse_link(output: str) -> None:
    """Raise UsageError if the output is a symbolic link: another user may have placed it there."""
    if Path(output).is_symlink():
        raise UsageError(f"-o {output}: is a symbolic link; a file for its owner alone is not written through one")


def open_private(path: Path, flags: int) -> int:
    """Open a file for its owner alone, not through a link. Returns a descriptor. Raises OSError, with the name."""
    try:
        handle = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
        os.fchmod(handle, PRIVATE)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    return handle


def status_of(name: Name, standard: int) -> os.stat_result | None:
    """Return the status of a file; None if there is none. standard: the descriptor that "-" means."""
    try:
        return os.fstat(standard) if name is None or str(name) == "-" else os.stat(name)  # noqa: PTH116
    except OSError:
        return None


def is_part_of(output: Path, source: str | Path, status: os.stat_result) -> bool:
    """Return whether an existing file is a member of an input folder, or of an input's log segment."""
    path = Path(os.path.realpath(output))
    where = Path(os.path.realpath(source))
    if stat.S_ISDIR(status.st_mode):
        inside = path.is_relative_to(where)
        return inside and (is_member(path.name) or RUNS_FOLDER in path.relative_to(where).parts)
    stem = where.name.partition(".")[0]
    same = path.parent == where.parent and path.name.partition(".")[0] == stem and stem.isdecimal()
    return same and is_member(path.name) and is_member(where.name)


def is_member(name: str) -> bool:
    return re.fullmatch(MEMBER, name) is not None
