"""The brokers' addresses in responses, found by a rule over the message tables, so that new messages need no code.

An endpoint is a struct with a broker's id (an int32 named nodeId, brokerId, leaderId, ...), a `host` and a `port`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from kcli.schemas import model
from kcli.schemas.catalog import catalog

HOST, PORT = "host", "port"
PORT_TYPES = ("int32", "uint16")


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
