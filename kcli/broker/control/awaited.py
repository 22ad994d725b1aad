"""The states of groups and topics that a program can wait for, and their differences from the present state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.broker.control import records as stored
from kcli.errors import UsageError
from kcli.nearest import suggestion

if TYPE_CHECKING:
    from kcli.broker.broker import Broker


def check_state(state: str) -> None:
    """Refuse the name of an unknown group state. Raises UsageError."""
    from kcli.broker.groups.state import State

    known = ["None", *(each.value for each in State)]
    if state and state.lower() not in map(str.lower, known):
        raise UsageError(f"wait: no such state {state}" + (suggestion(state, known) or f"; {', '.join(known)}"))


def group_lacks(broker: Broker, name: str, state: str, members: int | None) -> str:
    """Return a text about a group that is not in the wanted state, "" if it is.

    state: "" for any, "none" or "dead" for no group; members: how many, None for any number.
    """
    group = broker.groups.get(name)
    have = group.state.value if group is not None else "none"
    count = len(group.members) if group is not None else 0
    if (not state or have.lower() == state.lower()) and (members is None or count == members):
        return "" if group is not None or state.lower() in ("none", "dead") else f"there is no group {name}"
    wanted = "any number" if members is None else members
    return f"group {name}: {have} with {count} members; {state or 'any state'} with {wanted} expected"


def topic_lacks(broker: Broker, name: str, records: int | None) -> str:
    """Return a text about a topic that is missing or has fewer records than wanted, else "". records: None for any
    number.
    """
    topic = broker.topics.by_name.get(name)
    if topic is None:
        return f"there is no topic {name}"
    count = len(stored.read(topic, None, committed=False)) if records is not None else 0
    return f"topic {name}: {count} records; {records} expected" if count < (records or 0) else ""
