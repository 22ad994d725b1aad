"""Whether a redacted capture says what its original did, in all but names: what is different, as lines of text."""

import contextlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcli.capture.statistics import COLUMNS
from kcli.cli.main import main
from kcli.core.codec.values import uuid_bytes, uuid_text
from kcli.redact.pseudonyms import Pseudonyms
from kcli.topic_names import CLUSTER_METADATA
from tests.redact.leaks import leaks, lines, texts

__all__ = ["differences", "events", "shape"]

HELD = ("key", "value", "headers", "crc", "base64", "_payload", "_entry")
EXACT = ("requestApiKeyName", "timestamp", "timestampType", "compression")
NAMED = ("client", "topic", "group")  # columns of statistics
ADDRESS = re.compile(r"\[[\da-fA-F.]*:[\da-fA-F:.]+\]|\d+\.\d+\.\d+\.\d+")
PARTITION = re.compile(r"(.*?)(-\d+|\[\d+\])?", re.DOTALL)
SHOWN = 3  # of each kind of difference


def shape(value: Any, name: str = "") -> Any:
    """A line with the length in place of each text that is not kcli's own, without what records hold.

    Of batches those before damage: behind a cut one some are found in what its records are compressed to.
    """
    if isinstance(value, dict):
        return {name: shape(item, name) for name, item in value.items() if name not in (*HELD, "connection")}
    if isinstance(value, list):
        whole = next((at for at, item in enumerate(value) if isinstance(item, dict) and "event" in item), len(value))
        return [shape(item, name) for item in value[:whole]]
    return len(value.encode()) if isinstance(value, str) and name not in EXACT else value


def events(said: Sequence[dict[str, Any]]) -> Counter[tuple[str, int]]:
    """How many events there are, by kind and bytes."""
    return Counter((line["event"], line["bytes"]) for line in said if "event" in line)


def differences(before: Sequence[Path], after: Path, key: bytes, key_logs: Sequence[str] = ()) -> list[str]:
    """What a redacted capture has that its originals have not, or says in another way. key: that it was made by."""
    old, new = lines(before, *key_logs), lines([after])
    words = [str(path) for path in before] + [word for log in key_logs for word in ("--key-log", log)]
    parts: tuple[Iterator[str], ...] = (
        compared("exchanges", *([shape(line) for line in said if "event" not in line] for said in (old, new))),
        (f"another event: {kind} of {size} bytes" for kind, size in events(new) - events(old)),
        (f"left: {name!r}" for name in leaks(old, after.read_bytes(), new)),
        statistics(words, [str(after)], Pseudonyms(key)),
        sessions(words, [str(after)], old, Pseudonyms(key)),
    )
    return [line for part in parts for line in part]


def compared(what: str, old: list[Any], new: list[Any]) -> Iterator[str]:
    """The first values that differ, whatever their order."""
    ours, theirs = (Counter(json.dumps(each, sort_keys=True) for each in said) for said in (old, new))
    for sign, rest in (("-", ours - theirs), ("+", theirs - ours)):
        yield from (f"{what}: {sign} {text}" for text in sorted(rest)[:SHOWN])


def statistics(old: list[str], new: list[str], names: Pseudonyms) -> Iterator[str]:
    """`kcli stats` by each of its columns, and by several."""
    for columns in (
        *((column,) for column in COLUMNS if column != "file"),
        ("client", "api", "error"),
        ("connection", "topic"),
    ):
        by = ["--format", "jsonl", "-q", *(word for column in columns for word in ("--by", column))]
        expected = [
            {name: renamed(name, value, names) for name, value in row.items()} for row in said("stats", old, by)
        ]
        yield from compared(f"stats by {' and '.join(columns)}", expected, said("stats", new, by))


def renamed(column: str, value: Any, names: Pseudonyms) -> Any:
    """A value of statistics as it is when it is redacted."""
    if not isinstance(value, str):
        return value
    if column in ("connection", "broker"):
        return ADDRESS.sub(lambda found: names.host(found.group().encode()).decode(), value)
    return other_name(value, names) if column in NAMED else value


def other_name(text: str, names: Pseudonyms) -> str:
    """What stands for a name, a host, or the text of an id."""
    if text == CLUSTER_METADATA:
        return text
    with contextlib.suppress(ValueError):
        return str(uuid_text(names.uuid(uuid_bytes(text))))
    return names.host(text.encode()).decode()


def sessions(old: list[str], new: list[str], before: list[dict[str, Any]], names: Pseudonyms) -> Iterator[str]:
    """`kcli fetch-session lint` and `explain`."""
    ends = " ".join(line["connection"] or "" for line in before)
    known = {text for text in texts(before) if text} | {*ADDRESS.findall(ends)}
    other = {text: other_name(text, names) for text in known}

    def rename(value: Any) -> Any:
        if isinstance(value, dict):
            return {rename(name): rename(item) for name, item in value.items()}
        if isinstance(value, list):
            return [rename(item) for item in value]
        if not isinstance(value, str):
            return value
        made = ADDRESS.sub(lambda found: other.get(found.group(), found.group()), value)
        name, partition = PARTITION.fullmatch(value).groups()  # type: ignore[union-attr]
        return made if made != value else other.get(value) or other.get(name, name) + (partition or "")

    for word in ("lint", "explain"):
        expected, found = (said(f"fetch-session {word}", paths, ["--format", "jsonl", "-q"]) for paths in (old, new))
        yield from compared(word, [unsorted(rename(row)) for row in expected], [unsorted(row) for row in found])


def unsorted(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the order of its names, and without those of which it has only the first in that order."""
    names = row.get("neverDelivered", [])
    return {**row, "neverDelivered": sorted(names) if len(names) == row.get("neverDeliveredCount") else None}


def said(command: str, paths: list[str], options: list[str]) -> list[Any]:
    """The lines of JSON that a command prints."""
    out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.TextIOWrapper(io.BytesIO(), write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        main([*command.split(), *paths, *options])
    return [json.loads(line) for line in out.buffer.getvalue().splitlines()]
