"""`python -m kcli` is the command line."""

import subprocess
import sys
from pathlib import Path


def test_the_package_can_be_run(tmp_path: Path) -> None:
    found = [
        subprocess.run([sys.executable, "-m", name, "--version"], cwd=tmp_path, capture_output=True, check=True).stdout
        for name in ("kcli", "kcli.cli")
    ]
    assert found[0] == found[1] and found[0].startswith(b"kcli ")


def test_an_encoding_that_lacks_characters_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "request").write_text("0003 0001 00000007 0003 636c69 00000001 0002 c3a4")
    words = ["decode", "request", "--hex", "request", "--format", "tree"]
    environment = {"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-m", "kcli", *words], cwd=tmp_path, capture_output=True, env=environment, check=True
    )
    assert b"\\xe4" in done.stdout
