"""The process rules of docs/how-to/testing.md, in Java and Go, run against the broker. Go compiles net/http first."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "testing.md"
RUN = {"java": ("EmbeddedKafka.java", ["java", "EmbeddedKafka.java"]), "go": ("main.go", ["go", "run", "main.go"])}


@pytest.mark.parametrize("language", RUN)
def test_the_example_runs(language: str, tmp_path: Path) -> None:
    name, command = RUN[language]
    if shutil.which(command[0]) is None or (language == "go" and "KCLI_GO" not in os.environ):
        pytest.skip(f"no {command[0]} here, or no time for it (KCLI_GO=1)")
    (source,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / name).write_text(source)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PATH": path, "GO111MODULE": "off"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert '"value":"a"' in done.stdout, done.stderr
