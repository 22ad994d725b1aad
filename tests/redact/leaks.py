"""What must not be left in a redacted capture, and looking for it."""

import base64
import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcli.errors import InputError
from kcli.redact.rules import WORDS
from kcli.topic_names import CLUSTER_METADATA
from tests.capture.decoding import as_lines

__all__ = ["OF_KCLI", "forms_of", "leaks", "lines", "names_of", "texts"]

WORDS_THAT_STAY = {word for words in WORDS.values() for word in words} | {CLUSTER_METADATA}
LONG = 6  # characters that no name has by chance
KAFKA_S_OWN = re.compile(
    b"|".join(re.escape(word.encode()) for word in sorted(WORDS_THAT_STAY, reverse=True) if len(word) >= LONG)
)
OF_KCLI = (
    "requestApiKeyName",
    "errors",
    "timestamp",
    "timestampType",
    "compression",
    "reason",
    "event",
    "type",
    "sender",
)
ENVELOPED = ("requestData", "responseData")


def lines(paths: Path | Sequence[Path], *key_logs: str) -> list[dict[str, Any]]:
    files = [str(path) for path in ([paths] if isinstance(paths, Path) else paths)]
    out: list[bytes] = []
    source = as_lines(files, lambda data: out.append(bytes(data)), records="full", secrets=True, key_logs=key_logs)
    with contextlib.suppress(InputError):
        for _ in source.read():
            pass
    return [json.loads(line) for line in b"".join(out).splitlines()]


def texts(value: Any) -> Iterator[str]:
    """All texts but those of kcli's own, control records, which are numbers, and bytes of messages in envelopes."""
    if isinstance(value, dict):
        for name, item in value.items():
            is_control = name == "records" and value.get("isControl")
            if name not in (*OF_KCLI, *ENVELOPED) and not is_control:
                yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


def names_of(before: list[dict[str, Any]]) -> set[str]:
    """Names, values and addresses in lines of a capture."""
    names = {
        text
        for text in {*texts(before)} - WORDS_THAT_STAY
        if len(text) >= LONG and re.search("[A-Za-z]{3}", text) and not re.fullmatch("x+|A+[A-Qw=+/]*", text)
    }
    ends = " ".join(line["connection"] or "" for line in before)
    return names | {*re.findall(r"[\da-f]*:[\d:a-f]+:[\da-f]*|\d+\.\d+\.\d+\.\d+", ends)}


def forms_of(text: str) -> list[bytes]:
    """A text's bytes, and what they are in hexadecimal and in base64, wherever in it they begin."""
    name = text.encode()
    folded = (base64.b64encode(bytes(at) + name)[(0, 2, 3)[at] :].rstrip(b"=")[:-1] for at in range(3))
    return [name, name.hex().encode(), name.hex().upper().encode(), *(form for form in folded if len(form) > LONG)]


def leaks(before: list[dict[str, Any]], data: bytes, after: list[dict[str, Any]]) -> list[str]:
    """Names of the lines before that are in the bytes or lines after."""
    said = KAFKA_S_OWN.sub(b"", "\n".join(texts(after)).encode()).decode()
    data = KAFKA_S_OWN.sub(b"", data)
    return sorted(name for name in names_of(before) if name in said or any(form in data for form in forms_of(name)))
