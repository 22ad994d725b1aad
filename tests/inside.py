"""kcli run in this process, where a process of its own is not what a test is about: its start takes 0.3 s."""

import contextlib
import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

from kcli.cli.main import main

__all__ = ["kcli", "written"]


def kcli(*words: str, stdin: str | bytes = b"") -> subprocess.CompletedProcess[str]:
    """How `kcli WORDS` ended, and what it wrote."""
    err = io.StringIO()
    code, out = written(words, err, stdin.encode() if isinstance(stdin, str) else stdin)
    return subprocess.CompletedProcess(words, code, out.decode(), err.getvalue())


def written(words: Sequence[str], err: io.StringIO, stdin: bytes = b"") -> tuple[int, bytes]:
    """The exit code, and standard output; `err` has standard error, also where an exception comes through."""
    with tempfile.TemporaryFile() as out, given(stdin):
        text = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(err):
            code = main([*words])
        text.flush()
        out.seek(0)
        data = out.read()
        text.detach()
        return code, data


@contextlib.contextmanager
def given(data: bytes) -> Iterator[None]:
    """Standard input, for a while."""
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
    try:
        yield
    finally:
        sys.stdin = before
