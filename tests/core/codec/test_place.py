"""Places in the core's hash tables."""

import os
import subprocess
import sys

MISSED = """
from kcli.core.codec.messages import Names
names = Names()
for i in range(64):
    names.get(bytes([i]) * 16)
print(*[each[0] for each in names.missing()])
"""


def order_in_process(seed: int) -> list[str]:
    """The ids of a table, in the order of their places."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    made = subprocess.run(
        [sys.executable, "-c", MISSED], env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    return made.stdout.split()


def test_places_depend_on_a_key_of_the_process() -> None:
    """So nobody can make a capture whose topic ids all get one place."""
    first, again, other = map(order_in_process, (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other) == sorted(map(str, range(64)))
