"""What both sides of a proxied connection say, damaged: nothing but a NetworkError is raised, and bytes pass."""

import functools
import random
from collections import deque
from collections.abc import Iterator

from kcli.broker.net.read_buffers import ReadBuffers
from kcli.client.address import Address
from kcli.errors import NetworkError
from kcli.grammar import frames
from kcli.proxy.faulting import FaultedRequests, HeardTopicNames, ProxyFaultRules
from kcli.proxy.request_stream import Awaited, RequestStream
from kcli.proxy.response_stream import ResponseStream
from kcli.proxy.rewriting import AddressRewriter
from kcli.schemas.catalog import catalog
from tests import messages as made
from tests.fuzz.damage import damaged
from tests.proxy.talk import feed

__all__ = ["proxying"]

TALKS = 6  # exchanges of a round
BUFFERS = ReadBuffers()
HELD = 1 << 16  # bytes of the longest response that is rewritten here
RULES = ("api=Produce,error=NOT_LEADER_OR_FOLLOWER,every=2", "partition=0,error=UNKNOWN_SERVER_ERROR,probability=0.5",
         "api=Metadata,ignore,every=3", "delay=1,every=2", "error=CORRUPT_MESSAGE,probability=0.2")  # fmt: skip


@functools.cache
def exchanges() -> list[tuple[bytes, bytes]]:
    """Each API's request and response in each version, with correlation id 7, both behind their lengths."""
    known, found = catalog(), list[tuple[bytes, bytes]]()
    for key, api in known.apis.items():
        for version in api.versions:
            header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 7}
            request = frames.encode_request(header, made.filled(known.message(api.request), version))
            body = made.filled(known.message(api.response), version)
            response = frames.encode_response({"correlationId": 7}, key, version, body)
            found.append((sized(request), sized(response)))
    return found


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def proxying(rng: random.Random) -> bytes:
    """A connection's bytes: whichever way they are cut, the same passes, and is recorded as the broker said it."""
    talk = rng.choices(exchanges(), k=TALKS)
    asked, said = b"".join(each for each, _ in talk), b"".join(each for _, each in talk)
    asked, said = (damaged(each, rng) if rng.random() < 0.7 else each for each in (asked, said))
    whole, cut = Passing([asked], [said]), Passing(pieces(asked, rng), pieces(said, rng))
    assert whole.requests == asked[: len(whole.requests)] and cut.requests == asked[: len(cut.requests)]
    assert (whole.passed, whole.recorded) == (cut.passed, cut.recorded)
    assert whole.recorded == said[: len(whole.recorded)]
    rules = ProxyFaultRules(rng.sample(RULES, 2), rng.randrange(100))
    Passing(pieces(asked, rng), pieces(said, rng), rules)
    return asked + said


def pieces(data: bytes, rng: random.Random) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        size = rng.choice((1, 4, 7, 100, 5000))
        yield data[start : start + size]
        start += size


class Passing:
    """requests: what the broker gets; passed: what the client gets; recorded: that with the broker's own addresses."""

    def __init__(
        self,
        asked: Iterator[bytes] | list[bytes],
        said: Iterator[bytes] | list[bytes],
        rules: ProxyFaultRules | None = None,
    ) -> None:
        awaited = deque[Awaited]()
        names = HeardTopicNames()
        rewriter = AddressRewriter(
            lambda node, there, reached: Address(reached, 9192), print_nothing, None, names.learn
        )
        stream = RequestStream(awaited) if rules is None else FaultedRequests(rules, awaited, names)
        responses = ResponseStream(awaited, rewriter, "proxy", BUFFERS, HELD, print_nothing)
        self.requests = self.passed = self.recorded = b""
        try:
            for each in asked:
                self.requests += stream.feed(each)
        except NetworkError:
            pass
        for each in (b"", *said):
            self.take(*feed(responses, each))
            while responses.planned is not None:
                responses.planned = None
                self.take(*feed(responses, b""))

    def take(self, passed: bytes, recorded: bytes) -> None:
        self.passed += passed
        self.recorded += recorded


def print_nothing(_text: str) -> None:
    pass
