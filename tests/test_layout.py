"""The house in order: tests for each package, folders and modules of a size to read, public names pinned."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

import kcli

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
MOST_LINES = 500
MOST_MODULES = 30
# A module for each API: the folder is the list of what is served.
REGISTRIES = ("kcli/broker/apis", "kcli/pipeline")
# Modules that offer the names of others.
VOCABULARIES = ("kcli/grammar/words/primitives.py",)
TESTED_ELSEWHERE: dict[str, str] = {}
PACKAGES = sorted({path.parent for path in (ROOT / "kcli").rglob("__init__.py")})
MODULES = sorted(path for path in (ROOT / "kcli").rglob("*.py*") if path.suffix in (".py", ".pyx"))
SOURCES = sorted(
    path for path in (ROOT / "kcli").rglob("*") if path.suffix in (".py", ".pyi", ".pyx", ".pxi", ".pxd", ".h")
)

CORE = sorted(
    path for path in (ROOT / "kcli/core").rglob("*") if path.suffix in (".py", ".pyx", ".pxi", ".pxd", ".pyi")
)


@pytest.mark.parametrize("package", [str(path.relative_to(ROOT)) for path in PACKAGES])
def test_a_package_has_tests(package: str) -> None:
    inside = Path(package).relative_to("kcli")
    if package in TESTED_ELSEWHERE:
        assert (ROOT / TESTED_ELSEWHERE[package]).exists()
        return
    folder = TESTS / inside
    assert list(folder.rglob("test_*.py")) or (folder.parent / f"test_{inside.name}.py").exists(), (
        f"{folder} has no test"
    )


@pytest.mark.parametrize("folder", [str(path.relative_to(ROOT)) for path in PACKAGES])
def test_a_folder_can_be_taken_in_at_a_glance(folder: str) -> None:
    if folder not in REGISTRIES:
        assert len(list((ROOT / folder).glob("*.py*"))) <= MOST_MODULES


@pytest.mark.parametrize("source", [str(path.relative_to(ROOT)) for path in SOURCES])
def test_a_source_can_be_read_at_a_sitting(source: str) -> None:
    lines = len((ROOT / source).read_text().splitlines())
    assert lines <= MOST_LINES


@pytest.mark.parametrize("module", [str(path.relative_to(ROOT)) for path in MODULES if path.suffix == ".py"])
def test_a_module_says_what_it_is(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text())
    assert ast.get_docstring(tree), "no docstring"
    names = [getattr(target, "id", "") for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    assert "__all__" not in names or module.endswith("__init__.py") or module in VOCABULARIES, "for packages"


@pytest.mark.parametrize("source", [str(path.relative_to(ROOT)) for path in CORE])
def test_the_core_imports_nothing_from_above(source: str) -> None:
    """import-linter does not read Cython."""
    found = re.findall(r"^\s*(?:from|c?import)\s+(kcli[\w.]*)", (ROOT / source).read_text(), re.MULTILINE)
    assert not [name for name in found if not re.match(r"kcli(\.core|\.errors|\.jsontext)?(\.|$)", name)]


@pytest.mark.parametrize("source", [str(path.relative_to(ROOT)) for path in CORE if path.suffix != ".py"])
def test_loops_of_the_core_make_no_range(source: str) -> None:
    """Where the sign of a step is not written down, Cython makes a Python range for every run of the loop."""
    steps = re.findall(r"\bin range\([^\n]*?,[^\n]*?,\s*([^\n]*?)\):", (ROOT / source).read_text())
    assert not [step for step in steps if not re.match(r"-?\d+$|sizeof\(", step)]


def test_public_names_are_pinned() -> None:
    """What `import kcli` offers; a change here is a change for programs that use it (and the CHANGELOG)."""
    assert json.loads((TESTS / "exports.json").read_text()) == {"kcli": names_of(kcli)}


def names_of(package: ModuleType) -> list[str]:
    return sorted(getattr(package, "__all__", []))
