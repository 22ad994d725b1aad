"""Rewrites the brokers' addresses in responses to those of the proxy's listeners. All other bytes stay."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from kcli.client.address import Address
from kcli.errors import DecodeError, EncodeError
from kcli.grammar import frames, messages
from kcli.grammar.selection.select import Selection
from kcli.proxy.endpoints import EndpointPath, endpoint_paths, endpoints_in
from kcli.schemas.catalog import catalog

# (broker id, its own address, the host by which the client reached the proxy) -> the broker's address for the client.
Translate = Callable[[int, Address, str], Address | None]
Buffer = bytes | memoryview


class EndpointResponse:
    """A response in one version that may have brokers' addresses."""

    def __init__(self, api_key: int, version: int, paths: tuple[EndpointPath, ...], dialect: str | None) -> None:
        self.header = messages.response_header(api_key, version, dialect)
        self.codec = messages.response(api_key, version, dialect)
        self.paths = paths

    @cached_property
    def arrays(self) -> Selection | None:
        """Finds endpoints without decoding the message; None if the message always has one."""
        if any(not path.steps for path in self.paths):
            return None
        return self.codec.select([path.text for path in self.paths])

    def has_endpoints(self, frame: Buffer, start: int) -> bool:
        """Return whether a response has any broker's address; most Fetch and Produce responses have none. Raises
        DecodeError.
        """
        if self.arrays is None or self.codec.variants:
            return True
        found = self.arrays.read(frame, start)
        return any(len(found.column(path.text)) for path in self.paths)


class AddressRewriter:
    """Rewrites response frames. translate: returns a broker's address for a client; note: called with a line about a
    response that can't be rewritten.

    learn: called with the body of each decoded response.
    """

    def __init__(
        self,
        translate: Translate,
        note: Callable[[str], None],
        dialect: str | None = None,
        learn: Callable[[dict[str, Any]], None] = lambda body: None,
    ) -> None:
        self.translate, self.note, self.dialect, self.learn = translate, note, dialect, learn
        self._known: dict[tuple[int, int], EndpointResponse | None] = {}
        self._failed: set[tuple[int, int]] = set()

    def find(self, api_key: int, version: int) -> EndpointResponse | None:
        """Return the reader of a response; None if it has no addresses, or the tables lack it."""
        key = api_key, version
        if key not in self._known:
            self._known[key] = self._make(api_key, version)
        return self._known[key]

    def _make(self, api_key: int, version: int) -> EndpointResponse | None:
        tables = catalog(self.dialect)
        if not tables.knows(api_key, version):
            if api_key >= 0:
                error = frames.unknown_version(api_key, version, self.dialect)
                self.note(f"{error.reason}: these pass as they are, with the broker's own addresses if they have any")
            return None
        paths = endpoint_paths(tables.apis[api_key].response, version, self.dialect)
        return EndpointResponse(api_key, version, paths, self.dialect) if paths else None

    def rewrite(self, api_key: int, version: int, frame: Buffer, reached: str) -> bytes | None:
        """Return the frame (without its length) with the proxy's addresses; None if it stays as it is.

        reached: the host by which the client reached the proxy.
        """
        response = self.find(api_key, version)
        if response is None:
            return None
        try:
            return self._rewritten(response, frame, reached)
        except (DecodeError, EncodeError) as error:
            if (api_key, version) not in self._failed:
                self._failed.add((api_key, version))
                self.note(f"{error}: this response went to the client as it is, with the broker's own addresses")
            return None

    def _rewritten(self, response: EndpointResponse, frame: Buffer, reached: str) -> bytes | None:
        start = response.header.skip(frame)
        if not response.has_endpoints(frame, start):
            return None
        body = response.codec.read_whole(frame, start)
        self.learn(body)
        changed = False
        for path in response.paths:
            for endpoint in endpoints_in(body, path):
                own = Address(endpoint["host"] or "", endpoint["port"])
                proxied = self.translate(endpoint[path.id], own, reached)
                if proxied is not None:
                    endpoint["host"], endpoint["port"] = proxied
                    changed = True
        return bytes(frame[:start]) + response.codec.write(body) if changed else None
