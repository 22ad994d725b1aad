"""Odd words for every command: empty ones, other files than it takes, values that are none; one line, no traceback."""

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kcli.cli.commands import COMMANDS, loaded
from kcli.cli.main import main
from tests.cli.test_commands import targets

# They go on for as long as nobody stops them, or read standard input alone.
ENDLESS = {"capture", "top", "proxy", "broker serve", "snapshot watch"}
NUMBERS = ("", "-1", "nan", "1e400", "9" * 40, "\udcff")


def odd(command: click.Command, files: list[str]) -> Iterator[list[str]]:
    """Yield words for a command: what it needs, with something odd in one place."""
    arguments = sum(isinstance(each, click.Argument) for each in command.params) or 1
    options = [
        each for each in command.params if isinstance(each, click.Option) and not each.is_flag and not each.hidden
    ]
    needed = [word for each in options if each.required for word in (each.opts[-1], "1")]
    yield from ([], [""], ["", ""], [*needed, "", "", "", ""])
    for file in files:
        yield [*needed, *([file] * arguments)]
    for each in options:
        yield [*needed, files[0], each.opts[-1]]
        for value in NUMBERS:
            yield [*needed, *(["no-such-file"] * arguments), each.opts[-1], value]
        for value in files[1:4]:
            yield [*needed, *([files[0]] * arguments), each.opts[-1], value]


@pytest.mark.parametrize(
    ("words", "target"), [*targets(COMMANDS)], ids=lambda each: each if isinstance(each, str) else None
)
def test_odd_words_are_one_line(
    words: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in (("empty", b""), ("bytes", bytes(range(256)) * 9), ("text", b"GIF89a\n" * 40)):
        Path(name).write_bytes(data)
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    files = ["empty", "bytes", "text", "folder", "loop", os.devnull, "no-such-file", "\udcff", "x" * 300]
    for odd_words in odd(loaded(target), files if words not in ENDLESS else files[6:]):
        if words in ENDLESS and "no-such-file" not in odd_words:
            continue
        code = main([*words.split(), *odd_words])
        said = capfd.readouterr().err
        assert code in (0, 1, 2, 3, 4), (odd_words, code, said)
        assert code < 2 or said.strip(), odd_words
        assert code != 2 or said.count("\n") == 1, (odd_words, said)
