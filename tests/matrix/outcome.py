"""A command run in this process, and what is wrong with how it ended."""

import builtins
import io
import os
import re
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.lines import broker
from tests.hostile import illegible
from tests.inside import written

__all__ = ["Outcome", "problem", "run"]

CODES = (0, 1, 2, 3, 4)
MOST_LINES, LONGEST = 60, 1500
RAW = [name for name, thing in vars(builtins).items() if isinstance(thing, type) and issubclass(thing, Exception)]
# Words of Python, not of kcli, and what a repr says.
FOREIGN = re.compile(rf"\b({'|'.join(RAW)}|Traceback|NoneType|struct\.error)\b|codec can't|<class|object at 0x")


PLACES: dict[str, Callable[[], str]] = {"OUT": lambda: "out", "OTHER": lambda: "no/folder/out", "BROKER": broker}


class Outcome(NamedTuple):
    """code: None where an exception came through, which `error` then shows."""

    code: int | None
    out: bytes
    err: str
    error: str = ""


def run(words: list[str], folder: Path) -> Outcome:
    """kcli with these words in an empty folder: OUT and OTHER among them are files there to be written."""
    words = [PLACES[word]() if word in PLACES else word for word in words]
    before = Path.cwd()
    with tempfile.TemporaryDirectory(dir=folder) as here:
        os.chdir(here)
        err = io.StringIO()
        try:
            code, out = written(words, err)
        except Exception:
            return Outcome(None, b"", err.getvalue(), traceback.format_exc())
        finally:
            os.chdir(before)
        litter = sorted(path.name for path in Path(here).iterdir() if path.name != "out")
        return Outcome(code, out, err.getvalue(), f"left {litter}" if litter else "")


def problem(outcome: Outcome, line: Sequence[str]) -> str:
    """Why an outcome is none that users may see; "" when it is fine."""
    lines = outcome.err.splitlines()
    if outcome.error:
        return outcome.error
    if outcome.code not in CODES:
        return f"exit {outcome.code}"
    if outcome.code >= 2 and not any(line.startswith("kcli: ") for line in lines):
        return f"exit {outcome.code} without a line that says why: {outcome.err[-200:]}"
    if found := FOREIGN.search(outcome.err):
        return f"Python's words on stderr: {found[0]}: {outcome.err[-300:]}"
    if len(lines) > MOST_LINES or any(len(line) > LONGEST for line in lines):
        return f"{len(lines)} lines on stderr, the longest of {max(map(len, lines))} characters"
    shown = outcome.out.decode(errors="replace") if is_text(line) else ""
    return illegible(outcome.err) or illegible(shown) or ""


def is_text(line: Sequence[str]) -> bool:
    """Whether standard output is text. JSON is, and escapes more than it must."""
    if line[0] == "encode":
        return "hex" in line or "base64" in line
    recorded = "--record" in line and line[line.index("--record") + 1] == "-"
    return line[0] not in ("down-convert", "redact") and "parquet" not in line and not recorded
