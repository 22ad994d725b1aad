"""The likely slip of messages that do not decode, as commands put it behind what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcli.errors import DecodeError, InputError
from kcli.schemas.catalog import catalog

if TYPE_CHECKING:
    from kcli.grammar.slips.search import Hint

__all__ = ["MOST", "MOST_LINES", "SlipNamer", "request_hints", "response_hints"]

# In a run, messages whose slips are looked for, and bytes of them: thousands of readings are tried for each.
MOST, MOST_BYTES = 20, 1 << 20
MOST_LINES = 1000  # messages, where each line is answered


def request_hints(frame: bytes, options: dict[str, Any]) -> list[Hint]:
    """Hints for a request. options: dialect."""
    from kcli.grammar.slips import hints

    return hints.request_hints(frame, options["dialect"])


def response_hints(frame: bytes, options: dict[str, Any]) -> list[Hint]:
    """Hints for a response. options: dialect, api, api_version."""
    from kcli.grammar.slips import hints

    dialect, version = options["dialect"], options["api_version"]
    return hints.response_hints(frame, catalog(dialect).api_key(options["api"]), version, dialect)


class SlipNamer:
    """Names the slips of a run's first messages that do not decode."""

    def __init__(self, hints_of: Callable[[bytes, dict[str, Any]], list[Hint]], most: int = MOST) -> None:
        """hints_of: the hints for a frame, by the command's options. most: messages."""
        self.hints_of, self.left, self.bytes_left = hints_of, most, MOST_BYTES

    def text(self, frame: bytes, start: int, options: dict[str, Any]) -> str:
        """ "; it reads to its end with ...", "" where nothing is found. start: the offset of the frame in the input."""
        if not self.left or self.bytes_left <= 0:
            return ""
        from kcli.grammar.slips.hints import hints_text

        self.left, self.bytes_left = self.left - 1, self.bytes_left - len(frame)
        found = hints_text(self.hints_of(frame, options), start)
        return f"; {found}" if found else ""

    def named(self, problem: InputError, frame: bytes, start: int, options: dict[str, Any]) -> InputError:
        """A problem with a frame, and the likely slip behind it."""
        if not isinstance(problem, DecodeError) or not (text := self.text(frame, start, options)):
            return problem
        return DecodeError(problem.path, problem.offset, problem.reason + text, what=problem.what)
