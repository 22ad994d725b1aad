"""Imports modules and names on first use."""

import importlib
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any


def importing(package: str, homes: Mapping[str, str], extra: str = "") -> Callable[[str], Any]:
    """Return a package's lazy `__getattr__`. homes: {module below the package: its names, separated by spaces}.

    extra: the extra of pyproject.toml that the names need; a name raises UsageError if its libraries are not installed.
    A name stays bound in the package, but the first import of a submodule of the same name would replace it.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if extra:
            from kcli.extras import require

            require(f"{package}.{name}", extra)
        value = getattr(importlib.import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def postpone(*names: str) -> None:
    """Load these modules on first use of an attribute. It is for modules that others import and rarely use."""
    for name in names:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None and spec.loader is not None:
            module = sys.modules[name] = module_from_spec(spec)
            module.__getattr__ = loader_of(module)  # type: ignore[method-assign]


def loader_of(module: ModuleType) -> Callable[[str], Any]:
    """Return the `__getattr__` that loads a module on first use. Other threads wait until it is loaded."""
    lock, begun = RLock(), False

    def load(name: str) -> Any:
        nonlocal begun
        with lock:
            spec = module.__spec__
            if not begun and spec is not None and spec.loader is not None:
                begun = True
                try:
                    spec.loader.exec_module(module)
                finally:
                    if vars(module).get("__getattr__") is load:
                        del module.__getattr__
        if vars(module).get("__getattr__") is not load:
            return getattr(module, name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")  # the module asks while it loads

    return load
