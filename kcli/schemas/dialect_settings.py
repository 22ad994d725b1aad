"""Reads and checks dialect.json, the settings of a dialect that definitions cannot hold."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.nearest import suggestion
from kcli.schemas.errors import ERRORS
from kcli.schemas.ranges import HIGHEST

SETTINGS = "dialect.json"
KEYS: dict[str, type] = {"apiKeys": dict, "errors": dict, "source": str}
# The only rule whose faults are ignored; all others make the file invalid.
IGNORED = "unknown-setting"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class SettingFault(NamedTuple):
    """at: the JSON object with the fault; path: the setting, "apiKeys.Greet"."""

    at: dict[str, Any]
    path: str
    rule: str
    text: str


@dataclass(slots=True)
class Settings:
    """The valid settings of a file: api_keys by API, errors by code; faults: the invalid settings."""

    source: str = ""
    api_keys: dict[str, int] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    faults: list[SettingFault] = field(default_factory=list)


def read_settings(raw: dict[str, Any]) -> Settings:
    """Return the settings in the JSON object of a file."""
    found = Settings()
    for key in raw.keys() - KEYS.keys():
        near = suggestion(key, KEYS) or f"; there are {', '.join(KEYS)}"
        found.faults.append(SettingFault(raw, key, IGNORED, f"{key!r} is unknown and ignored{near}"))
    source = raw.get("source", "")
    if isinstance(source, str):
        found.source = source
    else:
        found.faults.append(SettingFault(raw, "source", "setting", f"{source!r}: a text expected"))
    found.faults += take_api_keys(found, raw)
    found.faults += take_errors(found, raw)
    return found


def take_api_keys(found: Settings, raw: dict[str, Any]) -> Iterator[SettingFault]:
    keys = raw.get("apiKeys", {})
    if not isinstance(keys, dict):
        yield SettingFault(raw, "apiKeys", "setting", f'{keys!r}: {{"Api": key}} expected')
        return
    for api, key in keys.items():
        number = integer(key)
        if number is None or not 0 <= number <= HIGHEST:
            text = f"{key!r} is no API key: a number from 0 to {HIGHEST} expected"
            yield SettingFault(keys, f"apiKeys.{api}", "setting", text)
        else:
            found.api_keys[api] = number


def take_errors(found: Settings, raw: dict[str, Any]) -> Iterator[SettingFault]:
    errors = raw.get("errors", {})
    if not isinstance(errors, dict):
        yield SettingFault(raw, "errors", "setting", f'{errors!r}: {{"code": "NAME"}} expected')
        return
    for code, name in errors.items():
        path, number = f"errors.{code}", integer(code)
        if number is None or not -HIGHEST - 1 <= number <= HIGHEST:
            text = f"{code!r} is no error code: a number from {-HIGHEST - 1} to {HIGHEST} expected"
            yield SettingFault(errors, path, "setting", text)
        elif not isinstance(name, str) or not NAME.fullmatch(name):
            yield SettingFault(errors, path, "setting", f"{name!r} is no name: a word expected, as in UNKNOWN_TOPIC_ID")
        elif (stock := ERRORS.get(number, name)) != name:
            yield SettingFault(errors, path, "error-taken", f"error {number} is {stock} in Apache Kafka")
        else:
            found.errors[number] = name


def integer(value: Any) -> int | None:
    """Return a number, which may be text; None for anything else."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,6}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
