"""A client's request to the broker, as the journal keeps it."""

from dataclasses import dataclass, field
from typing import Any

from kcli.capture.kafka.error_codes import error_codes
from kcli.counting import few_of
from kcli.schemas.errors import error_name

NO_ANSWER = "no answer yet"


@dataclass(slots=True, eq=False)
class ClientRequest:
    """A request of a client. node: the id of the broker; time: ms since 1970; client: the client id; peer: its address;
    body: decoded; topics: their names.

    response: the response's body without records from files, None if there is none (yet). outcome: "answered", or why
    there is no response, such as a closed connection. size: bytes that the journal counts for it.
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
        """Return the names of the errors in the response, each once."""
        codes = error_codes(self.response) if self.response is not None else []
        return list(dict.fromkeys(error_name(code) for code in codes if code))

    def __str__(self) -> str:
        """Return one line: the time, the client, the request and its outcome."""
        seconds, ms = divmod(self.time, 1000)
        clock = f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{ms:03d}"
        outcome = ", ".join(self.errors) or "ok" if self.response is not None else self.outcome
        client = printable(self.client) or "(no client.id)"
        return f"{clock} {client} {self.peer} -> {self.node}: {self.api} v{self.version}{self.places()}: {outcome}"

    def places(self) -> str:
        """Return the request's topics, group, transactional id and key in brackets, at most 3 of them; "" for none."""
        names = [*self.topics]
        names += [self.body[key] for key in ("groupId", "transactionalId", "key") if self.body.get(key)]
        shown = [printable(str(each)) for each in names if each]
        return f" [{few_of(shown, 3)}]" if shown else ""


def printable(text: str) -> str:
    """Return the first 100 characters of a text, with "?" for those that are not printable."""
    return "".join(each if each.isprintable() else "?" for each in text[:100])
