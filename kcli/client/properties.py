"""The configuration of a client, by Kafka's property names.

A configuration file of a Java application can be used unchanged: kcli checks the properties that it uses, lists those
that it ignores (`property_table.IGNORED`), and refuses a name that Kafka does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kcli.client.property_table import IGNORED, OF_LIBRDKAFKA, PROPERTIES, Property
from kcli.endless import refuse_endless
from kcli.errors import InputError, UsageError
from kcli.java_properties import number_of, parse_file
from kcli.nearest import suggestion

BOOLEANS = {"true": True, "false": False}


class ClientConfig:
    """Typed values by Kafka's property names: `config["request.timeout.ms"]` is an int, a list property a tuple of str.

    set_names: the names that were set; ignored: those of them that kcli ignores, in order. Raises UsageError for an
    unknown name or an invalid value.
    """

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        properties = properties or {}
        unknown = [name for name in properties if name not in PROPERTIES and name not in IGNORED]
        if unknown:
            raise UsageError(describe_unknown(unknown[0]))
        self.set_names = frozenset(properties)
        self.ignored = tuple(name for name in properties if name in IGNORED)
        self._values: dict[str, Any] = {
            name: convert(known, properties.get(name, known.default)) for name, known in PROPERTIES.items()
        }

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def seconds(self, name: str) -> float:
        """Return a property in milliseconds (`...ms`) as seconds."""
        return float(self._values[name]) / 1000

    def replace(self, **values: Any) -> ClientConfig:
        """Return a copy with typed values changed; a `.` in a name is written `_`."""
        copy = ClientConfig()
        copy.set_names, copy.ignored = self.set_names, self.ignored
        copy._values = {**self._values, **{name.replace("_", "."): value for name, value in values.items()}}
        return copy


def describe_unknown(name: str) -> str:
    if name in OF_LIBRDKAFKA:
        return f"{name}: librdkafka's; Kafka's own clients, and kcli, have {OF_LIBRDKAFKA[name]}"
    return f"{name}: no client property of Kafka's{suggestion(name, [*PROPERTIES, *IGNORED], 0.7)}"


def convert(known: Property, text: str | None) -> Any:
    """Return the typed value of a property's text. Raises UsageError for an invalid value."""
    if text is None:
        return None
    if known.type == "password":
        return text
    text = text.strip()
    if known.type == "list":
        return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)
    if known.type == "boolean":
        if text.lower() not in BOOLEANS:
            raise UsageError(f"{known.name}: {text!r} is not true or false")
        return BOOLEANS[text.lower()]
    if known.type == "int":
        return convert_int(known, text)
    return convert_string(known, text)


def convert_int(known: Property, text: str) -> int:
    try:
        value = number_of(text)
    except ValueError:
        raise UsageError(f"{known.name}: {text!r} is not a whole number") from None
    if known.low is not None and value < known.low:
        raise UsageError(f"{known.name}: {value} is below {known.low}")
    return value


def convert_string(known: Property, text: str) -> str:
    if not known.choices:
        return text
    for choice in known.choices:
        if choice.lower() == text.lower():
            return choice
    expected = ", ".join(choice or "(empty)" for choice in known.choices)
    raise UsageError(f"{known.name}: {text!r} is none of {expected}")


def load(settings: Iterable[str] = (), bootstrap: str | None = None) -> ClientConfig:
    """Return a configuration from `--config` values: files of properties, and `key=value`. Later ones override earlier.

    bootstrap: `HOST:PORT[,HOST:PORT...]`, which overrides `bootstrap.servers`.
    Raises UsageError for an unknown name or an invalid value, and InputError for an unknown name in a file, or a file
    that is no properties file.
    """
    properties: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if equals and not is_file(setting):
            properties[key.strip()] = value
        else:
            properties.update(read_file(Path(setting)))
    if bootstrap is not None:
        properties["bootstrap.servers"] = bootstrap
    return ClientConfig(properties)


def is_file(name: str) -> bool:
    """Return whether there is a file of that name. A JAAS text, too long for a name, is none."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def without_value(setting: str) -> str:
    """Return the name in a setting with a space or colon in place of "=", as its value may be a password; else the
    setting.
    """
    name = re.match(r"[\w-]+(\.[\w-]+)+(?=[\s:])", setting)
    return f"{name[0]} ..." if name else setting


def read_file(path: Path) -> dict[str, str]:
    """Return the properties in a file; errors name the file and the line. Raises InputError or UsageError."""
    refuse_endless(path)
    values: dict[str, str] = {}
    try:
        for key, value, line in parse_file(path):
            if key not in PROPERTIES and key not in IGNORED:
                raise InputError(f"line {line}: {describe_unknown(key)}", file=str(path))
            values[key] = value
    except FileNotFoundError:
        raise UsageError(f"--config {without_value(str(path))}: neither key=value nor a file that exists") from None
    return values
