"""docs/explanation/kips.md: every rule has tests, they exist, and each says whose rule it holds."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "explanation" / "kips.md").read_text()
KIPS = ["KIP-1018", "KIP-227", "KIP-283", "KIP-630", "KIP-951"]


def rows() -> list[tuple[str, str, list[str]]]:
    """(KIP, rule, modules and tests) of each line of the tables."""
    found, kip = [], ""
    for line in PAGE.splitlines():
        if heading := re.match(r"## (KIP-\d+)", line):
            kip = heading.group(1)
        cells = [each.strip() for each in line.strip("|").split("|")]
        if kip and line.startswith("|") and cells[0] not in ("what the text says", "---"):
            found.append((kip, cells[0], re.findall(r"`((?:tests|kcli)/[^`]+)`", line)))
    return found


def words_of(test: str) -> str:
    """A test's name and docstring."""
    path, _, name = test.partition("::")
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return f"{name} {ast.get_docstring(node)}".replace("kip_", "KIP-")
    raise AssertionError(f"{test} is missing")


@pytest.mark.parametrize(("kip", "rule", "tests"), rows())
def test_a_rule_has_tests_that_name_it(kip: str, rule: str, tests: list[str]) -> None:
    modules = [each for each in tests if each.startswith("kcli/")]
    tests = [each for each in tests if each not in modules]
    assert modules and tests, f"{kip}: {rule}: no module, or no test"
    assert [each for each in modules if not (ROOT / each).exists()] == []
    for each in tests:
        assert re.search(rf"{kip}(?!\d)", words_of(each)), f"{each} does not name {kip}"


def test_every_design_is_there() -> None:
    assert sorted({kip for kip, _, _ in rows()}) == KIPS
    assert len(rows()) >= 60
