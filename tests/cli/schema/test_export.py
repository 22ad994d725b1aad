"""`kcli schema export` as a script sees it; tests/schemas/export has what it writes."""

from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.schema.export import FORMS
from tests.greeting import greeting


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_what_is_printed(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialect = greeting(tmp_path / "greet")
    out = tmp_path / "out"
    assert main(["schema", "export", "--to", form, "--dialect", dialect]) == 0
    printed = capsys.readouterr().out
    assert "greet" in printed.lower()
    assert main(["schema", "export", "--to", form, "--dialect", dialect, "-o", str(out)]) == 0
    assert (out.read_text(), capsys.readouterr().out) == (printed, "")


def test_a_definition_is_no_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialect = greeting(tmp_path)
    target = next(tmp_path.glob("*.json"))
    before = target.read_bytes()
    assert main(["schema", "export", "--to", "kaitai", "--dialect", dialect, "-o", str(target)]) == 2
    assert "another file expected" in capsys.readouterr().err
    assert target.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--to", "protobuf"], "'protobuf' is not one of 'wireshark-lua', 'kaitai', 'json-schema'"),
        (["--to", "kaitai", "--dialect", "none-such"], "none-such"),
        ([], "--to"),
    ],
)
def test_what_there_is_not(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "export", *words]) == 2
    assert text in capsys.readouterr().err
