"""The options for fault rules, alike for the broker and the proxy."""

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from kcli.cli.main import main
from kcli.cli.options.fault import fault_options, take_faults


def test_rules_of_the_words_come_before_those_of_the_file(tmp_path: Path) -> None:
    taken: list[dict[str, Any]] = []

    @click.command()
    @fault_options("A rule.")
    @click.option("--host")
    def serve(**options: Any) -> None:
        taken.extend((take_faults(options), options))

    path = tmp_path / "rules"
    path.write_text("# why\n\napi=Fetch,delay=5\n")
    words = ["--fault", "drop", "--fault-file", str(path), "--fault", "api=Produce,ignore", "--seed", "7"]
    assert CliRunner().invoke(serve, words).exit_code == 0
    rules = ["drop", "api=Produce,ignore", "api=Fetch,delay=5"]
    assert taken == [{"faults": rules, "seed": 7}, {"host": None}]
    assert CliRunner().invoke(serve, []).exit_code == 0
    assert taken[2:] == [{"faults": [], "seed": None}, {"host": None}]
    assert "A rule." in CliRunner().invoke(serve, ["--help"]).output


def test_a_file_that_is_no_text_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rules"
    path.write_bytes(b"\xfe\xff\0")
    assert main(["broker", "serve", "--fault-file", str(path)]) == 3
    assert capsys.readouterr().err == f"kcli: {path}: not text: byte 0 is not UTF-8\n"
