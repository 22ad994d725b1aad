"""Packages whose names are imported when they are asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def importing(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's lazy `__getattr__`. homes: module below the package -> its names, with spaces between.

    A name is bound in the package for good: a submodule of the same name would replace it once it is imported.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
