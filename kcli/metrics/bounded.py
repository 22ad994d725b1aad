"""Limits the number of names and series, however many a client invents."""

from collections.abc import Callable
from typing import Generic, TypeVar

from kcli.legible import legible

OTHER = "other"  # stands for all names beyond the limit
LONGEST = 120  # characters of a name

T = TypeVar("T")


class Names:
    """Names of one kind: the first `most` names are kept, all others count as "other"."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.known: dict[str, str] = {}
        self.refused = 0  # how often a name counted as "other"

    def of(self, name: str | None) -> str:
        """Return the name under which a name is counted: text for a label, which a terminal may show, too."""
        known_name = name or ""
        if len(known_name) > LONGEST:
            known_name = f"{known_name[:LONGEST]}…"
        found = self.known.get(known_name)
        if found is not None:
            return found
        if len(self.known) >= self.most:
            self.refused += 1
            return OTHER
        return self.known.setdefault(known_name, legible(known_name))


class Series(dict[tuple[str, ...], T], Generic[T]):
    """Values by names. When there are `most` values, new names are counted in one whose names are all "other"."""

    def __init__(self, make: Callable[[], T], most: int) -> None:
        super().__init__()
        self.make, self.most = make, most

    def at(self, *key: str) -> T:
        """Return the value for these names; a new one if there is none."""
        found = self.get(key)
        if found is None:
            if len(self) >= self.most:
                key = (OTHER,) * len(key)
            found = self.setdefault(key, self.make())
        return found
