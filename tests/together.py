"""Which tests run in one process of `make suite`: those of a file, and those of all files that share something dear."""

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

__all__ = ["Scheduling", "scope_of"]

ROOT = Path(__file__).parents[1]
# What many files use: each process that needs it makes it anew. A Spark session takes 20 seconds of a processor until
# it is warm, the brokers 5 to 10, the diagnoses of all captures 30. Clusters that a file starts by itself come one
# after the other: many brokers at once have too little of a processor for their time limits.
SHARED = {
    "spark": r"\bspark: Any\b",
    "kafka": r"\b(?:kafka_44|kafka_39|three_44)\b",
    "clusters": r"from tests\.real\.lab import .*\bCluster\b",
    "diagnosed": r"from tests\.diagnose\.captured import .*\b(?:diagnosed|only)\b",
}


@cache
def scope_of(file: str) -> str:
    """The name of what a test file shares with others, or its own."""
    path = ROOT / file
    text = path.read_text() if path.is_file() else ""
    return next((name for name, pattern in SHARED.items() if re.search(pattern, text)), file)


class Scheduling(LoadFileScheduling):  # type: ignore[misc]
    """--dist loadfile, with scopes of several files."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(super()._split_scope(nodeid))
