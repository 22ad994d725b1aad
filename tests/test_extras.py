"""Libraries that are not there: one line that says what to install."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.errors import UsageError
from kcli.extras import EXTRAS, MODULES, require
from kcli.pipeline.storage import StoragePath

ROOT = Path(__file__).parents[1]


def test_extras_are_those_of_the_package() -> None:
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, names in EXTRAS.items():
        assert sorted(each.partition(">")[0] for each in offered[extra]) == sorted(names)


@pytest.mark.parametrize(("extra", "name"), [(extra, name) for extra, names in EXTRAS.items() for name in names])
def test_what_is_missing_is_named(extra: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULES.get(name, name), None)
    with pytest.raises(UsageError) as caught:
        require("this", extra)
    assert str(caught.value) == f"this needs {name} (pip install 'kcli-kafka[{extra}]')"


@pytest.mark.parametrize(
    "words",
    [
        ["pipeline", "run", "--input", "IN", "--output", "OUT"],
        ["pipeline", "report", "DIR"],
        ["pipeline", "report", "DIR", "-o", "OUT/page.html"],
        ["decode", "pcap", "IN", "--format", "parquet", "-o", "OUT"],
        ["decode", "segment", "LOG", "--format", "parquet", "-o", "OUT"],
        ["snapshot", "image", "META", "--format", "parquet", "-o", "OUT"],
    ],
)
@pytest.mark.parametrize("names", [("numpy",), ("pyarrow",), ("numpy", "pyarrow")])
def test_commands_say_it_in_one_line(
    words: list[str],
    names: tuple[str, ...],
    samples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)
    metadata = next(path.parent for path in sorted(samples.rglob("*.checkpoint")))
    places = {
        "IN": samples / "java44-txn.pcap",
        "LOG": samples / "orders-0",
        "META": metadata,
        "DIR": tmp_path,
        "OUT": tmp_path / "out",
    }
    assert main([str(places.get(word, word)) for word in words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"needs {', '.join(names)} (pip install 'kcli-kafka[" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("module", ["sources.file_source", "sources.source_logs", "streaming"])
def test_modules_built_on_pyspark_say_it_too(module: str) -> None:
    """In a process of its own: a module is imported once."""
    code = f"import sys; sys.modules['pyspark'] = None; import kcli.pipeline.{module}"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert "needs pyspark (pip install 'kcli-kafka[spark]')" in said.splitlines()[-1]


def test_a_table_in_a_folder_needs_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match="kcli pipeline needs pyarrow"):
        StoragePath("x")


@pytest.mark.parametrize("name", ["kcli.diagnose.diagnose", "kcli.compare.compare"])
def test_the_library_says_it_too(name: str) -> None:
    module, _, function = name.rpartition(".")
    code = f"import sys; sys.modules['numpy'] = None; from {module} import {function}"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert f"{name} needs numpy (pip install 'kcli-kafka[sql]')" in said.splitlines()[-1]
