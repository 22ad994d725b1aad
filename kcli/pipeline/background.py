"""Runs work in a second thread, in order, while the first thread continues; for calls that release the interpreter's
lock.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

AHEAD = 4


class Background:
    """A thread that starts with the first piece of work. Leaving its block waits for all pieces; an error of a piece is
    raised by a later call.

    ahead: the most pieces that may wait
    """

    def __init__(self, ahead: int = AHEAD) -> None:
        self.ahead = ahead
        self.thread: ThreadPoolExecutor | None = None
        self.under_way: deque[Future[None]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.finish()

    def do(self, work: Callable[..., None], *values: Any) -> None:
        """Queue a piece of work after those before it. Waits while `ahead` pieces are queued."""
        if self.thread is None:
            from concurrent.futures import ThreadPoolExecutor  # `kcli diagnose` writes no tables, and is spared it

            self.thread = ThreadPoolExecutor(1)
        while self.under_way and (len(self.under_way) >= self.ahead or self.under_way[0].done()):
            self.under_way.popleft().result()
        self.under_way.append(self.thread.submit(work, *values))

    def finish(self) -> None:
        """Wait until all pieces are done, and end the thread."""
        while self.under_way:
            self.under_way.popleft().result()
        if self.thread is not None:
            self.thread.shutdown()
            self.thread = None
