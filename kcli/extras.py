"""Libraries that only some uses need: those of the extras in pyproject.toml."""

from __future__ import annotations

import importlib

from kcli.errors import UsageError

__all__ = ["require"]


def require(what: str, extra: str, *modules: str) -> None:
    """Import the modules that `what` needs. UsageError: one is missing; it names the extra that installs it."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            raise UsageError(f"{what} needs {module} (pip install 'kcli-kafka[{extra}]')") from None
