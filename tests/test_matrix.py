"""Every command with every value of every option on every kind of input; `make soak` has ever other damage."""

import random
import shlex
from pathlib import Path

import click
import pytest

from tests.matrix.commands import NOT_RUN, Command, commands, values_of
from tests.matrix.inputs import Input, inputs
from tests.matrix.outcome import Outcome, problem, run

SEED = 1
COMMANDS = {command.name: command for command in commands() if command.name not in NOT_RUN}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> list[Input]:
    return inputs(tmp_path_factory.mktemp("inputs"), SEED)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_nothing_ends_in_a_traceback(command: Command, given: list[Input], tmp_path: Path) -> None:
    wrong = []
    for line in command.lines(given, random.Random(SEED)):
        if found := problem(run(line, tmp_path), line):
            wrong.append(f"kcli {shlex.join(line)}\n{found}")
    assert not wrong, f"{len(wrong)} command lines, the first: {wrong[0]}"


def test_every_value_of_every_option_is_tried() -> None:
    """Also of an option that comes with the next release: the table is click's own."""
    one = [Input("odd", Path("x"))]
    new = click.Option(["--newest"], type=click.Choice(["a", "b", "c"]))
    flag = click.Option(["--on/--off"])
    other = click.Option(["--size"], type=click.IntRange(1, 9))
    command = Command("decode newest", [new, flag, other])
    lines = list(command.lines(one, random.Random(SEED)))
    for words in (["--newest", "a"], ["--newest", "b"], ["--newest", "c"], ["--on"], ["--off"], ["--size", "9"]):
        assert any(line[at : at + len(words)] == words for line in lines for at in range(len(line))), words
    assert {"1", "9", "0"} < set(values_of(other))


def test_all_choices_are_combined_on_what_a_command_reads(given: list[Input]) -> None:
    """`decode pcap old-librdkafka-on-3.9.pcap --records batches` in the default format ended in a KeyError once."""
    lines = list(COMMANDS["decode pcap"].lines(given, random.Random(SEED)))
    wanted = {(form, records) for form in ("", "tree", "parquet") for records in ("", "batches", "full")}
    sound = [str(one.path) for one in given if one.kind == "capture" and one.sound]
    damaged = [str(one.path) for one in given if one.kind == "capture" and not one.sound]
    assert len(sound) >= 6 and len(damaged) >= 12
    for path in sound:
        assert ways(lines, [path]) >= wanted
    assert ways(lines, damaged) >= wanted  # all together


def ways(lines: list[list[str]], paths: list[str]) -> set[tuple[str, str]]:
    return {(after(line, "--format"), after(line, "--records")) for line in lines if line[-1] in paths}


def after(line: list[str], word: str) -> str:
    return line[line.index(word) + 1] if word in line else ""


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (Outcome(0, b"", ""), ""),
        (Outcome(3, b"", "kcli: x: not a capture\n"), ""),
        (Outcome(3, b"", "nothing to say\n"), "without a line that says why"),
        (Outcome(5, b"", "kcli: x\n"), "exit 5"),
        (Outcome(None, b"", "", "KeyError: 'x'"), "KeyError"),
        (Outcome(3, b"", "kcli: KeyError: 'x'\n"), "Python's words"),
        (Outcome(3, b"", "kcli: x: 'utf-8' codec can't decode byte 0xff\n"), "Python's words"),
        (Outcome(0, b"", "kcli: x\n" * 61), "61 lines"),
        (Outcome(0, b"", "kcli: x\n", "left ['y']"), "left"),
    ],
)
def test_what_is_wrong_with_an_outcome(outcome: Outcome, why: str) -> None:
    found = problem(outcome, ["decode", "pcap", "--", "x"])
    assert why in found and bool(why) == bool(found)
