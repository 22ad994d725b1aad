"""For a while, every command on ever other damaged inputs: `python -m tests.matrix.run [MINUTES] [SEED] [COMMAND...]`.

A finding is printed with its seed and its command line; the inputs of a finding stay. Exit 1 when there was one.
"""

import random
import shlex
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.run import TooLong, bounded
from tests.matrix.commands import NOT_RUN, commands
from tests.matrix.inputs import inputs
from tests.matrix.outcome import problem, run

__all__ = ["main"]


def main(words: list[str]) -> int:
    minutes, seed = float(words[0]) if words else 10, int(words[1]) if len(words) > 1 else int(time.time())
    end, found, ran = time.monotonic() + minutes * 60, 0, 0
    while time.monotonic() < end and not found:
        folder = Path(tempfile.mkdtemp(prefix="kcli-matrix-"))
        given = inputs(folder, seed, copies=2)
        for command in commands():
            if command.name in NOT_RUN or (words[2:] and command.name not in words[2:]):
                continue
            for line in command.lines(given, random.Random(f"{seed} {command.name}")):
                if time.monotonic() > end:
                    break
                ran += 1
                if wrong := wrong_with(line, folder):
                    found += 1
                    print(f"seed {seed}: kcli {shlex.join(line)}\n{wrong}", flush=True)
        print(f"{ran:,} command lines, up to seed {seed}: {found} findings", flush=True)
        if not found:
            remove(folder)
        seed += 1
    return 1 if found else 0


def wrong_with(line: list[str], folder: Path) -> str:
    try:
        with bounded():
            return problem(run(line, folder), line)
    except TooLong as error:
        return str(error)


def remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
