"""The exchanges of captures in the order of their requests, read as a stream."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from kcli.capture.kafka.exchange import Exchange

WINDOW_SECONDS = 60.0  # a longer exchange comes late, after later ones of other connections


def in_order(items: Iterable[object], memory: int, window: float = WINDOW_SECONDS) -> Iterator[Exchange]:
    """Yield the exchanges among `items`, which come in the order of their responses, by the time of their requests.

    memory: the most bytes of frames that are held to order them; beyond it the oldest is yielded first. Requests of one
    connection stay in their order.
    """
    waiting: list[tuple[int, int, Exchange]] = []
    held, latest = 0, 0
    for number, item in enumerate(items):
        if not isinstance(item, Exchange):
            continue
        heappush(waiting, (item.request_ns, number, item))
        held += size_of(item)
        latest = max(latest, item.response_ns or 0)
        while waiting and (held > memory or waiting[0][0] < latest - window * 1e9):
            found = heappop(waiting)[2]
            held -= size_of(found)
            yield found
    while waiting:
        yield heappop(waiting)[2]


def size_of(exchange: Exchange) -> int:
    """Count the bytes of an exchange on the wire."""
    return exchange.request_bytes + (exchange.response_bytes or 0)
