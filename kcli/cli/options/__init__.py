"""Options that several commands share, and the values that they choose."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

__all__ = ["Command", "with_options"]

# A command's function, to which a decorator adds options.
Command = TypeVar("Command", bound=Callable[..., Any])


def with_options(command: Command, options: Sequence[Callable[[Any], Any]]) -> Command:
    """Add options to a command, in their order."""
    for option in reversed(options):
        command = option(command)
    return command
