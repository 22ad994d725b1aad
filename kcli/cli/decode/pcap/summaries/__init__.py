"""Summaries of messages: a function for each important API, found by the API's name in a broker's log.

Each gets the decoded request and response ({}: there is none) and returns what was asked and what was answered. The
table adds the errors.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["Message", "Summary"]

Message: TypeAlias = dict[str, Any]
Summary: TypeAlias = Callable[[Message, Message], tuple[str, str]]
