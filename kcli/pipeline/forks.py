"""Runs tasks in forks of this process, several at a time; each fork runs one task after the other."""

import os
import pickle
import selectors
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from kcli.capture.parallel.processes import LENGTH, fork_to, read_all, read_packed, stop, write_packed
from kcli.errors import InputError, KcliError


class Fork:
    """A fork that runs tasks, seen from the first process. number: of its current task."""

    def __init__(self, serve: Callable[[int, int], None], unused: Sequence[int]) -> None:
        """Start the fork. serve: its work, with the ends of two pipes; unused: files of this process to close in it."""
        orders, self.orders = os.pipe()
        self.results, results = os.pipe()
        self.number = -1
        with warnings.catch_warnings():  # about threads in this process, none of which a task uses
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = fork_to(lambda: serve(orders, results), (self.orders, self.results, *unused))
        os.close(orders)
        os.close(results)

    def order(self, number: int) -> None:
        """Have it run a task."""
        self.number = number
        os.write(self.orders, LENGTH.pack(number))

    def result(self) -> Any:
        """Return the result of its task. Raises the task's error; raises InputError if the fork has ended."""
        try:
            result, error = pickle.loads(read_packed(self.results))
        except BrokenPipeError:
            raise InputError("a process of this run has ended too early: killed, perhaps for lack of memory") from None
        if error is not None:
            raise error
        return result

    def stop(self) -> None:
        """End the fork, even during a task."""
        stop(self.pid)
        os.close(self.orders)
        os.close(self.results)


def hand_out_forked(
    tasks: Sequence[Any], work: Callable[[Any], Any], done: Callable[[int], None], count: int
) -> list[Any]:
    """Return work(task) of each task, run in `count` forks, in the tasks' order. done: called with the number of
    finished tasks. Raises the error of a task.
    """
    made: list[Any] = [None] * len(tasks)
    forks: list[Fork] = []
    waiting = iter(range(len(tasks)))
    try:
        with selectors.DefaultSelector() as selector:
            for number in range(min(count, len(tasks))):
                unused = [file for each in forks for file in (each.orders, each.results)]
                forks.append(Fork(lambda orders, results: serve(tasks, work, orders, results), unused))
                selector.register(forks[number].results, selectors.EVENT_READ, forks[number])
                forks[number].order(next(waiting))
            for ready in range(1, len(tasks) + 1):
                fork = selector.select()[0][0].data
                made[fork.number] = fork.result()
                done(ready)
                more = next(waiting, None)
                if more is None:
                    selector.unregister(fork.results)
                else:
                    fork.order(more)
    finally:
        for each in forks:
            each.stop()
    return made


def serve(tasks: Sequence[Any], work: Callable[[Any], Any], orders: int, results: int) -> None:
    """Run the ordered tasks in a fork. The thread that takes the orders ends the fork."""
    numbers: SimpleQueue[int] = SimpleQueue()
    threading.Thread(target=listen, args=(orders, numbers), daemon=True).start()
    while True:
        write_packed(results, pickle.dumps(tried(work, tasks[numbers.get()])))


def listen(orders: int, numbers: SimpleQueue[int]) -> None:
    """Queue the orders. Without the first process this one ends, too, even during its task."""
    try:
        while True:
            numbers.put(*LENGTH.unpack(read_all(orders, LENGTH.size)))
    except BrokenPipeError:
        os._exit(1)


def tried(work: Callable[[Any], Any], task: Any) -> tuple[Any, Exception | None]:
    """Return (result of a task, error that it raised instead), in a form that can be pickled."""
    try:
        return work(task), None
    except InputError as error:
        return None, InputError(error.text, file=error.file)
    except (KcliError, OSError) as error:
        return None, error
    except Exception:  # noqa: BLE001  as a fork has no caller, its errors are the first process's
        return None, RuntimeError(traceback.format_exc())
