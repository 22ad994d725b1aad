"""A proxy before a Kafka cluster: clients reach every broker through it, and it shows the traffic.

Proxy        one listener for each broker, in this event loop (`async with`)
Each name is imported at its first use.
"""

from typing import TYPE_CHECKING

from kcli.lazy import importing

if TYPE_CHECKING:
    from kcli.proxy.proxy import Proxy

__all__ = ["Proxy"]

__getattr__ = importing(__name__, {"proxy": "Proxy"})
