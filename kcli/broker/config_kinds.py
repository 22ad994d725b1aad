"""The types of Kafka's configs, with the parsers of their values."""

import re
from collections.abc import Callable
from typing import NamedTuple

from kcli.java_properties import number_of
from kcli.schemas.defaults import boolean
from kcli.schemas.field_codes import CODECS as BATCH_CODECS

FOREVER = (1 << 63) - 1


class ConfigType(NamedTuple):
    """A type of configs. number: in DescribeConfigs. parse: returns the value of a text, or raises ValueError."""

    number: int
    name: str
    parse: Callable[[str], object]


def whole(lo: int, hi: int) -> Callable[[str], int]:
    def parse_whole(text: str) -> int:
        value = number_of(text.strip())
        if not lo <= value <= hi:
            raise ValueError(f"{lo} to {hi} expected")
        return value

    return parse_whole


def ratio(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError("0 to 1 expected")
    return value


def level(lo: int, hi: int, default: int) -> Callable[[str], int]:
    def parse_level(text: str) -> int:
        return default if text == str(default) else whole(lo, hi)(text)

    return parse_level


def one_of(*names: str) -> Callable[[str], str]:
    def parse_name(text: str) -> str:
        if text not in names:
            raise ValueError(f"{', '.join(names)} expected")
        return text

    return parse_name


def policies(text: str) -> str:
    """Check a topic's cleanup policies, delete and compact; `snapshot` (KIP-630) is for the metadata log only.

    Raises ValueError for another policy.
    """
    for each in filter(None, (one.strip() for one in text.split(","))):
        one_of("delete", "compact")(each)
    return text


def throttled(text: str) -> str:
    """Check a list of throttled replicas: "" for none, * for all, or PARTITION:BROKER,...

    Raises ValueError for anything else.
    """
    if text and text != "*" and not all(re.fullmatch(r"\d+:\d+", each.strip()) for each in text.split(",")):
        raise ValueError("* or PARTITION:BROKER,... expected")
    return text


def int_from(lo: int, hi: int = (1 << 31) - 1) -> ConfigType:
    """Return the type of an int32 from `lo` to `hi`."""
    return ConfigType(3, "int", whole(lo, hi))


def long_from(lo: int) -> ConfigType:
    """Return the type of an int64 of at least `lo`."""
    return ConfigType(5, "long", whole(lo, FOREVER))


def keyword_type(*names: str) -> ConfigType:
    """Return the type of a text that is one of these names."""
    return ConfigType(2, "string", one_of(*names))


BOOLEAN, STRING, PASSWORD = (
    ConfigType(1, "boolean", boolean),
    ConfigType(2, "string", str),
    ConfigType(9, "password", str),
)
INT, COUNT, SHORT = int_from(0), int_from(1), ConfigType(4, "short", whole(-(1 << 15), (1 << 15) - 1))
LONG, LIMIT, ANY_LONG = long_from(0), long_from(-2), long_from(-1 << 63)
RATIO, LIST, POLICIES = ConfigType(6, "double", ratio), ConfigType(7, "list", str), ConfigType(7, "list", policies)
CODECS = keyword_type("producer", "uncompressed", *BATCH_CODECS[1:])
GZIP_LEVEL, LZ4_LEVEL, ZSTD_LEVEL = ConfigType(3, "int", level(1, 9, -1)), int_from(1, 17), int_from(-131072, 22)
TIMESTAMP_TYPES = keyword_type("CreateTime", "LogAppendTime")
# The types in the rows of `unread_configs`, by name.
MIGRATION = keyword_type("disabled", "downgrade", "upgrade", "bidirectional")
TYPES = {
    each.name: each
    for each in (
        BOOLEAN,
        STRING,
        int_from(-1 << 31),
        SHORT,
        ANY_LONG,
        ConfigType(6, "double", float),
        LIST,
        ConfigType(8, "class", str),
        PASSWORD,
    )
}
