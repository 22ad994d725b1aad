"""kcli as a process: what the `kcli` script runs, and `python -m kcli.cli`."""

import atexit
import gc
import os
import signal
import sys
from pathlib import Path

from kcli.address_space import save

# Modules of the standard library that the `construct` package imports: a sixth of the time of a small capture.
IDLE = "hashlib", "pdb", "pickle", "traceback"
COLLECTED = 200_000, 10, 10  # objects made, younger collections: as gc.set_threshold takes them


def start() -> int:
    """Run the command line. Ctrl-C while kcli is still being loaded ends it without a traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    leave_current_folder()
    prepare()
    from kcli.cli.main import main
    from kcli.errors import INTERRUPTED

    try:
        signal.signal(signal.SIGINT, before)
        return main()
    except KeyboardInterrupt:  # before it is ready for one
        return INTERRUPTED


def prepare() -> None:
    """Set up the process, before the modules of commands are loaded."""
    # Objects of commands are mostly no garbage. A full collection each time their number has grown by a quarter costs a
    # capture of many clients a seventh of its time, and more for more clients.
    gc.set_threshold(*COLLECTED)
    # numpy starts threads for linear algebra, which kcli does not use; their start takes longer than a small capture.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    save()
    from kcli.lazy import postpone

    postpone(*IDLE)


def run() -> None:
    """Run the command line and end the process, as the `kcli` script does."""
    code = start()
    import threading  # only now: modules of the current folder are out of the way

    if threading.active_count() == 1:
        atexit._run_exitfuncs()
        # Freeing all imported modules takes as long as a small capture; the system does it at once.
        try:
            sys.stderr.flush()
            sys.stdout.flush()
        except (OSError, ValueError):  # Python reports it when it ends
            sys.exit(code)
        os._exit(code)
    sys.exit(code)


def leave_current_folder() -> None:
    """Keep `python -m` from looking for modules in the current folder, unless kcli is there."""
    try:
        current = Path.cwd()
    except OSError:  # it has been removed
        return
    if not sys.flags.safe_path and sys.path[:1] == [str(current)] and not Path(__file__).is_relative_to(current):
        del sys.path[0]


if __name__ == "__main__":
    run()
