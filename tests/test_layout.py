"""The house in order: tests for each package, folders and modules of a size to read, public names pinned."""

import ast
import json
import re
import tomllib
from collections.abc import Container, Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import kcli

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
MOST_LINES = 500
MOST_MODULES = 30
# Modules that offer the names of others.
VOCABULARIES = ("kcli/grammar/words/primitives.py",)
TESTED_ELSEWHERE: dict[str, str] = {}
# Imports within a function that close a circle, each with its reason; no other import may, not even for types.
LATE = {
    (
        "kcli.broker.embedded",
        "kcli.broker.control.commands",
    ): "the broker opens the port whose commands are its methods",
    ("kcli.capture.api", "kcli"): "conditions come by a function that the package has, as SQL is above captures",
    ("kcli.capture.decoder", "kcli.capture.tables.conditions"): "the feed of a condition is made where there is one",
}
# The verbs that docstrings of functions begin with. A new one is added here: so no noun comes in by itself.
VERBS = """
    Abort Accept Account Acquire Act Add Advance Allocate Allow Announce Anonymize Answer Append Apply Archive Ask
    Assess Assign Attach Await Begin Block Bracket Break Bring Build Call Cancel Capture Cast Change Check Choose Clean
    Clear Close Collect Colour Combine Commit Compact Compare Compile Complain Complete Compose Compress Compute
    Conclude Connect Continue Control Convert Copy Count Create Cut Damage Deal Decide Decode Decompress Decrypt
    Define Delete Derive Describe Diagnose Dissect Do Draw Drop Elect Emit Empty Encode End Enlarge Enter Escape
    Evict Examine Exchange Execute Expand Expect Explain Extend Feed Fence Fetch Fill Find Finish Flush Fold
    Follow Forget Fork Format Forward Free Freeze Gather Give Go Group Guard Guess Hand Hash Have Hide Hold Ignore
    Import Infer Insert Interpret Interrupt Join Judge Keep Know Label Learn Leave Lend Let Limit Link List Listen
    Load Log Look Make Map Mark Measure Meet Merge Move Name Narrow Note Notify Number Open Order Pack Pad Page Pair
    Parse Pass Pause Pick Place Plan Point Predict Prepare Print Process Provide Put Query Queue Quote Raise Reach
    Read Reassemble Rebuild Record Recover Redact Redirect Refresh Refuse Register Reject Release Remember Remove
    Repeat Replace Replay Report Reset Resolve Restart Restore Resume Return Rewrite Roll Rotate Run Sample Save
    Say Scan See Seek Select Send Serve Set Share Shorten Show Skim Skip Sort Split Stand Start Stop Store Sum
    Summarize Survey Sweep Switch Sync Take Teach Tell Truncate Turn Unmap Unpack Update Use Verify Wait Wake Walk
    Warn Watch Work Wrap Write Yield
    """
# Those of them that are nouns before "of".
NOUNS = "Answer Change Copy Count Group List Name Number Order Page Pair Place Record Share Sum"
CLAUSES = "How What Whatever When Where Whether Which Who Whom Whose Why"
PACKAGES = sorted({path.parent for path in (ROOT / "kcli").rglob("__init__.py")})
MODULES = sorted(path for path in (ROOT / "kcli").rglob("*.py*") if path.suffix in (".py", ".pyx"))
SOURCES = sorted(
    path for path in (ROOT / "kcli").rglob("*") if path.suffix in (".py", ".pyi", ".pyx", ".pxi", ".pxd", ".h")
)

CORE = sorted(
    path for path in (ROOT / "kcli/core").rglob("*") if path.suffix in (".py", ".pyx", ".pxi", ".pxd", ".pyi")
)

CYTHON = [path for path in CORE if path.suffix in (".pyx", ".pxi", ".pxd")]
# A docstring behind the head of a class or function, or a module's; a block of C behind `cdef extern` is none.
DEFINITION = re.compile(
    r"""
    (?: \A
      | ^ (?P<decorators> (?: [ \t]*@.*\n )* )
        [ \t]* (?P<head> (?:def|cdef|cpdef|class)\b (?!\ +extern)
            [^\n(]* (?: \( (?:[^()]|\([^()]*\))* \) [^\n(]* )*
        ):\n
    )
    [ \t]* \"{3} (?P<text> (?s:.*?) ) \"{3}
    """,
    re.MULTILINE | re.VERBOSE,
)


