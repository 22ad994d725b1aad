"""Kafka's own record classes (kafka-clients 3.9.1, the last that convert down) as a judge of segments."""

import json
import random
from collections.abc import Sequence
from typing import Any

from tests.real.lab import run_java
from tests.real.maven import compiled, jars

__all__ = ["VERSION", "random_spec", "serve"]

VERSION = "3.9.1"


def serve(commands: Sequence[str]) -> list[dict[str, Any]]:
    """The oracle's commands (RecordOracle.java), one Java process for all; the JSON line that each one printed."""
    classpath = jars("kafka-clients", VERSION)
    program = compiled("RecordOracle.java", classpath)
    stdin = "".join(f"{command}\n" for command in commands).encode()
    done = run_java([program, *classpath], "RecordOracle", "serve", stdin=stdin, timeout=240)
    assert done.returncode == 0, done.stderr.decode()
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    answers, held = [], dict[str, Any]()
    for row in rows:
        if "done" in row:
            answers.append(held)
            held = {}
        else:
            held = row
    assert len(answers) == len(commands)
    return answers


def random_spec(chance: random.Random) -> str:
    """A group of batches of any kind, in the oracle's words."""
    magic = chance.choice([2, 2, 2, 0, 1])
    codecs = ["none", "none", "gzip", "snappy", "lz4"] + ["zstd"] * (magic == 2 and chance.random() < 0.3)
    spec: dict[str, object] = {
        "magic": magic,
        "codec": chance.choice(codecs),
        "batches": chance.randint(1, 4),
        "records": chance.choice([1, 2, 5, 13, 40]),
        "key": chance.choice([-1, 0, 3, 9, 70, 200]),
        "value": chance.choice([-1, 0, 1, 63, 64, 130, 700, 9000]),
        "vary": chance.choice([0, 0.5, 1]),
        "gap": chance.choice([0, 0, 0.4, 0.9]),
        "ts": chance.choice(["create", "create", "append"]),
        "time": chance.randint(0, 1 << 42),
        "step": chance.choice([0, 1, 7, 1000000]),
        "jitter": chance.choice([0, 0, 5000, 10**10]),
        "skip": chance.choice([0, 0, 1000]),
        "nullKey": chance.choice([0, 0.3]),
        "nullValue": chance.choice([0, 0.3]),
        "data": chance.choice(["mixed", "text", "random", "zero"]),
        "seed": chance.randint(1, 1 << 30),
    }
    if magic == 2:
        spec |= {
            "headers": chance.choice([0, 0, 1, 4]),
            "headerValue": chance.choice([0, 10, 130]),
            "leaderEpoch": chance.randint(0, 999),
            "idem": chance.randint(0, 1),
            "control": chance.choice(["none", "none", "mix", "commit", "leader"]),
        }
    return ",".join(f"{name}={value}" for name, value in spec.items())
