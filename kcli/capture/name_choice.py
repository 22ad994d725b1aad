"""Chooses names by lists and patterns; names after a "!" are left out.

"orders,pay*" is either of them; "!audit" all but this; "orders*,!orders-dlq,orders-old" the first but neither of those
after the "!".
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

from kcli.errors import UsageError
from kcli.nearest import suggestion
from kcli.schemas.errors import ERRORS, find_error_code
from kcli.schemas.field_codes import API_KEYS
from kcli.schemas.lookup import Catalog

SPECIAL = re.compile(r"[*?\[,]|^!")
GLOB = re.compile(r"[*?\[]")
Name: TypeAlias = "str | int"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wanted(Generic[T]):
    """Names or numbers that are wanted (all if empty), and those that are left out."""

    named: tuple[T, ...] = ()
    left_out: tuple[T, ...] = ()

    def fits(self, value: T) -> bool:
        """Return whether a value is wanted; patterns are not applied."""
        return (not self.named or value in self.named) and value not in self.left_out


def is_pattern(name: str) -> bool:
    """Return whether a wanted name is a list or pattern."""
    return SPECIAL.search(name) is not None


@lru_cache(1 << 10)
def wanted_in(text: str) -> Wanted[str]:
    """Parse a list; names after the first "!" are left out."""
    named, left_out = list[str](), list[str]()
    words = named
    for word in text.split(","):
        name = word.strip()
        words = left_out if name.startswith("!") else words
        words.append(name.removeprefix("!"))
    return Wanted(tuple(named), tuple(left_out))


def matches(name: str | None, wanted: str, *, part: bool = False) -> bool:
    """Return whether a name is the wanted one, or matches the list or pattern. part: or contains it."""
    if name == wanted:
        return True
    if not is_pattern(wanted):
        return part and name is not None and wanted in name
    choice = wanted_in(wanted)
    if name is None:
        return not choice.named
    return (not choice.named or fits_any(name, choice.named, part=part)) and not fits_any(
        name, choice.left_out, part=part
    )


def leaves_out(wanted: str, name: str) -> bool:
    """Return whether a name, list or pattern leaves a name out by a "!"."""
    return is_pattern(wanted) and fits_any(name, wanted_in(wanted).left_out)


def fits_any(name: str, words: Iterable[str], *, part: bool = False) -> bool:
    """Return whether a name is one of these words or matches a pattern among them. part: or contains one."""
    return any(
        name == word or (part and word in name) or (GLOB.search(word) is not None and fnmatchcase(name, word))
        for word in words
    )


def api_keys(names: Sequence[Name], known: Catalog) -> frozenset[int]:
    """Return the keys of the wanted APIs; empty for all.

    Raises UsageError for an unknown API, or if none is left.
    """
    named, left_out = numbers_in(names, known.api_key)
    if not left_out:
        return frozenset(named)
    left = (named or {*range(API_KEYS)}) - left_out
    if not left:
        raise UsageError(f"{', '.join(map(str, names))}: these leave no API")
    return frozenset(left)


def error_choice(text: str) -> Wanted[int]:
    """Return the wanted error codes. Raises UsageError for an unknown error."""
    named, left_out = numbers_in([text], code_of)
    return Wanted(tuple(sorted(named)), tuple(sorted(left_out)))


def numbers_in(names: Iterable[Name], number_of: Callable[[Name], int]) -> tuple[set[int], set[int]]:
    """Return (the numbers in lists of names, the numbers that they exclude)."""
    named, left_out = set[int](), set[int]()
    for each in names:
        if isinstance(each, str):
            choice = wanted_in(each)
            named.update(map(number_of, choice.named))
            left_out.update(map(number_of, choice.left_out))
        else:
            named.add(number_of(each))
    return named, left_out


def code_of(name: Name) -> int:
    """Return an error's code, from its name or the code as text. Raises UsageError."""
    error = str(name)
    found = find_error_code(error)
    if found is None and re.fullmatch(r"-?\d{1,5}", error):
        found = int(error)
    if found is None:
        raise UsageError(f"{error or repr('')}: no such error{suggestion(error.upper(), ERRORS.values())}")
    return found
