"""Topics of Connect and of MirrorMaker, whose records have a known form.

Connect: KafkaOffsetBackingStore, KafkaConfigBackingStore and KafkaStatusBackingStore, JSON without schemas.
MirrorMaker: Checkpoint, Heartbeat and OffsetSync, Kafka's old structs after a version.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from kcli.grammar.secrets import redacted
from kcli.payloads.framing import Which
from kcli.payloads.json_values import json_of
from kcli.payloads.schema import PayloadError
from kcli.schemas.config_names import PASSWORDS

# Patterns of topics' names. Users choose Connect's; these are those of its documentation and of MirrorMaker.
NAMES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("connect-offsets", re.compile(r"(.*[-_.])?connect[-_.]offsets|mm2-offsets\..*\.internal")),
    ("connect-configs", re.compile(r"(.*[-_.])?connect[-_.]configs|mm2-configs\..*\.internal")),
    ("connect-status", re.compile(r"(.*[-_.])?connect[-_.]status|mm2-status\..*\.internal")),
    ("mirror-checkpoints", re.compile(r".*[.\-_]checkpoints[.\-_]internal")),
    ("mirror-heartbeats", re.compile(r"(.*[.\-_])?heartbeats")),
    ("mirror-offset-syncs", re.compile(r"mm2-offset-syncs[.\-_].*[.\-_]internal")),
)
CONFIG_KEYS = re.compile(
    r"(target-state|connector|commit|tasks-fencing|restart-connector|logger-cluster|session-key)(?:-(.*))?|"
    r"(task)-(.*)-(\d{1,10})", re.DOTALL,
)  # fmt: skip
STATUS_KEYS = re.compile(r"status-(connector|topic)-(.*)|status-(task)-(.*)-(\d{1,10})", re.DOTALL)
SECRET = re.compile(
    r"passw(or)?d|secret|token|credential|private[._-]?key|passphrase|jaas|(api|access)[._-]?key|user\.info",
    re.IGNORECASE,
)
# A secret within a value: jdbc:...?password=x, mongodb://me:x@host, a header of HTTP. Repetitions are bounded for
# linear time.
WITHIN = re.compile(
    rf"://[^\s/?#]{{0,200}}:[^\s/?#]{{1,200}}@|(?:^|[?&;,\s])[\w.-]{{0,80}}(?:{SECRET.pattern})[\w.-]{{0,80}}"
    r"\s{0,3}[=:]\s{0,3}[^\s&;,]|(?:^|[:=,]\s{0,3})(?:basic|bearer)\s{1,3}\S{8}", re.IGNORECASE,
)  # fmt: skip
PLACEHOLDER = re.compile(r"\$\{[^${}]*\}")  # values that a config provider replaces
OVERRIDES = re.compile(r"^(producer|consumer|admin)\.(override\.)?")
VERSION = 0


class TopicFormat(NamedTuple):
    """The functions that read keys and values of such a topic."""

    key: Callable[[bytes], Any]
    value: Callable[[bytes], Any]


def kind_of(topic: str | None) -> str | None:
    """Return the key of KINDS for a topic's name; None for other topics."""
    return next((kind for kind, name in NAMES if topic is not None and name.fullmatch(topic)), None)


def decoded(kind: str, which: Which, data: bytes, secrets: bool) -> tuple[Any, bool]:
    """Return (value, whether something in it was hidden). Raises PayloadError."""
    value = getattr(KINDS[kind], which)(data)
    if kind == "connect-configs" and which == "value" and not secrets:
        return hidden(value)
    return value, False


def hidden(value: Any) -> tuple[Any, bool]:
    """Return (record of Connect's configs without secrets, whether it had any): passwords, and the workers' session
    key.
    """
    if not isinstance(value, dict):
        return value, False
    if isinstance(key := value.get("key"), str) and "algorithm" in value:
        return value | {"key": redacted(len(key))}, True
    configs = value.get("properties")
    if not isinstance(configs, dict):
        return value, False
    shown = {name: redacted(size_of(each)) if is_secret(name, each) else each for name, each in configs.items()}
    return value | {"properties": shown}, shown != configs


def is_secret(name: str, value: Any) -> bool:
    """Return whether a connector's property is a secret by its name, or has one in its value. Connect does not keep the
    property's type.
    """
    if value is None or (isinstance(value, str) and PLACEHOLDER.fullmatch(value)):
        return False
    if OVERRIDES.sub("", name) in PASSWORDS or SECRET.search(name) is not None:
        return True
    return isinstance(value, str) and WITHIN.search(PLACEHOLDER.sub("", value)) is not None


def size_of(value: Any) -> int:
    return len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else len(str(value))


def offsets_key(data: bytes) -> Any:
    value = json_of(data)
    if not isinstance(value, list) or len(value) != 2:
        raise PayloadError('["connector", {partition}] expected')
    return {"connector": value[0], "partition": value[1]}


def named_key(pattern: re.Pattern[str], data: bytes) -> Any:
    """Return the parts of a key "kind-name" or "kind-name-task". Raises PayloadError."""
    text = text_of(data)
    found = pattern.fullmatch(text)
    if found is None:
        raise PayloadError(f"no key of Connect's: {text[:100]!r}")
    kind, name, task, of_task, number = found.groups()
    if task:
        return {"type": task, "connector": of_task, "task": int(number)}
    if kind == "topic":
        topic, _, connector = (name or "").partition(":connector-")
        return {"type": kind, "topic": topic, "connector": connector}
    return {"type": kind} | ({"connector": name} if name else {})


def text_of(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise PayloadError(f"not text: byte {error.start} is not UTF-8") from None


SIZES = {"int16": 2, "int32": 4, "int64": 8}


class Struct:
    """A struct of Kafka's first protocol: fields of int16, int32, int64 and strings, in order."""

    def __init__(self, *fields: str, versioned: bool = False) -> None:
        """Define a struct. fields: "name type"; versioned: an int16 version precedes them."""
        self.fields = [each.split() for each in (("version int16",) if versioned else ()) + fields]
        self.versioned = versioned

    def __call__(self, data: bytes) -> dict[str, Any]:
        """Return the fields of a struct's bytes. Raises PayloadError if they do not end where they should."""
        at, made = 0, dict[str, Any]()
        for name, kind in self.fields:
            size = SIZES.get(kind, 2)
            number = int.from_bytes(data[at : at + size], "big", signed=True)
            at += size
            made[name] = number
            if kind == "string":
                if number < 0:
                    raise PayloadError(f"{name}: a string of {number} bytes")
                made[name] = text_of(data[at : at + number])
                at += number
        if at != len(data):
            raise PayloadError(f"{at} bytes expected, {len(data)} there")
        if self.versioned and made["version"] != VERSION:
            raise PayloadError(f"version {made['version']}: {VERSION} expected")
        return made


KINDS: dict[str, TopicFormat] = {
    "connect-offsets": TopicFormat(offsets_key, json_of),
    "connect-configs": TopicFormat(lambda data: named_key(CONFIG_KEYS, data), json_of),
    "connect-status": TopicFormat(lambda data: named_key(STATUS_KEYS, data), json_of),
    "mirror-checkpoints": TopicFormat(
        Struct("group string", "topic string", "partition int32"),
        Struct("upstreamOffset int64", "offset int64", "metadata string", versioned=True),
    ),
    "mirror-heartbeats": TopicFormat(
        Struct("sourceClusterAlias string", "targetClusterAlias string"), Struct("timestamp int64", versioned=True)
    ),
    "mirror-offset-syncs": TopicFormat(
        Struct("topic string", "partition int32"), Struct("upstreamOffset int64", "offset int64")
    ),
}
