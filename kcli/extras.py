"""Libraries that only some commands need, and what to install for them."""

from __future__ import annotations

import importlib.util

from kcli.errors import UsageError

__all__ = ["require"]

# As in pyproject.toml, by the names that are imported.
EXTRAS = {
    "pandas": ("numpy", "pandas", "pyarrow"),
    "parquet": ("numpy", "pyarrow"),
    "report": ("duckdb", "jinja2", "numpy", "pyarrow"),
    "sql": ("duckdb", "numpy", "pyarrow"),
    "spark": ("jinja2", "numpy", "pandas", "pyarrow", "pyspark"),
}


def require(what: str, extra: str) -> None:
    """UsageError where `what` lacks a library of an extra: which, and what to install."""
    missing = [name for name in EXTRAS[extra] if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"{what} needs {', '.join(missing)} (pip install 'kcli-kafka[{extra}]')")
