"""Requests of one connection that wait for their responses, in order, and found by correlation id in constant time."""

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kcli.grammar.request_start import PREFIX

REQUEST_SIZE = 64  # bytes of memory counted for a request besides its frame


@dataclass(slots=True)
class Pending:
    """A request that waits for its response. frame: None if it is damaged, or (token) a SASL token.

    began: when its first bytes came (ns). pause, in_flight: see `kcli.capture.kafka.exchange.Timing`. cut: its size on
    the wire (bytes) if the frame has only its first bytes, as others are not in the capture; None: it is whole.
    """

    correlation_id: int
    api_key: int
    api_version: int
    ns: int
    frame: bytes | None
    token: bool = False
    began: int = 0
    pause: int = -1
    in_flight: int = -1
    cut: int | None = None

    @property
    def is_whole(self) -> bool:
        """True if all bytes of its frame are known."""
        return self.frame is not None and self.cut is None

    @property
    def size(self) -> int:
        """Its bytes on the wire; PREFIX if they are unknown."""
        return self.cut or len(self.frame or b"") + PREFIX


class PendingRequests:
    """A queue of `Pending`. size: bytes of memory counted for it. odd: the number of entries without a whole frame."""

    def __init__(self, requests: Iterable[Pending] = ()) -> None:
        self.requests: OrderedDict[int, Pending] = OrderedDict()
        self.by_id: dict[int, deque[int]] = {}
        self.number = self.size = self.odd = 0
        for request in requests:
            self.append(request)

    def __len__(self) -> int:
        return len(self.requests)

    def __iter__(self) -> Iterator[Pending]:
        return iter(self.requests.values())

    @property
    def first(self) -> Pending | None:
        """The oldest request; None if there is none."""
        return next(iter(self.requests.values()), None)

    def append(self, request: Pending) -> None:
        """Add a request behind all others."""
        self.number += 1
        self.requests[self.number] = request
        if not request.token:
            self.by_id.setdefault(request.correlation_id, deque()).append(self.number)
        self.size += size_of(request)
        self.odd += not request.is_whole

    def popleft(self) -> Pending:
        """Remove and return the oldest request. Raises IndexError if there is none."""
        if not self.requests:
            raise IndexError("no request waits")
        return self.remove(next(iter(self.requests)))

    def remove(self, number: int) -> Pending:
        """Remove the request with this number in the queue. Raises KeyError."""
        request = self.requests.pop(number)
        if not request.token:
            same = self.by_id[request.correlation_id]
            same.remove(number)  # mostly the first, as the oldest request of an id is answered first
            if not same:
                del self.by_id[request.correlation_id]
        self.size -= size_of(request)
        self.odd -= not request.is_whole
        return request

    def take(self, correlation_id: int) -> Pending | None:
        """Remove and return the oldest request with this id; None if there is none."""
        same = self.by_id.get(correlation_id)
        return self.remove(same[0]) if same else None

    def find(self, correlation_id: int) -> Pending | None:
        """Return the oldest request with this id; None if there is none."""
        same = self.by_id.get(correlation_id)
        return self.requests[same[0]] if same else None

    def before(self, correlation_id: int) -> list[Pending]:
        """Remove and return the requests before the oldest one with this id."""
        same = self.by_id.get(correlation_id)
        passed: list[Pending] = []
        while same and next(iter(self.requests)) < same[0]:
            passed.append(self.popleft())
        return passed

    def clear(self) -> None:
        """Forget all requests."""
        self.requests.clear()
        self.by_id.clear()
        self.size = self.odd = 0


def size_of(request: Pending) -> int:
    return REQUEST_SIZE + len(request.frame or b"")