class Docstring(NamedTuple):
    """A docstring of a "thing" (a module or class), a "function", or a "value" (a property)."""

    place: str
    kind: str
    text: str


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_packages_have_tests() -> None:
    for package in PACKAGES:
        inside = package.relative_to(ROOT / "kcli")
        if (elsewhere := TESTED_ELSEWHERE.get(f"kcli/{inside}")) is not None:
            assert (ROOT / elsewhere).exists()
            continue
        folder = TESTS / inside
        alone = folder.parent / f"test_{inside.name}.py"
        assert alone.exists() or list(folder.rglob("test_*.py")), f"{folder} has no test"


def test_lines_of_the_core_are_as_short_as_those_of_python() -> None:
    most = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["line-length"]
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (*CYTHON, *(ROOT / "kcli/core").rglob("*.h"))
        for number, line in enumerate(path.read_text().split("\n"), 1)
        if len(line) > most
    ]
    assert not long


def test_folders_can_be_taken_in_at_a_glance() -> None:
    many = {str(path.relative_to(ROOT)): len(list(path.glob("*.py*"))) for path in PACKAGES}
    assert not {name: count for name, count in many.items() if count > MOST_MODULES}


def test_sources_can_be_read_at_a_sitting() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    assert not {name: count for name, count in lines.items() if count > MOST_LINES}


def test_a_module_says_what_it_is_and_packages_what_they_offer() -> None:
    silent, offering = [], []
    for path in MODULES:
        if path.suffix != ".py":
            continue
        name, tree = str(path.relative_to(ROOT)), parsed(path)
        if not ast.get_docstring(tree):
            silent.append(name)
        assigned = (node for node in tree.body if isinstance(node, ast.Assign))
        names = [getattr(target, "id", "") for node in assigned for target in node.targets]
        if "__all__" in names and path.name != "__init__.py" and name not in VOCABULARIES:
            offering.append(name)
    assert not silent and not offering


def test_docstrings_name_a_thing_and_not_by_a_clause() -> None:
    found = [each for each in docstrings() if each.kind != "function" and each.text.split()[0] in CLAUSES.split()]
    assert not found, "\n".join(f"{each.place}: {each.text[:60]}" for each in found)


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    found = [each for each in docstrings() if each.kind == "function" and not begins_with_verb(each.text)]
    assert not found, "\n".join(f"{each.place}: {each.text[:60]}" for each in found)


def test_docstrings_say_raises_before_an_error() -> None:
    bare = re.compile(r"(?:^|[.)\"`] )(?:[a-z0-9]+\.)?[A-Z]\w*Error(?:, [A-Z]\w*Error)*[.:](?: |$)")
    found = [each for each in docstrings() if bare.search(" ".join(each.text.split()))]
    assert not found, "\n".join(f"{each.place}: {each.text}" for each in found)


def test_every_docstring_of_the_core_is_found() -> None:
    for path in CYTHON:
        begun = re.findall(r'^[ \t]*"""\S', path.read_text(), re.MULTILINE)
        assert len(list(docstrings_of_cython(path))) == len(begun), path


def test_the_core_imports_nothing_from_above() -> None:
    """import-linter does not read Cython."""
    for path in CORE:
        found = re.findall(r"^\s*(?:from|c?import)\s+(kcli[\w.]*)", path.read_text(), re.MULTILINE)
        assert not [name for name in found if not re.match(r"kcli(\.core|\.errors|\.jsontext)?(\.|$)", name)], path


def test_no_imports_go_in_a_circle() -> None:
    """import-linter's layers do not look within a room. Imports for types alone count, too."""
    modules = {module_name(path): path for path in MODULES if path.suffix == ".py"}
    at_top = {name: set(imported(outside_functions(parsed(path)), modules)) - {name} for name, path in modules.items()}
    assert not [(name, to) for name, to in LATE if to in at_top[name]], "these imports are to be within functions"
    anywhere = {name: set(imported(ast.walk(parsed(path)), modules)) - {name} for name, path in modules.items()}
    assert all(to in anywhere[name] for name, to in LATE), "an exception that nothing needs"
    for name, to in LATE:
        anywhere[name].remove(to)
    TopologicalSorter(anywhere).prepare()  # CycleError: it names the modules of a circle


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def outside_functions(tree: ast.Module) -> list[ast.stmt]:
    return [*tree.body, *(each for node in tree.body if isinstance(node, ast.If) for each in node.body)]


