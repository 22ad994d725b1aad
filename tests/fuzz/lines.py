"""The session commands on damaged lines of `decode pcap --format jsonl`: exit 0, 1 or 3 (a replay: 4 too)."""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kcli.broker.broker import Broker
from kcli.broker.embedded import EmbeddedBroker
from kcli.cli.main import main
from tests.fuzz.commands import quiet
from tests.fuzz.damage import damaged
from tests.fuzz.samples import SAMPLES

__all__ = ["LINES", "lines"]

DRAFT = SAMPLES.parent / "tests/sessions/data/draft/rebalance.jsonl.gz"
CAPTURES = ("java44-consume-classic.pcap", "java44-txn.pcap", "kcat-codecs.pcap", "old-librdkafka-on-3.9.pcap")
KEPT = (1, 2, 3, 9)  # Fetch, ListOffsets, Metadata, OffsetFetch: the others are passed over
LINES: dict[str, str] = {
    "explain lines": "fetch-session explain FILE --format jsonl --quiet",
    "lint lines": "fetch-session lint FILE",
    "replay lines": "fetch-session replay FILE --bootstrap BROKER --speed max --format jsonl --quiet"
    " --config default.api.timeout.ms=1000 --config request.timeout.ms=500",
}
ODD: tuple[Any, ...] = (None, -1, 0, 1, 2**31 - 1, 2**31, -(2**63), 2**63, 2**70, 0.5, True, "", "x", "é", [], [0], {})


@functools.cache
def seeds() -> list[list[str]]:
    """Each capture's lines, one of KIP-227's draft among them."""
    found = [gzip.decompress(DRAFT.read_bytes()).decode().splitlines()]
    for name in CAPTURES:
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "lines")
            assert main(["decode", "pcap", str(SAMPLES / name), "--format", "jsonl", "--quiet", "-o", file]) == 0
            rows = [line for line in Path(file).read_text().splitlines() if is_kept(line)]
        assert rows, name
        found.append(rows)
    return found


def is_kept(line: str) -> bool:
    row = json.loads(line)
    return "event" in row or row["requestHeader"]["requestApiKey"] in KEPT


@functools.cache
def broker() -> str:
    """The address of a broker that lives as long as this process."""
    kept = contextlib.ExitStack()
    return kept.enter_context(EmbeddedBroker(Broker())).bootstrap_servers


def lines(name: str) -> Callable[[random.Random], bytes]:
    """One round of a command: some lines of a capture, damaged, and its exit code."""
    words = LINES[name].split()
    right = (0, 1, 3, 4) if "BROKER" in words else (0, 1, 3)

    def round_(rng: random.Random) -> bytes:
        rows = list(rng.choice(seeds()))
        for at in rng.sample(range(len(rows)), rng.randint(1, 3)):
            rows[at] = rng.choice(WOUNDS)(rows[at], rng)
        data = "".join(f"{row}\n" for row in rows).encode(errors="surrogateescape")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "lines.jsonl"
            file.write_bytes(data)
            places = {"FILE": str(file)} | ({"BROKER": broker()} if "BROKER" in words else {})
            code = quiet([places.get(word, word) for word in words])
        assert code in right, f"exit {code}"
        return data

    return round_


def odd_value(line: str, rng: random.Random) -> str:
    """Something else in the place of a value, or nothing."""
    row = json.loads(line)
    holder, key = rng.choice(list(places_of(row)))
    if isinstance(holder, dict) and rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(ODD)
    return json.dumps(row)


def places_of(value: Any) -> list[tuple[Any, Any]]:
    """Every place in it that holds a value: (dict or list, key or index)."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *places_of(value[key]))]


def moved(line: str, rng: random.Random) -> str:
    """A number of the exchange a little off."""
    row = json.loads(line)
    numbers = [(holder, key) for holder, key in places_of(row) if type(holder[key]) is int]
    if not numbers:
        return odd_value(line, rng)
    holder, key = rng.choice(numbers)
    holder[key] += rng.choice((-1, 1, 2, 1000))
    return json.dumps(row)


def odd_bytes(line: str, rng: random.Random) -> str:
    return damaged(line.encode(), rng).decode(errors="surrogateescape")


WOUNDS = (odd_value, odd_value, odd_value, moved, odd_bytes)
