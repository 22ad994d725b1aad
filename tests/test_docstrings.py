"""Every public definition says what it is: names that other modules import, and the public members of these classes."""

import ast
import importlib
import inspect
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "kcli").rglob("*.py"))
    if path.name != "__main__.py"
]


def test_public_definitions_say_what_they_are() -> None:
    imported = imported_names()
    assert len(MODULES) > 500
    assert not [f"{name}.{each}" for name in MODULES for each in silent(name, imported.get(name, set()))]


def imported_names() -> dict[str, set[str]]:
    """The names that some module of kcli imports from each."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "kcli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found[node.module].update(alias.name for alias in node.names)
    return found


def silent(name: str, imported: set[str]) -> Iterator[str]:
    """The public definitions of a module without a docstring."""
    module = importlib.import_module(name)
    for each in sorted(imported):
        value = getattr(module, each, None)
        if getattr(value, "__module__", None) != name or not (inspect.isfunction(value) or inspect.isclass(value)):
            continue
        # A dataclass without a docstring is given its signature for one.
        if not value.__doc__ or value.__doc__.startswith(f"{value.__name__}("):
            yield each
        if inspect.isclass(value):
            yield from (f"{each}.{member}" for member in silent_members(value))


def silent_members(owner: type[Any]) -> Iterator[str]:
    """Methods and properties; one that overrides another may leave the words to that."""
    for name, value in vars(owner).items():
        function = function_of(value)
        if name.startswith("_") or function is None or function.__module__ != owner.__module__:
            continue
        if not function.__doc__ and not inspect.getdoc(getattr(owner, name)):
            yield name


def function_of(value: Any) -> Any:
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    if isinstance(value, property):
        return value.fget
    if isinstance(value, cached_property):
        return value.func
    return value if inspect.isfunction(value) and value.__name__ != "<lambda>" else None
