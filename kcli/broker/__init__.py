"""The embedded broker: a small Kafka for tests, replays and experiments, with real logs and faults on demand.

Broker       one node or several in this event loop (`async with`)
rebuild      a broker with the topics and records that a capture shows
Each name is imported at its first use.
"""

from typing import TYPE_CHECKING

from kcli.lazy import importing

if TYPE_CHECKING:
    from kcli.broker.broker import Broker
    from kcli.broker.rebuilt.rebuild import rebuild

__all__ = ["Broker", "rebuild"]

__getattr__ = importing(
    __name__,
    {
        "broker": "Broker",
        "rebuilt.rebuild": "rebuild",
    },
)
