"""Without the core nothing is read: one line says how to get it."""

import os
import subprocess
import sys

import pytest

from kcli.cli import main as entry
from kcli.errors import CoreMissingError, KcliError

# As if it had not been built: the package looks for this module.
HIDDEN = (
    "import importlib.util as util; found = util.find_spec;"
    "util.find_spec = lambda name, *rest: None if name == 'kcli.core.codec.messages' else found(name, *rest);"
)


def run(code: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HIDDEN + code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_the_error_names_the_wheel_and_the_compiler() -> None:
    assert "wheel" in str(CoreMissingError()) and "C compiler" in str(CoreMissingError())
    assert issubclass(CoreMissingError, KcliError) and issubclass(CoreMissingError, ImportError)


def test_kcli_is_imported_and_says_it_when_it_is_used() -> None:
    done = run("import kcli\ntry: kcli.read_capture\nexcept kcli.KcliError as error: print(error)")
    assert done.stdout == f"{CoreMissingError()}\n" and not done.stderr


@pytest.mark.parametrize("words", ["decode request --hex", "--version", "stats x.pcap"])
def test_a_command_is_one_line_of_error(words: str) -> None:
    done = run(f"import sys; from kcli.cli.main import main; sys.exit(main({words.split()!r}))")
    assert done.stderr == f"kcli: {CoreMissingError()}\n" and done.returncode == 3


def test_help_needs_no_core() -> None:
    done = run("import sys; from kcli.cli.main import main; sys.exit(main(['--help']))")
    assert done.returncode == 0 and "kcli COMMAND" in done.stdout


def test_a_core_of_other_sources_is_one_line_of_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(_context: object) -> None:
        from kcli.core.codec.messages import NoSuchReader  # type: ignore[attr-defined]  # noqa: F401

    monkeypatch.setattr(entry.cli, "invoke", command)
    assert entry.main(["stats"]) == 3
    assert capsys.readouterr().err == f"kcli: {CoreMissingError('not that of these sources')}\n"
