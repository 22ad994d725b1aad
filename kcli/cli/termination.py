"""Signals that end a process: what it has for the time being, files that are not done among it, goes before."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from kcli.temporary import ENDING


def tidy_up_at_signals() -> None:
    """Let these signals end the process as ever, but behind its exit functions, where nobody has said otherwise (as
    `nohup` does). Unlike an interrupt, this can't be lost in a function whose errors are passed over.
    """
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


def on_stop(call: Callable[[], None]) -> None:
    """Call this in the running event loop where a signal asks the process to stop."""
    import asyncio  # here: few commands have a loop

    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, call)


def end(number: int, _frame: FrameType | None) -> None:
    """Remove temporary files and folders, and end by the signal, so that whoever has sent it sees that it did. A second
    one ends the process at once.
    """
    for each in ENDING:
        signal.signal(each, signal.SIG_DFL)
    sys.excepthook = lambda *_: None  # a folder that is still written to may stay
    atexit._run_exitfuncs()
    os.kill(os.getpid(), number)
