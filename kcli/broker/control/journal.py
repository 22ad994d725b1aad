"""The latest requests of a broker's clients, with their responses."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kcli.broker.request import Request
from kcli.broker.response import Answer, EncodedBody
from kcli.capture.kafka.error_codes import error_codes
from kcli.counting import few_of
from kcli.schemas.errors import error_name
from kcli.schemas.secrets import ALWAYS, secret_fields

MOST, MOST_BYTES = 20_000, 64 << 20
FORGOTTEN = -1
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


def without_secrets(message: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return a message's body with nothing where passwords and keys are."""
    paths = [path.split(".") for path, how in secret_fields(message).items() if how == ALWAYS]
    if not paths:
        return body
    made = copy.deepcopy(body)
    for *way, last in paths:
        rows = [made]
        for name in way:
            rows = [each for row in rows for each in row.get(name, ())]
        for row in rows:
            row[last] = b""
    return made


class Journal:
    """The latest requests, the oldest first: so many at most, and so many bytes of them."""

    def __init__(self) -> None:
        self._kept: deque[ClientRequest] = deque()
        self._bytes = 0
        self.seen = 0

    def __iter__(self) -> Iterator[ClientRequest]:
        return iter(tuple(self._kept))

    def add(self, request: Request, size: int) -> ClientRequest:
        """Keep a request that came, of so many bytes."""
        api, client = request.api, request.client
        made = ClientRequest(
            request.node.id,
            request.now(),
            request.client_id,
            client.name,
            api.name,
            api.key,
            request.version,
            request.correlation_id,
            without_secrets(f"{api.name}Request", request.body),
            tuple(request.topic_names_asked()),
            size=size,
        )
        self._kept.append(made)
        self._bytes += size
        self.seen += 1
        self._trim()
        return made

    def grow(self, kept: ClientRequest, size: int) -> None:
        """Count the bytes of a request's answer, too."""
        if kept.size != FORGOTTEN:
            kept.size += size
            self._bytes += size
            self._trim()

    def _trim(self) -> None:
        while len(self._kept) > 1 and (len(self._kept) > MOST or self._bytes > MOST_BYTES):
            first = self._kept.popleft()
            self._bytes -= first.size
            first.size = FORGOTTEN

    def clear(self) -> None:
        """Forget all requests."""
        self._kept.clear()
        self._bytes = 0


def note_answer(kept: ClientRequest, answer: Answer) -> None:
    """Keep the response to a request."""
    if isinstance(answer, EncodedBody):
        kept.response = dict(answer.value or {})
    else:
        kept.response = answer and without_secrets(f"{kept.api}Response", answer)
    kept.outcome = "no answer wanted" if answer is None else "answered"
