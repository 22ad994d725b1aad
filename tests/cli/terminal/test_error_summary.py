"""What could not be read, each problem once."""

import pytest

from kcli.cli.main import main
from kcli.cli.terminal.error_summary import conclude
from kcli.errors import InputError
from tests.snapshots.files import LAST_431, damaged, log_file

Captured = pytest.CaptureFixture[str]


def errors(*texts: str) -> list[InputError]:
    return [InputError(text, file="f") for text in texts]


def test_nothing_is_no_error() -> None:
    conclude([])


@pytest.mark.parametrize("quiet", [False, True])
def test_all_but_the_last_are_warnings(quiet: bool, capsys: Captured) -> None:
    with pytest.raises(InputError, match=r"^f: three$"):
        conclude(errors("one", "two", "one", "three"), quiet)
    assert capsys.readouterr().err == ("" if quiet else "kcli: f: one\nkcli: f: two\n")


def test_many(capsys: Captured) -> None:
    with pytest.raises(InputError, match=r"^f: 29$"):
        conclude(errors(*map(str, range(30))), count=40)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2:] == ["kcli: f: 18", "kcli: 20 more problems are not shown"] and len(lines) == 20


@pytest.mark.parametrize("name", ["cut-in-data", "bit-flip-crc-field"])
def test_damaged_snapshots_are_said_once_with_one_exit_code(name: str, capfd: Captured) -> None:
    """Whatever reads them, and whatever else is asked for."""
    file, sound = str(damaged(name)), str(log_file(LAST_431))
    commands = [
        ["inspect", file], ["inspect", file, "--records"], ["inspect", file, "--format", "jsonl"], ["image", file],
        ["image", file, "--ask", "offline"], ["image", file, "ls", "/"], ["diff", file, sound],
        ["diff", sound, file, "--exit-code"], ["diff", file, file],
    ]  # fmt: skip
    for words in commands:
        assert main(["snapshot", *words]) == 3, words
        said = capfd.readouterr()
        lines = [line for line in said.err.splitlines() if line.startswith("kcli: ")]
        assert said.out or "diff" in words
        assert lines and len(lines) == len({*lines}), words
        assert all(line.startswith(f"kcli: {file}: ") for line in lines), words
