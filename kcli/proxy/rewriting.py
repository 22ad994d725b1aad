"""Rewrites the brokers' addresses in responses to those of the proxy's listeners. All other bytes stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any, NamedTuple

from kcli.client.address import Address
from kcli.errors import DecodeError, EncodeError
from kcli.grammar import frames, messages
from kcli.grammar.selection.select import Selection
from kcli.schemas import model
from kcli.schemas.catalog import catalog

# (broker id, its own address, the host by which the client reached the proxy) -> the broker's address for the client.
Translate = Callable[[int, Address, str], Address | None]
Buffer = bytes | memoryview
HOST, PORT = "host", "port"
PORT_TYPES = ("int32", "uint16")


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


class EndpointPath(NamedTuple):
    """The path of an endpoint. steps: the fields that lead to the struct, () for the message itself; id: its field with
    the broker's id; text: the path of that field, for `MessageCodec.select`.
    """

    steps: tuple[str, ...]
    id: str
    text: str


@cache
def endpoint_paths(name: str, version: int, dialect: str | None = None) -> tuple[EndpointPath, ...]:
    """Return the paths of the endpoints in a version of a message; () for most messages. Raises UsageError for an
    unknown message.
    """
    return tuple(paths_below(catalog(dialect).message(name).fields, version, (), ""))


def paths_below(
    fields: tuple[model.Field, ...], version: int, steps: tuple[str, ...], text: str
) -> Iterator[EndpointPath]:
    present = {field.name: field for field in fields if version in field.versions}
    host, port = present.get(HOST), present.get(PORT)
    ids = [each.name for each in present.values() if each.type == "int32" and each.name.endswith("Id")]
    if ids and host is not None and port is not None and host.type == "string" and port.type in PORT_TYPES:
        yield EndpointPath(steps, ids[0], text + ids[0])
    for each in present.values():
        if each.is_struct:
            below = f"{text}{each.name}[]." if each.is_array else f"{text}{each.name}."
            yield from paths_below(each.fields, version, (*steps, each.name), below)


def endpoints_in(body: Any, path: EndpointPath) -> Iterator[dict[str, Any]]:
    """Yield the endpoints at a path of a decoded message (MessageCodec.read). They may be changed in place."""
    found = [body]
    for step in path.steps:
        below = [each.get(step) for each in found if isinstance(each, dict)]
        found = [entry for each in below for entry in (each if isinstance(each, list) else [each])]
    yield from (each for each in found if isinstance(each, dict))
