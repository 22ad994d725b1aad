"""The likely slip in messages that do not decode, as commands append it to the problem."""

from collections.abc import Callable
from typing import Any

from kcli.errors import DecodeError, InputError
from kcli.schemas.catalog import catalog

# Most messages, and bytes of them, whose slips a run looks for: each takes thousands of trial readings.
MOST, MOST_BYTES = 20, 1 << 20
MOST_LINES = 1000  # most messages with --lines


def request_text(frame: bytes, start: int, options: dict[str, Any]) -> str:
    """Return the slips of a request at `start` of the input, after "; "; "" where none is found. options: dialect."""
    from kcli.grammar.slips import hints

    return behind(hints.hints_text(hints.request_hints(frame, options["dialect"]), start))


def response_text(frame: bytes, start: int, options: dict[str, Any]) -> str:
    """Return the slips of a response. options: dialect, api, api_version."""
    from kcli.grammar.slips import hints

    dialect, version = options["dialect"], options["api_version"]
    found = hints.response_hints(frame, catalog(dialect).api_key(options["api"]), version, dialect)
    return behind(hints.hints_text(found, start))


def message_text(frame: bytes, start: int, options: dict[str, Any]) -> str:
    """Return the slips of a response where the options have an api, else of a request."""
    return (response_text if "api" in options else request_text)(frame, start, options)


def batch_text(data: bytes, start: int, options: dict[str, Any]) -> str:
    """Return the slips of a batch that is the input."""
    from kcli.records.slips import hints

    return behind(hints.batch_text(hints.batch_hints(data)))


def records_text(data: bytes, start: int, options: dict[str, Any]) -> str:
    """Return the slips of the batches of a message, at `start` of the input."""
    from kcli.records.slips import hints

    return behind(hints.batch_text(hints.batch_hints(data), start))


def behind(text: str) -> str:
    return f"; {text}" if text else ""


class SlipNamer:
    """Names the slips of a run's first messages that do not decode."""

    def __init__(self, text_of: Callable[[bytes, int, dict[str, Any]], str], most: int = MOST) -> None:
        """Name slips. text_of: returns the slips of a frame, by its offset in the input and the options. most:
        messages.
        """
        self.text_of, self.left, self.bytes_left = text_of, most, MOST_BYTES

    def text(self, frame: bytes, start: int, options: dict[str, Any]) -> str:
        """Return "; it reads to its end with ...", "" where nothing is found. start: the offset of the frame in the
        input.
        """
        if not self.left or self.bytes_left <= 0:
            return ""
        self.left, self.bytes_left = self.left - 1, self.bytes_left - len(frame)
        return self.text_of(frame, start, options)

    def named(self, problem: InputError, frame: bytes, start: int, options: dict[str, Any]) -> InputError:
        """Return a problem with a frame, with the likely slip added."""
        if not isinstance(problem, DecodeError) or not (text := self.text(frame, start, options)):
            return problem
        return DecodeError(problem.path, problem.offset, problem.reason + text, what=problem.what)
