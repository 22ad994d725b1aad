"""What brokers say of a capture: their request logs, and how an exchange compares with a line of one."""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange

__all__ = ["compare"]


def differs(said: Any, ours: Any, path: str = "") -> str | None:
    """The first path at which a decoded value is not what the broker logged; None when it is all the same."""
    if isinstance(said, dict):
        if not isinstance(ours, dict):
            return f"{path}: {ours!r}"
        unknown = [name for name in ours if not (name.startswith("_") or name in said or f"{name}SizeInBytes" in said)]
        if unknown:
            return f"{path}.{unknown[0]}: not logged"
        return next((found for name in said if (found := field_differs(name, said[name], ours, path))), None)
    if isinstance(said, list):
        if not isinstance(ours, list) or len(said) != len(ours):
            return f"{path}: another number of entries"
        pairs = enumerate(zip(said, ours, strict=True))
        return next((found for i, pair in pairs if (found := differs(*pair, f"{path}[{i}]"))), None)
    return None if said == ours else f"{path}: {ours!r} is not {said!r}"


def field_differs(name: str, said: Any, ours: dict[str, Any], path: str) -> str | None:
    field = re.sub("ecordsSizeInBytes$", "ecords", name)
    if field not in ours:
        return f"{path}.{field}: missing"
    if field != name:
        return None if ours[field]["sizeInBytes"] == said else f"{path}.{field}: {ours[field]} is not {said} bytes"
    if said == "(redacted)" or (said == "" and isinstance(ours[field], dict)):
        return None  # a sensitive config, or records of which a log says nothing
    return differs(said, ours[field], f"{path}.{field}")


def ports(connection: str) -> tuple[str, ...]:
    found = re.fullmatch(r".*?:(\d+)-.*?:(\d+)(?:-\d+)*", re.sub(r"\\[.*?\\]|(?:[\\da-f]*:){7}\\w+", "", connection))
    assert found
    return found.groups()


def compare(capture: Path, log: Path, key_logs: Sequence[Path] = ()) -> tuple[int, list[str]]:
    """(exchanges found in the log, what differs) of a capture."""
    ours: dict[tuple[Any, ...], list[Exchange]] = defaultdict(list)
    for item in read_capture(capture, secrets=True, key_logs=[str(file) for file in key_logs]).items():
        if isinstance(item, Exchange):
            key = ports(item.connection), item.api_key, item.api_version, item.correlation_id
            ours[key].append(item)
    equal, wrong = 0, []
    for line in gzip.decompress(log.read_bytes()).splitlines():
        said = json.loads(line)
        header = said["requestHeader"]
        key = ports(said["connection"]), header["requestApiKey"], header["requestApiVersion"], header["correlationId"]
        if said.get("isForwarded") or not ours[key]:
            continue
        row = json.loads(ours[key].pop(0).line())
        found = differs({"request": said["request"]}, {"request": row["request"]})
        if not found and row["response"] is not None:
            found = differs({"response": said["response"]}, {"response": row["response"]})
        equal += not found
        wrong += [f"{header['requestApiKeyName']} #{header['correlationId']}{found}"] if found else []
    return equal, wrong
