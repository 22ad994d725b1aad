"""Commands that are shown: what a shell makes of them is what was meant."""

import os
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
]
UNPRINTABLE = ["a\nb", "caf\udce9.pcap", "it's\x1b[31m \\ $x", "a\u202eb"]


@pytest.mark.parametrize("word", [*ODD, "night.pcap", "SELECT * FROM t WHERE a = 'x'"])
def test_a_shell_gives_the_word_back(word: str) -> None:
    made = subprocess.run(["sh", "-c", f"printf %s {quoted(word)}"], capture_output=True, text=True, check=True)
    assert made.stdout == word
    assert shlex.split(quoted(word)) == [word]


@pytest.mark.parametrize("word", UNPRINTABLE)
def test_what_no_terminal_shows_stands_as_its_bytes(word: str) -> None:
    assert quoted(word).isprintable()
    made = subprocess.run(["bash", "-c", f"printf %s {quoted(word)}"], capture_output=True, check=True)
    assert made.stdout == os.fsencode(word)


def test_quotes_are_there_only_where_they_must_be() -> None:
    assert (quoted("a/b.pcap"), quoted("a b"), quoted("it's"), quoted("$x")) == ("a/b.pcap", '"a b"', '"it\'s"', "'$x'")
    assert file_words(["-a", "-"], ["-k"]) == "./-a - --key-log ./-k"  # a name that begins with a dash is no option
    assert file_words(["a b", "c"], ["k"]) == '"a b" c --key-log k'
