"""Libraries that only some commands need, and what to install for them."""

import importlib.util

from kcli.errors import UsageError

# As in pyproject.toml, by the names of the packages.
EXTRAS = {
    "payloads": ("fastavro", "grpcio-tools", "h11", "jsonschema", "protobuf", "urllib3"),
    "metrics": ("duckdb", "numpy", "prometheus_client", "pyarrow"),
    "pandas": ("numpy", "pandas", "pyarrow"),
    "parquet": ("numpy", "pyarrow"),
    "delta": ("deltalake", "pyarrow"),
    "report": ("duckdb", "jinja2", "numpy", "pyarrow"),
    "tls": ("cryptography",),
    "sql": ("duckdb", "numpy", "pyarrow"),
    "traces": ("opentelemetry-proto", "urllib3"),
    "spark": ("deltalake", "duckdb", "jinja2", "numpy", "pandas", "pyarrow", "pyspark"),
}
# Packages whose modules have other names.
MODULES = {"grpcio-tools": "grpc_tools", "opentelemetry-proto": "opentelemetry.proto", "protobuf": "google.protobuf"}


def require(what: str, extra: str) -> None:
    """Raise UsageError if a library of an extra is missing. what: the feature that needs it."""
    if not is_there(extra):
        raise UsageError(f"{what} needs {', '.join(missing(extra))} (pip install 'kcli-kafka[{extra}]')")


def is_there(extra: str) -> bool:
    """Return whether the libraries of an extra are installed."""
    return not missing(extra)


def missing(extra: str) -> list[str]:
    """Name the libraries of an extra that are not installed."""
    return [name for name in EXTRAS[extra] if not can_import(MODULES.get(name, name))]


def can_import(module: str) -> bool:
    """Return whether a module is installed. This imports its parent packages."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
