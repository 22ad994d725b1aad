"""Configs of groups, of subscriptions to client metrics, and of a broker's loggers."""

import re
from collections.abc import Mapping

from kcli.broker.config_kinds import BOOLEAN, INT, LIST, STRING, ConfigType, keyword_type
from kcli.broker.configs import BROKER, Config, Configs, parse, table
from kcli.errors import UsageError
from kcli.records.acceptance import RefusedError
from kcli.schemas.field_codes import ConfigResource

LEVELS = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
ROOT = "root"
# The loggers in Kafka's log4j2.yaml.
LOGGER_NAMES = (
    "kafka",
    "kafka.authorizer.logger",
    "kafka.log.LogCleaner",
    "kafka.network.RequestChannel$",
    "kafka.request.logger",
    "org.apache.kafka",
    "org.apache.kafka.controller",
    ROOT,
    "state.change.logger",
)
DURATION = re.compile(
    r"by_duration:P(?:([-+]?\d+)D)?(?:T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.ASCII | re.IGNORECASE,
)
MATCHES = frozenset(
    [
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    ]
)


def share_reset(text: str) -> str:
    """Check share.auto.offset.reset. Raises ValueError for an invalid value."""
    if text not in ("earliest", "latest") and reset_duration(text) is None:
        raise ValueError("earliest, latest or by_duration:PnDTnHnMn.nS expected")
    return text


def reset_duration(text: str) -> int | None:
    """Return the ms of `by_duration:PnDTnHnMn.nS`, parsed like Java's Duration; None for other texts and negative
    durations.
    """
    found = DURATION.fullmatch(text)
    parts = found.groups() if found is not None else ()
    if not any(parts) or text.upper().endswith("T"):
        return None
    days, hours, minutes, seconds = (float(each or 0) for each in parts)
    ms = int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
    return ms if ms >= 0 else None


def of_group(name: str, kind: ConfigType, broker_name: str = "") -> Config:
    """Make a config of groups, whose default is the broker config `group.NAME` (or `broker_name`) if there is one."""
    followed = broker_name or f"group.{name}"
    default = BROKER[followed].default if followed in BROKER else ""
    return Config(name, default, kind, followed if followed in BROKER else "")


GROUP: Mapping[str, Config] = table(
    of_group("consumer.assignment.interval.ms", INT),
    of_group("consumer.heartbeat.interval.ms", INT),
    of_group("consumer.session.timeout.ms", INT),
    Config("errors.deadletterqueue.copy.record.enable", "false", BOOLEAN),
    Config("errors.deadletterqueue.topic.name", "", STRING),
    of_group("share.assignment.interval.ms", INT),
    Config("share.auto.offset.reset", "latest", ConfigType(STRING.number, STRING.name, share_reset)),
    of_group("share.delivery.count.limit", INT),
    of_group("share.heartbeat.interval.ms", INT),
    Config("share.isolation.level", "read_uncommitted", keyword_type("read_committed", "read_uncommitted")),
    of_group("share.partition.max.record.locks", INT),
    of_group("share.record.lock.duration.ms", INT),
    Config("share.renew.acknowledge.enable", "true", BOOLEAN),
    of_group("share.session.timeout.ms", INT),
    of_group("streams.assignment.interval.ms", INT),
    of_group("streams.assignor.name", STRING, "group.streams.assignors"),
    of_group("streams.heartbeat.interval.ms", INT),
    of_group("streams.initial.rebalance.delay.ms", INT),
    of_group("streams.num.standby.replicas", INT),
    of_group("streams.rack.aware.assignment.tags", LIST),
    of_group("streams.session.timeout.ms", INT),
)
METRICS: Mapping[str, Config] = table(
    Config("interval.ms", "300000", INT), Config("match", "", LIST), Config("metrics", "", LIST)
)
TABLES: Mapping[int, Mapping[str, Config]] = {ConfigResource.GROUP: GROUP, ConfigResource.CLIENT_METRICS: METRICS}


def check_group(configs: Configs, name: str, text: str) -> None:
    """Check a config of a group: its name and value, and the limits in the broker's configs.

    Raises RefusedError.
    """
    if name not in GROUP:
        raise RefusedError("INVALID_CONFIG", f"Unknown group config name: {name}")
    try:
        value = parse(GROUP, name, text)
    except UsageError as error:
        raise RefusedError("INVALID_CONFIG", str(error)) from None
    kind, _, rest = name.partition(".")
    for bound, wrong in (("min", int.__lt__), ("max", int.__gt__)):
        limit = f"group.{kind}.{bound}.{rest.removeprefix('num.')}"
        if isinstance(value, int) and limit in BROKER and wrong(value, configs.int(limit)):
            raise RefusedError("INVALID_CONFIG", f"{name}={text}: {limit} is {configs.int(limit)}")


def check_metrics(name: str, text: str) -> None:
    """Check a config of a subscription to client metrics (KIP-714). Raises RefusedError."""
    if name not in METRICS:
        raise RefusedError("INVALID_REQUEST", f"Unknown client metrics configuration: {name}")
    if name == "interval.ms":
        if not text.isascii() or not text.isdigit() or not 100 <= int(text) <= 3_600_000:
            raise RefusedError("INVALID_REQUEST", f"interval.ms={text}: 100 to 3600000 expected")
    elif name == "match":
        for each in filter(None, text.split(",")):
            field, equals, pattern = each.partition("=")
            if not equals or field.strip() not in MATCHES or not is_pattern(pattern):
                raise RefusedError("INVALID_CONFIG", f"Illegal client matching pattern: {each}")


def check_logger(name: str, text: str | None) -> None:
    """Check the name of a logger and its new level, None for the root's. Raises RefusedError."""
    if name not in LOGGER_NAMES:
        raise RefusedError("INVALID_CONFIG", f"Logger {name} does not exist!")
    if text is None and name == ROOT:
        raise RefusedError("INVALID_REQUEST", "Removing the log level of the root logger is not allowed")
    if text is not None and text not in LEVELS:
        raise RefusedError("INVALID_CONFIG", f"{name}={text}: {', '.join(LEVELS)} expected")


def is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True
