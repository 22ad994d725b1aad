"""Rules of `ssl.principal.mapping.rules`, which map the subject of a client's certificate to a user (KIP-371)."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")
PART = re.compile(r"\\(.)|\$(\d)", re.DOTALL)
CASES: Mapping[str, Callable[[str], str]] = {"": str, "L": str.lower, "U": str.upper}


class PrincipalRule(NamedTuple):
    """A rule. pattern: for the whole name; replacement: with $0 to $9 for groups; case: "L" for lower case, "U" for
    upper case, "" for neither.
    """

    pattern: re.Pattern[str]
    replacement: str
    case: str

    def apply(self, name: str) -> str | None:
        """Return the user for a name, None if the rule does not match."""
        if self.pattern.fullmatch(name) is None:
            return None
        return CASES[self.case](self.pattern.sub(partial(filled, self.replacement), name))


DEFAULT = PrincipalRule(re.compile(".*", re.DOTALL), "", "")


def read_rules(text: str) -> list[PrincipalRule]:
    """Parse rules separated by commas: DEFAULT, or RULE:PATTERN/REPLACEMENT/ with an optional L or U.

    Raises ValueError if a rule can't be parsed.
    """
    made, at = [], 0
    while at < len(text):
        found = RULE.match(text, at)
        if found is None:
            raise ValueError("DEFAULT or RULE:PATTERN/REPLACEMENT/[LU] expected, with commas between")
        at = found.end()
        made.append(DEFAULT if found[1] else new_rule(found[2], found[3], found[4]))
    return made


def new_rule(pattern: str, replacement: str, case: str) -> PrincipalRule:
    try:
        made = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"pattern {pattern}: {error}") from None
    highest = max((int(each[2]) for each in PART.finditer(replacement) if each[2]), default=0)
    if highest > made.groups:
        raise ValueError(f"{replacement}: the pattern has no group {highest}")
    return PrincipalRule(made, replacement, case)


def filled(replacement: str, match: re.Match[str]) -> str:
    """Return a replacement with the groups of a match, "" for unmatched ones."""
    return PART.sub(lambda each: each[1] if each[2] is None else match[int(each[2])] or "", replacement)


def user_of(rules: list[PrincipalRule], name: str) -> str | None:
    """Return the user for a name by the first rule that matches, None if none does."""
    for rule in rules:
        user = name if rule is DEFAULT else rule.apply(name)
        if user is not None:
            return user
    return None
