"""Control of a broker's requests: they are kept, counted, and answered by callbacks that tests register."""

from __future__ import annotations

import copy
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

from kcli.broker.control.client_request import ClientRequest
from kcli.broker.control.watches import Interception, Watch
from kcli.broker.request import Handler, Request
from kcli.broker.response import Answer, EncodedBody, HangUpError, Outcome
from kcli.errors import UsageError
from kcli.schemas.secrets import ALWAYS, secret_fields

MOST, MOST_BYTES = 20_000, 64 << 20
FORGOTTEN = -1


class Control:
    """journal: the latest requests; watches: those that count requests, and the interceptions that answer some."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.watches: list[Watch] = []

    def record(self, request: Request, size: int) -> tuple[ClientRequest, list[Watch]]:
        """Keep and count a request. size: its bytes. Returns its entry in the journal and the watches that match it."""
        kept = self.journal.add(request, size)
        matching = [each for each in self.watches if each.filter.matches(request)]
        for each in matching:
            if not isinstance(each, Interception) or not each.count or each.hits < each.count:
                each.hit(kept)
        return kept, matching

    def before(self, handle: Handler, kept: ClientRequest, matching: list[Watch]) -> Handler:
        """Return a handler that calls the interceptions first; `handle` is called if none of them answers."""
        interceptions = [each for each in matching if isinstance(each, Interception) and kept in each.requests[-1:]]
        if not interceptions:
            return handle

        async def answered(request: Request) -> Answer:
            for each in interceptions:
                try:
                    body = await each.answer(request, kept)
                except HangUpError:
                    raise
                except Exception as error:
                    failure = failure_of(kept.api, error)
                    each.failures.append(failure)
                    raise HangUpError(str(failure)) from error
                if body is not None:
                    return body
            outcome = handle(request)
            return await outcome if inspect.isawaitable(outcome) else outcome

        return cast("Callable[[Request], Outcome]", answered)

    def watch(self, request: Request, handle: Handler, size: int) -> Handler:
        """Keep and count a request. size: its bytes. Returns a handler that calls interceptions first and keeps the
        response in the journal.
        """
        kept, matching = self.record(request, size)
        first = self.before(handle, kept, matching)

        def answer(request: Request) -> Outcome:
            try:
                outcome = first(request)
                if inspect.isawaitable(outcome):
                    return finish(outcome)
            except Exception as error:
                kept.outcome = f"closed: {error}"
                raise
            note_answer(kept, outcome)
            return outcome

        async def finish(waited: Awaitable[Answer]) -> Answer:
            try:
                outcome = await waited
            except Exception as error:
                kept.outcome = f"closed: {error}"
                raise
            note_answer(kept, outcome)
            return outcome

        request.kept = kept
        return answer

    def reset(self) -> None:
        """Remove all kept requests and all watches."""
        self.journal.clear()
        self.watches.clear()


def failure_of(api: str, error: Exception) -> UsageError:
    """Return a UsageError for an error of a callback: its own text if it is a UsageError, else with API and type."""
    text = str(error) if isinstance(error, UsageError) else f"intercept {api}: {type(error).__name__}: {error}"
    failure = UsageError(text)
    failure.__cause__ = error
    return failure


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
