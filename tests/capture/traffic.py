"""Connections with exchanges on them, and in short what came out of one."""

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.messages import metadata
from tests.capture.wires import Packet, Wire

__all__ = ["chatter", "events", "summary", "without"]


def summary(items: list[Exchange | Event]) -> list[str]:
    """Items in short: "METADATA 2" with its correlation id, "... ?" unanswered, or an event's kind."""
    return [
        f"{item.api_name} {item.correlation_id}{'' if item.response_frame else ' ?'}"
        if isinstance(item, Exchange) else item.kind
        for item in items
    ]  # fmt: skip


def events(items: list[Exchange | Event]) -> list[Event]:
    """The events alone."""
    return [item for item in items if isinstance(item, Event)]


def chatter(numbers: range, wire: Wire) -> Wire:
    """Add a Metadata exchange for each correlation id."""
    for number in numbers:
        asked, answer = metadata(number)
        wire.client(asked).server(answer)
    return wire


def without(wire: Wire, *lost: int) -> list[Packet]:
    """The packets but those with these numbers."""
    return [packet for at, packet in enumerate(wire.packets) if at not in lost]
