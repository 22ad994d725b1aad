"""The parser of `sasl.jaas.config`: one login module with its options, in the syntax of Java's JAAS.

org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="a secret";
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kcli.errors import UsageError

FLAGS = ("required", "requisite", "sufficient", "optional")
TOKEN = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s="';]+)|([=;]))""", re.DOTALL)


@dataclass(frozen=True)
class LoginModule:
    """A JAAS login module. name: its class; flag: its control flag ("required"); options: with secrets among them."""

    name: str
    flag: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name}, options {', '.join(self.options)})"  # never the secrets


def parse_jaas(text: str) -> LoginModule:
    """Parse `sasl.jaas.config`, which has one login module. Raises UsageError, whose text has no secrets."""
    words = tokens(text)
    if len(words) < 2:
        raise broken("a login module class and a flag (required) expected")
    (name, _), (flag, _) = words[:2]
    if flag.lower() not in FLAGS:
        raise broken(f"after the login module one of {', '.join(FLAGS)} expected")
    options, rest = read_options(words[2:])
    if rest != [(";", False)]:
        raise broken("it must end in ';'" if not rest else "one login module expected, a second one follows")
    return LoginModule(name, flag.lower(), options)


def tokens(text: str) -> list[tuple[str, bool]]:
    """Return (text, True) for each word, quoted or not, and (mark, False) for each '=' and ';'. Raises UsageError."""
    words: list[tuple[str, bool]] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise broken(f"character {position + 1}: a quoted value is not closed")
        double, single, plain, mark = match.groups()
        if mark is not None:
            words.append((mark, False))
        else:
            quoted = double if double is not None else single
            words.append((plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted), True))
        position = match.end()
    return words


def read_options(words: list[tuple[str, bool]]) -> tuple[dict[str, str], list[tuple[str, bool]]]:
    options: dict[str, str] = {}
    while words and words[0] != (";", False):
        if len(words) < 3 or words[1] != ("=", False) or not words[0][1] or not words[2][1]:
            raise broken("options are name=\"value\", and it must end in ';'")
        options[words[0][0]] = words[2][0]
        words = words[3:]
    return options, words


def broken(reason: str) -> UsageError:
    return UsageError(f"sasl.jaas.config: {reason}")
