"""A request of a client of the broker, as the journal keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kcli.capture.kafka.error_codes import error_codes
from kcli.counting import few_of
from kcli.schemas.errors import error_name

NO_ANSWER = "no answer yet"


@dataclass(slots=True, eq=False)
class ClientRequest:
    """A request that a client sent: to which node, when (ms since 1970), its API and version, and its body decoded.

    response: the body of the answer, None as long as there is none; records from files are left out of it. outcome: in
    words where there was no answer, as when the connection was closed.
    """

    node: int
    time: int
    client: str
    peer: str
    api: str
    api_key: int
    version: int
    correlation_id: int
    body: dict[str, Any]
    topics: tuple[str, ...] = ()
    response: dict[str, Any] | None = None
    outcome: str = NO_ANSWER
    size: int = field(default=0, repr=False)

    @property
    def errors(self) -> list[str]:
        """Return the names of the errors in the answer, each once."""
        codes = error_codes(self.response) if self.response is not None else []
        return list(dict.fromkeys(error_name(code) for code in codes if code))

    def __str__(self) -> str:
        """Return one line: the time, the client, the request and its outcome."""
        seconds, ms = divmod(self.time, 1000)
        clock = f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{ms:03d}"
        said = ", ".join(self.errors) or "ok" if self.response is not None else self.outcome
        who = printable(self.client) or "(no client.id)"
        return f"{clock} {who} {self.peer} -> {self.node}: {self.api} v{self.version}{self.places()}: {said}"

    def places(self) -> str:
        """Return the topics or the group that the request is about, in brackets."""
        names = [*self.topics]
        names += [self.body[key] for key in ("groupId", "transactionalId", "key") if self.body.get(key)]
        shown = [printable(str(each)) for each in names if each]
        return f" [{few_of(shown, 3)}]" if shown else ""


def printable(text: str) -> str:
    """Return a text without control characters, cut where it is long."""
    return "".join(each if each.isprintable() else "?" for each in text[:100])
