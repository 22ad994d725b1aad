"""Real shells, which complete what is typed; those that are not installed are skipped, in CI they fail."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

__all__ = ["SHELLS", "completed"]

LIMIT = 60  # seconds until a shell is given up
READY, RAN = "ready> ", "ran:"
# Until a shell shows this, it has not run the line before.
STARTS: Mapping[str, tuple[list[str], str]] = {
    "bash": (["--norc", "--noprofile", "-i"], "source ./script"),
    "zsh": (["-f", "-i"], "autoload -Uz compinit; compinit -u -D; source ./script"),
}
SHELLS = ("bash", "zsh", "fish")
# What `kcli` is to the shell: kcli where it asks for completions; else it shows the words that it was called with.
PROGRAM = f"""#!/bin/sh
if [ -n "$_KCLI_COMPLETE" ]; then exec {sys.executable} -m kcli.cli "$@"; fi
echo "{RAN} $*"
"""


def completed(shell: str, line: str, folder: Path) -> str:
    """The words behind `kcli` after the tab key was pressed at the end of `line`, in that folder."""
    if shutil.which(shell) is None:
        assert "CI" not in os.environ, f"{shell} is not installed"
        pytest.skip(f"{shell} is not installed")
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "kcli").write_text(PROGRAM)
    (programs / "kcli").chmod(0o755)
    words = [sys.executable, "-m", "kcli.cli", "completion", shell]
    (folder / "script").write_bytes(subprocess.run(words, capture_output=True, check=True).stdout)
    environment = {
        **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TERM": "dumb", "PS1": READY, "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
    }  # fmt: skip
    if shell == "fish":
        return completed_by_fish(line, folder, environment)
    return completed_at_terminal(shell, line, folder, environment)


def completed_by_fish(line: str, folder: Path, environment: dict[str, str]) -> str:
    """fish says itself how it completes a line; with one choice it puts that in."""
    ask = ["fish", "--no-config", "-c", f"source ./script; complete --do-complete '{line}'"]
    done = subprocess.run(ask, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT, check=True)
    found = [choice.partition("\t")[0] for choice in done.stdout.splitlines()]
    assert len(found) == 1, done
    return f"{line.rpartition(' ')[0]} {found[0]}".removeprefix("kcli ")


def completed_at_terminal(shell: str, line: str, folder: Path, environment: dict[str, str]) -> str:
    words, prepare = STARTS[shell]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(shell, [shell, *words], environment)
    try:
        os.write(terminal, f"PS1='{READY}'; {prepare}; echo rea''dy\n".encode())
        read_until(terminal, "\nready\r\n")
        os.write(terminal, f"{line}\t\n".encode())
        return read_until(terminal, f"\n{RAN} ", "\r\n").strip()
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def read_until(terminal: int, mark: str, end: str = "") -> str:
    """What a terminal shows between `mark` and `end`."""
    seen, deadline = "", time.monotonic() + LIMIT
    while True:
        _, found, rest = seen.partition(mark)
        if found and end in rest:
            return rest.partition(end)[0] if end else ""
        assert time.monotonic() < deadline and select.select([terminal], [], [], LIMIT)[0], seen
        seen += os.read(terminal, 4096).decode("utf-8", "replace")
