"""The embedded broker: a small Kafka for tests, replays and experiments, with real logs and faults on demand.

Broker       one node or several in this event loop (`async with`)
rebuild      a broker that begins with what a capture shows
Names are imported when they are asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcli.broker.broker import Broker
    from kcli.broker.rebuild import rebuild

__all__ = ["Broker", "rebuild"]

_MODULES = {"Broker": "broker", "rebuild": "rebuild"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Bound here for good: a submodule of the same name would stand in its place once it is imported.
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
