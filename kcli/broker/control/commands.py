"""The commands of the admin port: methods of `EmbeddedBroker` with arguments and results as JSON."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Callable, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from kcli.broker.control.client_request import ClientRequest
from kcli.broker.control.handles import Handle, WatchHandle
from kcli.errors import UsageError

if TYPE_CHECKING:
    from kcli.broker.embedded import EmbeddedBroker

Arguments = Mapping[str, Any]
MOST_SECONDS = 600.0
WORDS = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "an object"}
WORDS |= {type(None): "null"}


class Commands:
    """Runs commands by name. handles: faults, watches and answers that commands made, by id."""

    def __init__(self, kafka: EmbeddedBroker) -> None:
        self.kafka = kafka
        self.handles: dict[int, Handle] = {}
        self.made = 0

    def run(self, name: str, arguments: Arguments) -> Any:
        """Return the result of a command.

        Raises UsageError for an unknown command or a wrong argument, and TimeoutError if a wait timed out.
        """
        if name not in COMMANDS:
            raise UsageError(f"no command {name!r}; there are {', '.join(COMMANDS)}")
        method = "handles_listed" if name == "list" else name.replace("-", "_")
        command = getattr(self, method, None) or getattr(self.kafka, method)
        check_arguments(name, command, arguments)
        return command(**arguments)

    def keep(self, handle: Handle) -> dict[str, int]:
        """Keep a handle; return {"id": its new number}."""
        self.made += 1
        self.handles[self.made] = handle
        return {"id": self.made}

    def handle(self, number: int) -> Handle:
        """Return the handle with this id. Raises UsageError if there is none."""
        found = self.handles.get(number)
        if found is None:
            raise UsageError(f"nothing has the id {number!r}; there are {sorted(self.handles)}")
        return found

    # --- commands

    def info(self) -> dict[str, Any]:
        """Return the broker's addresses, which nodes run, its topics with their partition counts, and the time."""
        return self.kafka.call(
            lambda broker: {
                "bootstrapServers": broker.bootstrap,
                "listeners": {each.name: broker.bootstrap_of(each.name) for each in broker.listeners},
                "nodes": {str(each): each in broker.controller.running for each in broker.node_ids},
                "topics": {each.name: len(each.partitions) for each in broker.topics},
                "now": broker.now(),
            }
        )

    def create_topic(
        self,
        topic: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: dict[str, Any] | None = None,
    ) -> None:
        """Create a topic."""
        self.kafka.create_topic(topic, partitions, replication=replication, configs=configs)

    def append(self, topic: str, records: str | dict[str, Any] | list[Any], partition: int | None = None) -> list[int]:
        """Append records: texts, or objects with key, value, headers, timestamp, partition. Returns their offsets."""
        return self.kafka.append(topic, records, partition)

    def records(self, topic: str, partition: int | None = None, committed: bool = False) -> list[dict[str, Any]]:
        """Return the records of a topic."""
        found = self.kafka.records(topic, partition, committed=committed)
        return [shown(each._asdict() | {"headers": dict(each.headers)}) for each in found]

    def committed(self, group: str) -> list[dict[str, Any]]:
        """Return the offsets that a group has committed."""
        rows = self.kafka.committed(group).items()
        return [{"topic": topic, "partition": index, "offset": offset} for (topic, index), offset in rows]

    def requests(
        self, api: str | list[str] = "", client: str = "", topic: str = "", last: int = 100
    ) -> list[dict[str, Any]]:
        """Return the latest requests, decoded."""
        return [request_row(each) for each in self.kafka.requests(api, client, topic=topic)[-max(last, 1) :]]

    def fault(self, rule: str = "", **parts: Any) -> dict[str, int]:
        """Add a fault rule, given as one text or by its parts. Returns its id."""
        return self.keep(self.kafka.fault(rule, **parts))

    def observe(self, api: str | list[str] = "", client: str = "", topic: str = "") -> dict[str, int]:
        """Count requests. Returns the id of the watch."""
        return self.keep(self.kafka.observe(api, client, topic=topic))

    def answer(self, api: str, response: dict[str, Any], count: int = 0, client: str = "") -> dict[str, int]:
        """Answer requests of an API with this response. count: how many, 0 for all. Returns the id of the rule."""
        return self.keep(self.kafka.intercept(api, lambda _request: response, client=client, count=count))

    def hits(self, id: int, wait: int = 0, timeout: float = 10) -> dict[str, Any]:  # noqa: A002  as clients name it
        """Return how many requests a fault, watch or answer has matched. wait: first wait until there are so many."""
        found = self.handle(id)
        if wait:
            found.wait(wait, min(timeout, MOST_SECONDS))
        rows = found.requests if isinstance(found, WatchHandle) else []
        return {"hits": found.hits, "requests": [request_row(each) for each in rows]}

    def remove(self, id: int) -> None:  # noqa: A002  as clients name it
        """Remove a fault, watch or answer."""
        self.handle(id).remove()
        del self.handles[id]

    def handles_listed(self) -> list[dict[str, Any]]:
        """Return the present faults, watches and answers."""
        return [{"id": at, "what": each.description, "hits": each.hits} for at, each in self.handles.items()]

    def wait(
        self,
        group: str = "",
        state: str = "",
        members: int | None = None,
        topic: str = "",
        records: int | None = None,
        timeout: float = 10,
    ) -> None:
        """Wait until a group has a state and a number of members, or a topic a number of records."""
        wanted: dict[str, Any] = {"group": group, "state": state, "members": members, "topic": topic}
        self.kafka.wait(timeout=min(timeout, MOST_SECONDS), records=records, **wanted)

    def advance(self, seconds: float = 0, ms: float = 0, minutes: float = 0, hours: float = 0) -> dict[str, int]:
        """Advance the clock. Returns its new time in ms since 1970."""
        self.kafka.clock.advance(seconds, ms=ms, minutes=minutes, hours=hours)
        return {"now": self.kafka.clock.now()}

    def reset(self) -> None:
        """Delete all topics, groups, transactions, faults, watches and answers; start all stopped nodes."""
        self.kafka.reset()
        self.handles.clear()