def imported(nodes: Iterable[ast.AST], modules: Container[str]) -> Iterator[str]:
    """Yield the modules that import statements name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module in modules:
            package = node.module
            names = (f"{package}.{each.name}" for each in node.names)
            yield from (name if name in modules else package for name in names)


def test_loops_of_the_core_make_no_range() -> None:
    """Where the sign of a step is not written down, Cython makes a Python range for every run of the loop."""
    for path in CORE:
        if path.suffix != ".py":
            steps = re.findall(r"\bin range\([^\n]*?,[^\n]*?,\s*([^\n]*?)\):", path.read_text())
            assert not [step for step in steps if not re.match(r"-?\d+$|sizeof\(", step)], path


def test_public_names_are_pinned() -> None:
    """What `import kcli` offers; a change here is a change for programs that use it (and the CHANGELOG)."""
    assert json.loads((TESTS / "exports.json").read_text()) == {"kcli": names_of(kcli)}


def names_of(package: ModuleType) -> list[str]:
    return sorted(getattr(package, "__all__", []))


@cache
def docstrings() -> list[Docstring]:
    """Read all docstrings of kcli."""
    python = [each for path in MODULES if path.suffix == ".py" for each in docstrings_of_python(path)]
    return python + [each for path in CYTHON for each in docstrings_of_cython(path)]


def docstrings_of_python(path: Path) -> Iterator[Docstring]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Module | ast.ClassDef):
            line, kind = 1 if isinstance(node, ast.Module) else node.lineno, "thing"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            line, kind = node.lineno, kind_of(ast.unparse(each) for each in node.decorator_list)
        else:
            continue
        if text := ast.get_docstring(node):
            yield Docstring(f"{path.relative_to(ROOT)}:{line}", kind, text)


def docstrings_of_cython(path: Path) -> Iterator[Docstring]:
    """Yield the docstrings of a Cython source, which `ast` cannot parse."""
    source = path.read_text()
    for found in DEFINITION.finditer(source):
        place = f"{path.relative_to(ROOT)}:{source.count(chr(10), 0, found.start('text')) + 1}"
        if found["head"] is None or re.match(r"(cdef )?class\b", found["head"]):
            yield Docstring(place, "thing", found["text"])
        else:
            yield Docstring(place, kind_of(found["decorators"].split()), found["text"])


def kind_of(decorators: Iterable[str]) -> str:
    """Return "value" for a property, whose docstring names one, and "function" for any other function."""
    names = {each.removeprefix("@").rpartition(".")[2] for each in decorators}
    return "function" if names.isdisjoint(("property", "cached_property", "setter")) else "value"


def begins_with_verb(text: str) -> bool:
    """Return whether a docstring begins with a verb; what stands before "of" is its noun, as in "Number of records"."""
    first = re.match(r"(\w+)\b(?!-)( of the | of )?", text)
    return first is not None and first[1] in VERBS.split() and not (first[2] and first[1] in NOUNS.split())


def test_rows_of_tables_in_the_docs_have_a_line_each() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    rows = {page: list(table_rows(page.read_text())) for page in pages}
    assert sum(map(len, rows.values())) > 200
    assert not [
        f"{page.name}: {row}" for page, found in rows.items() for row, cells in found if row_cells(row) != cells
    ]


def table_rows(text: str) -> Iterator[tuple[str, int]]:
    """Yield each row of the tables in Markdown, with the number of cells of its table."""
    cells = 0
    for line in re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).splitlines():
        if re.fullmatch(r"\|(?: *:?-+:? *\|)+", line):
            cells = row_cells(line)
        elif not line:
            cells = 0
        elif cells:
            yield line, cells


def row_cells(row: str) -> int:
    """Count the cells of a row; 0 where it does not begin and end with a bar."""
    bars = re.sub(r"`[^`]*`", "", row).strip()
    return len(re.findall(r"(?<!\\)\|", bars)) - 1 if bars.startswith("|") and bars.endswith("|") else 0
