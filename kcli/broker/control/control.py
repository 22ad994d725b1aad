"""Control of a broker's requests: they are kept, counted, and answered by callbacks that tests register."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import cast

from kcli.broker.control.client_request import ClientRequest
from kcli.broker.control.journal import Journal, note_answer
from kcli.broker.control.watches import Interception, Watch
from kcli.broker.request import Handler, Request
from kcli.broker.response import Answer, HangUpError, Outcome
from kcli.errors import UsageError


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
