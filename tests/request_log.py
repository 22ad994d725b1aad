"""A broker's own account of its exchanges (`kafka.request.logger`) beside what kcli decoded from the wire.

What the log shows otherwise than the wire, and this knows: of records only their size; secrets as "(redacted)"; an
empty request where the version was unknown; the broker's remark that a version is deprecated. Forwarded requests are in
it twice, the second time as a message inside an Envelope; SASL exchanges and ApiVersions before them are not in it.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["difference", "key", "logged", "unlike"]

Row = dict[str, Any]
API_VERSIONS = 18
# server:port-client:port, and in the log numbers of the broker's own behind it
PORTS = re.compile(r".*:(\d+)-.*:(\d+)(?:-\d+){0,2}")


def logged(file: Path) -> Iterator[Row]:
    """The exchanges of a gzipped request log, forwarded ones left out."""
    with gzip.open(file, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            if not row.get("isForwarded"):
                row["requestHeader"].pop("requestApiVersionDeprecated", None)
                yield row


def key(row: Row) -> tuple[int, ...]:
    """What an exchange is known by, in the log and in kcli's lines: two ports, correlation id, api key and version."""
    ports = PORTS.fullmatch(row["connection"])
    assert ports, row["connection"]
    header = row["requestHeader"]
    numbers = (header["correlationId"], header["requestApiKey"], header["requestApiVersion"])
    return int(ports[1]), int(ports[2]), *numbers


def unlike(truth: Iterable[Row], ours: Iterable[Row]) -> list[str]:
    """What the log has and kcli has not, or has otherwise."""
    found = {key(row): row for row in ours}
    problems = []
    for row in truth:
        same = found.get(key(row))
        problem = "not decoded" if same is None else exchange_difference(row, same)
        if problem:
            problems.append(f"{row['requestHeader']['requestApiKeyName']} {key(row)}: {problem}")
    return problems


def exchange_difference(truth: Row, ours: Row) -> str | None:
    return (
        difference(truth["requestHeader"], ours["requestHeader"], "requestHeader")
        or (None if unknown_version(truth) else difference(truth["request"], ours["request"], "request"))
        or (ours["response"] and difference(truth["response"], ours["response"], "response"))
    )


def unknown_version(truth: Row) -> bool:
    """An ApiVersions request of a version the broker does not know is logged as empty."""
    return bool(truth["requestHeader"]["requestApiKey"] == API_VERSIONS and truth["request"] == {})


def difference(truth: Any, ours: Any, path: str) -> str | None:
    """The first place where ours is not what the log says; None where all is the same."""
    if isinstance(truth, dict) and isinstance(ours, dict):
        return object_difference(truth, ours, path)
    if isinstance(truth, list) and isinstance(ours, list) and len(truth) == len(ours):
        pairs = enumerate(zip(truth, ours, strict=True))
        return next((found for i, (a, b) in pairs if (found := difference(a, b, f"{path}[{i}]"))), None)
    return None if truth == ours and type(truth) is type(ours) else f"{path}: {ours!r}, not {truth!r}"


def object_difference(truth: Row, ours: Row, path: str) -> str | None:
    known = {re.sub(r"(ecords)SizeInBytes$", r"\1", name): (name, value) for name, value in truth.items()}
    extra = [name for name in ours if name not in known and not name.startswith("_")]
    if extra or (missing := [name for name in known if name not in ours]):
        return f"{path}: {extra} not in the log" if extra else f"{path}: {missing} missing"
    for name, (logged_as, value) in known.items():
        found = field_difference(logged_as, value, ours[name], f"{path}.{name}")
        if found:
            return found
    return None


def field_difference(name: str, value: Any, ours: Any, path: str) -> str | None:
    if value == "(redacted)":
        return None
    if name.endswith("SizeInBytes"):
        return difference(value, ours["sizeInBytes"], path)
    if name.endswith("ecords") and value == "":  # ShareFetch and FetchSnapshot: not even the size
        return None if "sizeInBytes" in ours else f"{path}: {ours!r}"
    return difference(value, ours, path)
