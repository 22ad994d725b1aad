"""Commands that are shown: what a shell makes of them is what was meant."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from kcli.shell import file_words, quoted

ODD = [
    "",
    "a b",
    "it's",
    "$(touch x)",
    "`id`",
    'say "no"',
    "a\\b",
    "!!",
    "*",
    "~",
    "-x",
    "a;b",
    "a'$b",
    "zwölf",
    "a\nb",
]


@pytest.mark.parametrize("word", [*ODD, "night.pcap", "SELECT * FROM t WHERE a = 'x'"])
def test_a_shell_gives_the_word_back(word: str) -> None:
    made = subprocess.run(["sh", "-c", f"printf %s {quoted(word)}"], capture_output=True, text=True, check=True)
    assert made.stdout == word
    assert shlex.split(quoted(word)) == [word]


def test_quotes_are_there_only_where_they_must_be() -> None:
    assert (quoted("a/b.pcap"), quoted("a b"), quoted("it's"), quoted("$x")) == ("a/b.pcap", '"a b"', '"it\'s"', "'$x'")
    assert file_words(["a b", "c"], ["k"]) == '"a b" c --key-log k'
