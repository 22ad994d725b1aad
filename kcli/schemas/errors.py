"""Kafka's error codes and their names, from the enum Errors in kafka-clients of all releases in the tables."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

# (code, name, whether it is retriable, names in earlier releases)
Row = tuple[int, str, bool, list[str]]


def read_table(folder: Path) -> list[Row]:
    """Return the rows of a table of errors; see `kcli.schemas.table_files`."""
    return [tuple(row) for row in json.loads((folder / "errors.json").read_bytes())]


rows = read_table(Path(__file__).parent / "stock")

# Code -> name: 6 -> "NOT_LEADER_OR_FOLLOWER".
ERRORS: Mapping[int, str] = MappingProxyType({code: name for code, name, _, _ in rows})

# Codes whose exception is a RetriableException: the same request may succeed later.
RETRIABLE = frozenset(code for code, _, retriable, _ in rows if retriable)

# Errors of a coordinator that has moved or is still loading.
COORDINATOR_ERRORS = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")

codes = {name: code for code, name in ERRORS.items()}
older_codes = {old: code for code, _, _, names in rows for old in names}


def error_name(code: int) -> str:
    """Return "NOT_LEADER_OR_FOLLOWER" for 6; "ERROR_999" for a code without a name, as a newer broker may send."""
    return ERRORS.get(code) or f"ERROR_{code}"


def error_code(name: str) -> int:
    """Return 6 for "NOT_LEADER_OR_FOLLOWER". Raises KeyError for an unknown name, which is a bug of the caller."""
    return codes[name]


def find_error_code(text: str) -> int | None:
    """Return the code of an error name in any case, including names in earlier releases; None for an unknown name."""
    name = text.upper()
    return codes.get(name, older_codes.get(name))


def is_retriable(code: int) -> bool:
    """Return whether the code's exception is a RetriableException in Kafka."""
    return code in RETRIABLE
