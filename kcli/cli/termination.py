"""Signals that end a process: its temporary and unfinished files are removed before."""

from __future__ import annotations

import _thread
import atexit
import functools
import io
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import ParamSpec, TypeVar

from kcli.temporary import ENDING

P = ParamSpec("P")
T = TypeVar("T")

AGAIN = 0.01  # seconds


def tidy_up_at_signals() -> None:
    """Let these signals end the process after its exit functions have run, unless they are ignored (as under `nohup`).
    An exception raised by a signal handler could be lost in a function that ignores errors; this can't.
    """
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


def repeat_lost_interrupts() -> None:
    """Send an interrupt again that Python dropped, because it came in a finalizer, in a callback of an import, or while
    a compiled module was loaded. Otherwise the command would run to its end and report success.

    When an error has ended a command, the buffers of its files are written once more and fail again. Only the first
    error is reported, as before Python 3.13.
    """

    def on_unraisable(found: sys.UnraisableHookArgs) -> None:
        if issubclass(found.exc_type, KeyboardInterrupt):
            _thread.start_new_thread(interrupt_again, (_thread.get_ident(),))
        elif not (issubclass(found.exc_type, OSError) and isinstance(found.object, io.BufferedWriter)):
            sys.__unraisablehook__(found)

    sys.unraisablehook = on_unraisable
    hold_interrupts_in_modules()


def hold_interrupts_in_modules() -> None:
    """Let an interrupt wait while a compiled module starts: Cython's own start passes over any error."""
    from importlib.machinery import ExtensionFileLoader as Loader

    for name in ("create_module", "exec_module"):
        setattr(Loader, name, held(getattr(Loader, name)))


def held(call: Callable[P, T]) -> Callable[P, T]:
    """Return a function that an interrupt does not reach; the interrupt comes after it.

    Called in the main thread, which alone hears signals.
    """
    main = _thread.get_ident()

    @functools.wraps(call)
    def uninterrupted(*words: P.args, **named: P.kwargs) -> T:
        on_unraisable: list[int] = []
        if _thread.get_ident() != main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return call(*words, **named)
        signal.signal(signal.SIGINT, lambda number, _frame: on_unraisable.append(number))
        try:
            return call(*words, **named)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number in on_unraisable[:1]:
                signal.raise_signal(number)

    return uninterrupted


def interrupt_again(thread: int) -> None:
    """Interrupt the thread, also where it waits, when it has left the place that passes over errors."""
    time.sleep(AGAIN)
    signal.pthread_kill(thread, signal.SIGINT)


def on_stop(call: Callable[[], None]) -> None:
    """Call a function in the running event loop when a signal asks the process to stop."""
    import asyncio  # here: few commands have a loop

    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, call)


def end(number: int, _frame: FrameType | None) -> None:
    """Remove temporary files and folders, and end by the signal, so that its sender sees that it had its effect. A
    second one ends the process at once.
    """
    for each in ENDING:
        signal.signal(each, signal.SIG_DFL)
    sys.excepthook = lambda *_: None  # a folder that is still written to may stay
    atexit._run_exitfuncs()
    os.kill(os.getpid(), number)
