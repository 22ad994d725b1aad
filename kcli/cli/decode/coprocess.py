"""`--lines`: a message on each line of the input, each answered by one line as soon as it is there.

Lines are independent: a line that can't be read is answered by {"error", "line"}, and the next line is read. Answers
are written when no whole line of input is left to answer, so that a program may wait for each; lines that come in bulk
are answered in bulk.
"""

import io
import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from kcli.base64_text import unbase64
from kcli.cli.options.inputs import refuse_two_forms
from kcli.cli.terminal.output import open_output
from kcli.cli.terminal.streams import standard_input
from kcli.counting import counted
from kcli.errors import DecodeError, EncodeError, InputError, KcliError, UsageError
from kcli.hex_text import plain_line
from kcli.input_names import name_of
from kcli.jsontext import dumps, loads

CHUNK = 1 << 16  # bytes read at once
LONGEST = 1 << 26  # bytes of a line
AWAKE = 100_000  # ns of busy waiting for a program's next line: waking a core takes longer than most answers
FORMS = ("hex", "base64")


class InputLine(NamedTuple):
    """A line of the input, without its end. text: None where it is longer than LONGEST."""

    number: int
    text: bytes | None


class Reply(NamedTuple):
    """A line of the output, without its end. problem: why the input has no better one. is_no: the answer is "no"."""

    text: bytes
    problem: str = ""
    is_no: bool = False


def check_lines(options: dict[str, Any], forms: tuple[str, ...] = ("json",)) -> None:
    """Raise UsageError for options that make no sense with --lines. forms: the allowed values of --format."""
    refuse_two_forms(options.get("hex_", False), options.get("base64_", False))
    if (form := options.get("format_", forms[0])) not in forms:
        raise UsageError(f"--format {form}: with --lines all answers are lines of JSON")


def answer_lines(file: str, answer: Callable[[bytes, int], Reply], output: str | None = None) -> int:
    """Answer each line of a file, or of standard input ("-"). answer: returns the reply to (text, line number), and
    raises KcliError for a bad line. Returns 1 if an answer was "no". Raises InputError at the end if lines were bad.
    """
    found, bad, first, refused = 0, 0, "", False
    with opened(file) as source, open_output(output, [file]) as out:
        wait = waiting(source)
        for lines in whole_lines(source):
            for number, text in lines:
                reply = reply_to(text, number, answer)
                out.write(reply.text)
                out.write(b"\n")
                refused = refused or reply.is_no
                if reply.problem:
                    bad, first = bad + 1, first or f"line {number}: {reply.problem}"
            found += len(lines)
            out.flush()
            wait()
        if bad:
            raise InputError(f"{bad:,} of {counted(found, 'line')} can't be answered: {first}", file=name_of(file))
    return int(refused)


@contextmanager
def opened(file: str) -> Iterator[io.BufferedReader]:
    if file == "-":
        yield standard_input()
        return
    with Path(file).open("rb") as source:
        yield source


def waiting(source: io.BufferedReader) -> Callable[[], None]:
    """Return a function that polls for input for at most AWAKE. On a single core it returns at once: the writer needs
    the core.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    poll, now = select.poll(), time.perf_counter_ns
    try:
        poll.register(source, select.POLLIN)
    except io.UnsupportedOperation:  # a stream without a descriptor
        cores = 1
    if cores == 1:
        return lambda: None

    def wait() -> None:
        end = now() + AWAKE
        while not poll.poll(0) and now() < end:
            pass

    return wait


def whole_lines(source: io.BufferedReader) -> Iterator[list[InputLine]]:
    """Yield the complete lines of each read. The last line needs no line end."""
    number, size = 0, 0  # of the lines that have ended; bytes of the one under way
    held = bytearray()  # the start of the current line; empty if it is too long
    while chunk := source.read1(CHUNK):
        first, *others = chunk.split(b"\n")
        size += len(first)
        if size <= LONGEST:
            held += first
        else:
            held.clear()
        if not others:
            continue
        *whole, rest = others
        texts = [bytes(held) if size <= LONGEST else None, *whole]
        yield [*map(InputLine, count(number + 1), texts)]
        number += len(texts)
        size, held = len(rest), bytearray(rest)
    if size:
        yield [InputLine(number + 1, bytes(held) if size <= LONGEST else None)]


def reply_to(text: bytes | None, number: int, answer: Callable[[bytes, int], Reply]) -> Reply:
    try:
        if text is None:
            raise InputError(f"longer than {LONGEST >> 20} MiB")
        return answer(text, number)
    except KcliError as error:
        return error_reply(error, number)
    except RecursionError:
        return error_reply(InputError("nested too deep"), number)


def error_reply(error: KcliError, number: int, row: dict[str, Any] | None = None) -> Reply:
    """Return the answer to a bad line. row: the members that could be read; they come first."""
    text = str(error)
    reply: dict[str, Any] = {"error": text, "line": number}
    if isinstance(error, DecodeError | EncodeError):
        reply["path"] = error.path
    if isinstance(error, DecodeError):
        reply["offset"] = error.offset
    return Reply(dumps((row or {}) | reply).encode(), text)


def message_of(text: bytes, number: int, base64_: bool) -> tuple[bytes, dict[str, Any]]:
    """Return (bytes, JSON) of a line: hex or base64 text, or a JSON object with "hex" or "base64".
    Raises InputError.
    """
    if text[:1] == b"{":
        row = loads(text, line=number)
        return bytes_in(row, number), row
    return bytes_of(text, number, base64_), {}


def bytes_in(row: dict[str, Any], number: int) -> bytes:
    """Return the bytes of a JSON object that has them as "hex" or "base64". Raises InputError."""
    named = [(form, row[form]) for form in FORMS if form in row]
    if len(named) != 1 or not isinstance(named[0][1], str):
        raise InputError('an object needs the message as text, "hex" or "base64"')
    [(form, text)] = named
    return bytes_of(text.encode(errors="replace"), number, form == "base64")


def bytes_of(text: bytes, number: int, base64_: bool) -> bytes:
    """Return the bytes that a line of hex or base64 stands for. Raises InputError for another text."""
    if not text.strip():
        raise InputError("no bytes: a message expected")
    if base64_:
        return unbase64(text)
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        return plain_line(text.decode("latin-1"), number)
