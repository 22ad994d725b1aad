"""The latest requests of a broker's clients, with their responses."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from typing import Any

from kcli.broker.control.client_request import ClientRequest
from kcli.broker.request import Request
from kcli.broker.response import Answer, EncodedBody
from kcli.schemas.secrets import ALWAYS, secret_fields

MOST, MOST_BYTES = 20_000, 64 << 20
FORGOTTEN = -1


def without_secrets(message: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return a message's body with b"" in place of passwords and keys."""
    paths = [path.split(".") for path, how in secret_fields(message).items() if how == ALWAYS]
    if not paths:
        return body
    made = copy.deepcopy(body)
    for *parents, last in paths:
        rows = [made]
        for name in parents:
            rows = [each for row in rows for each in row.get(name, ())]
        for row in rows:
            row[last] = b""
    return made


class Journal:
    """The latest requests, the oldest first: at most MOST of them, with MOST_BYTES. seen: the number ever added."""

    def __init__(self) -> None:
        self._kept: deque[ClientRequest] = deque()
        self._bytes = 0
        self.seen = 0

    def __iter__(self) -> Iterator[ClientRequest]:
        return iter(tuple(self._kept))

    def since(self, seen: int) -> list[ClientRequest]:
        """Return the kept requests after the first `seen` ones."""
        first = self.seen - len(self._kept)
        return list(self._kept)[max(0, seen - first) :]

    def add(self, request: Request, size: int) -> ClientRequest:
        """Keep a request; return its entry. size: its bytes."""
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
        """Add the bytes of a request's response to its size, unless the request was dropped."""
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
        """Remove all requests."""
        self._kept.clear()
        self._bytes = 0


def note_answer(kept: ClientRequest, answer: Answer) -> None:
    """Set the response and the outcome of a kept request."""
    if isinstance(answer, EncodedBody):
        kept.response = dict(answer.value or {})
    else:
        kept.response = answer and without_secrets(f"{kept.api}Response", answer)
    kept.outcome = "no answer wanted" if answer is None else "answered"
