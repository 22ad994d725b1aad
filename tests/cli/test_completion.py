"""Shell completion: the scripts, and what a shell asks of kcli while a person types."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kcli.cli.main import main


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete -o nosort -F"), ("zsh", "#compdef kcli"), ("fish", "complete --no-files")]
)
def test_the_script(shell: str, sign: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert sign in script
    assert f"_KCLI_COMPLETE={shell}_complete" in script


def test_bash_takes_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    done = subprocess.run(["bash", "-n"], input=capsys.readouterr().out, text=True, check=False)
    assert done.returncode == 0


def test_an_unknown_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("kcli dec", ["decode"]),
        ("kcli decode re", ["request", "response"]),
        ("kcli encode request --to ", ["raw", "hex", "base64"]),
        ("kcli encode request --fr", ["--framed"]),
    ],
)
def test_words_are_completed(words: str, expected: list[str]) -> None:
    *before, incomplete = words.split(" ")
    environment = {
        **os.environ,
        "_KCLI_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join([*before, incomplete]),
        "COMP_CWORD": str(len(before)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "kcli.cli"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == expected
