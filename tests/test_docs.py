"""No command, option or example without words that are true."""

import inspect
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kcli.cli.commands import HELP
from tools import examples, manpages

ROOT = Path(__file__).parents[1]
COMMANDS = {context.command_path: context for context in manpages.commands()}
LEAVES = [path for path, context in COMMANDS.items() if not isinstance(context.command, click.Group)]


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_says_what_it_does(path: str) -> None:
    command = COMMANDS[path].command
    assert command.help, f"{path} has no help"
    assert command.help.strip().endswith((".", ":")) or "\b" in command.help, f"{path}: {command.help!r}"


@pytest.mark.parametrize("path", COMMANDS)
def test_an_option_says_what_it_does(path: str) -> None:
    silent = [
        "/".join(param.opts)
        for param in COMMANDS[path].command.params
        if isinstance(param, click.Option) and not param.hidden and not param.help
    ]
    assert not silent, f"{path}: no help for {silent}"


@pytest.mark.parametrize("path", LEAVES)
def test_a_command_has_examples_of_options_that_there_are(path: str) -> None:
    """In its help, and in a section of its man page."""
    command = COMMANDS[path].command
    blocks = [each for each in inspect.cleandoc(command.help or "").split("\n\n") if manpages.is_example(each)]
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    lines = [line for block in blocks for line in block.splitlines()[1:]]
    calls = [line.partition(f"{path} ")[2] if f"{path} " in line else line.partition(path)[2] for line in lines]
    assert any(path in line for line in lines)
    for call in calls:
        used = re.findall(r"(?<=\s)--?[a-z][a-z-]*", f" {re.split(r'[|<>]', call)[0]}")
        assert not {*used} - known, f"{path}: {call}"


@pytest.mark.parametrize("path", LEAVES)
def test_an_argument_is_named_in_the_help(path: str) -> None:
    command = COMMANDS[path].command
    names = [name_of(param, COMMANDS[path]) for param in command.params if isinstance(param, click.Argument)]
    words = f"{command.help} {' '.join(param.help or '' for param in options(command))}".casefold()
    assert not [name for name in names if not any(part.casefold() in words for part in name.split("|"))]


def name_of(param: click.Parameter, context: click.Context) -> str:
    """The first word of what the usage line shows: TOPIC of `TOPIC[:PARTITION]...`."""
    return re.split(r"[\[\]:.]", param.make_metavar(context).lstrip("["))[0]


def options(command: click.Command) -> Iterator[click.Option]:
    return (param for param in command.params if isinstance(param, click.Option))


def test_a_group_has_a_line_for_each_member() -> None:
    assert {f"kcli {path}" for path in HELP} == set(COMMANDS) - {"kcli"}
    assert not [path for path, text in HELP.items() if not text.endswith(".")]


def test_the_man_pages_are_current() -> None:
    written = {path.name: path.read_text() for path in (ROOT / "man").glob("*.1")}
    made = manpages.pages()
    stale = sorted(name for name in made.keys() | written.keys() if made.get(name) != written.get(name))
    assert not stale, "man pages are out of date: run `make man`"


@pytest.mark.parametrize("path", LEAVES)
def test_the_reference_names_every_command(path: str) -> None:
    assert path in (ROOT / "docs" / "reference" / "commands.md").read_text()


def test_the_readme_is_two_screens() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= 8_000


@pytest.mark.parametrize("file", examples.documents(), ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(file: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", file.read_text())
    assert not [link for link in links if "://" not in link and not (file.parent / link).exists()]


@pytest.mark.parametrize("file", examples.documents(), ids=lambda file: file.name)
def test_examples_print_what_the_documents_say(file: Path, tmp_path: Path) -> None:
    folder = examples.workplace(tmp_path)
    java = shutil.which("java") or os.environ.get("JAVA_HOME") or os.environ.get("CI")
    for example in examples.read(file):
        if examples.on_spark(example) and not java:
            continue
        printed = examples.run(example, folder)
        assert examples.matches(example.expected, printed), f"{example}\n{printed}"


@pytest.mark.parametrize("file", [file for file in examples.documents() if examples.programs(file)], ids=str)
def test_python_in_the_documents_runs(file: Path, tmp_path: Path) -> None:
    wrong = examples.run_programs(file, examples.workplace(tmp_path))
    assert not wrong, "\n".join(wrong)


def test_the_demo_has_all_that_examples_ask_for() -> None:
    """`make demo` on a fresh machine: none of the tour's commands ends with "needs ... (pip install ...)"."""
    extras = tomllib.loads((examples.ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found = re.search(r"^demo:.*foreach extra,([a-z ]+),", (examples.ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found
    installed = {need for name in found[1].split() for need in extras[name]}
    assert {
        need
        for name in extras.keys() - {"all", "bench", "dev", "docs", "metrics", "release", "traces"}
        for need in extras[name]
    } <= installed


def test_the_tour_has_examples() -> None:
    assert len(list(examples.read(ROOT / "docs" / "tutorial" / "tour.md"))) > 5


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("one\ntwo", "one\ntwo", True),
        ("one\ntwo", "one\ntoo", False),
        ("one\n...\nfour", "one\ntwo\nthree\nfour", True),
        ("one\n...", "one", True),
        ("...\nfour", "one\nfor", False),
        ("took … s", "took 0.31 s", True),
        ("took … s", "took 0.31 ms", False),
        ("", "", True),
        ("", "something", False),
        ("a+b (c)", "a+b (c)", True),
    ],
)
def test_dots_stand_for_anything_and_the_rest_for_itself(expected: str, printed: str, same: bool) -> None:
    assert examples.matches(expected, printed) is same


def test_examples_are_read_from_their_fences(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("text\n\n```console\n$ one |\n> two\nout\n$ three\n```\n\n```sh\n$ not run\n```\n")
    found = [(example.line, example.command, example.expected) for example in examples.read(file)]
    assert found == [(4, "one |\ntwo", "out"), (7, "three", "")]


def test_programs_of_a_page_share_names_and_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(
        "```python\nx = 5\nprint('not looked at')\n```\n\n"
        "```python\n>>> x + 1\n6\n>>> y = [x] * 30\n>>> y\n[5, 5, ...]\n```\n\n"
        "```python\nassert len(y) == 30\n```\n"
    )
    assert [program.line for program in examples.programs(file)] == [2, 7, 15]
    assert examples.run_programs(file, tmp_path) == []


def test_programs_that_fail_are_named_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("```python\n>>> 1 + 1\n3\n```\n\n```python\n1 / 0\n```\n\n```py\nnot run\n```\n")
    printed, raised = examples.run_programs(file, tmp_path)
    assert "line 2" in printed and "Expected:\n    3\nGot:\n    2" in printed
    assert raised.startswith("page.md:7\n") and "ZeroDivisionError" in raised and "line 7" in raised


def test_every_promise_of_security_has_a_test() -> None:
    page = (ROOT / "docs" / "explanation" / "security.md").read_text()
    named = set(re.findall(r"`(tests/[^`]+\.py)`", page))
    assert len(named) >= 5
    assert not sorted(name for name in named if not (ROOT / name).exists())
    promises = set(re.findall(r"^\| \[.*\]\(#(.*?)\)", page, re.MULTILINE))
    assert promises <= {title.lower().replace(" ", "-") for title in re.findall(r"^### (.*)", page, re.MULTILINE)}
