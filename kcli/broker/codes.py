"""Kafka's error codes by name; a name that Kafka does not have is a bug here."""

from __future__ import annotations

from kcli.schemas.errors import ERRORS

CODES = {name: code for code, name in ERRORS.items()}
# The text that Kafka gives along with UNKNOWN_TOPIC_OR_PARTITION.
NOT_HOSTED = "This server does not host this topic-partition."


def error_code(name: str) -> int:
    """Return an error's code by Kafka's name ("NOT_LEADER_OR_FOLLOWER"). Raises KeyError for an unknown name, a
    caller's bug.
    """
    return CODES[name]
