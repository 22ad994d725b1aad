"""Libraries that only some commands need, and what to install for them."""

from __future__ import annotations

import importlib.util

from kcli.errors import UsageError

# As in pyproject.toml, by the names that are imported.
EXTRAS = {
    "pandas": ("numpy", "pandas", "pyarrow"),
    "parquet": ("numpy", "pyarrow"),
    "delta": ("deltalake", "pyarrow"),
    "report": ("duckdb", "jinja2", "numpy", "pyarrow"),
    "tls": ("cryptography",),
    "sql": ("duckdb", "numpy", "pyarrow"),
    "spark": ("deltalake", "jinja2", "numpy", "pandas", "pyarrow", "pyspark"),
}


def require(what: str, extra: str) -> None:
    """Raise UsageError where `what` lacks a library of an extra: which, and what to install."""
    if not is_there(extra):
        raise UsageError(f"{what} needs {', '.join(missing(extra))} (pip install 'kcli-kafka[{extra}]')")


def is_there(extra: str) -> bool:
    """Return whether the libraries of an extra are installed."""
    return not missing(extra)


def missing(extra: str) -> list[str]:
    """Name the libraries of an extra that are not installed."""
    return [name for name in EXTRAS[extra] if importlib.util.find_spec(name) is None]
