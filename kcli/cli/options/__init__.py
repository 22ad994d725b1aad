"""Options that several commands share, and what they choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Command"]

# A command's function, to which a decorator adds options.
Command = TypeVar("Command", bound=Callable[..., Any])