# Commands that are no methods here are methods of the same name of `EmbeddedBroker`.
COMMANDS = (
    "info", "create-topic", "append", "records", "committed", "requests", "fault", "observe", "answer", "hits", "list",
    "remove", "wait", "advance", "stop-node", "start-node", "leader", "move-leader", "compact", "apply-retention",
    "reset",
)  # fmt: skip


def check_arguments(name: str, command: Callable[..., Any], arguments: Arguments) -> None:
    """Refuse arguments with unknown names or wrong types, so that a TypeError is a bug. Raises UsageError."""
    try:
        inspect.signature(command).bind(**arguments)
    except TypeError as error:
        raise UsageError(f"{name}: {error}") from None
    hints = get_type_hints(command)
    for argument, value in arguments.items():
        hint = hints.get(argument, Any)
        kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        if not any(is_of(kind, value) for kind in kinds):
            words = " or ".join(dict.fromkeys(WORDS[get_origin(kind) or kind] for kind in kinds))
            raise UsageError(f"{name}: {argument}: {words} expected")


def is_of(kind: Any, value: object) -> bool:
    """Return whether a JSON value is of a type; an integer counts as a float, too."""
    if kind is Any or (kind is float and type(value) is int):
        return True
    if get_origin(kind) is list:
        return isinstance(value, list) and all(is_of(get_args(kind)[0], each) for each in value)
    return type(value) is (get_origin(kind) or kind)


def request_row(each: ClientRequest) -> dict[str, Any]:
    """Return a request as a JSON object."""
    names = ("node", "time", "client", "peer", "api", "version", "outcome", "errors", "body", "response")
    return {name: shown(getattr(each, name)) for name in names}


def shown(value: Any) -> Any:
    """Return a value in the types of JSON: bytes as text if they are UTF-8, else as {"base64": ...}."""
    if isinstance(value, Mapping):
        return {str(name): shown(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    return value
