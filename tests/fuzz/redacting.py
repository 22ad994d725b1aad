"""Damaged captures, redacted: nothing but a KcliError is raised, and no name or key of the sound capture is left.

Both engines write the same.
"""

from __future__ import annotations

import contextlib
import functools
import io
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kcli.capture.decoder import DecodeOptions
from kcli.errors import InputError
from kcli.jsontext import dumps
from kcli.redact import redacting as redact
from tests.fuzz.samples import SAMPLES, Round, on_samples
from tests.oracle.captures import redacting_by_oracle
from tests.redact.leaks import forms_of, lines, names_of

__all__ = ["redacting"]


@functools.cache
def names_in(sample: str) -> frozenset[bytes]:
    """What must not be in a redacted copy of a sample, in any form."""
    path = SAMPLES / sample
    logs = key_logs_of(path)
    names = {form for name in names_of(lines(path, *logs)) for form in forms_of(name)}
    return frozenset(names.union(*map(secrets_of, logs)))


def key_logs_of(path: Path) -> list[str]:
    return [str(log)] if (log := path.with_suffix(".keys")).exists() else []


def secrets_of(key_log: str) -> Iterator[bytes]:
    """As bytes, and in hexadecimal."""
    for word in re.findall(r"\b[\da-fA-F]{64,}$", Path(key_log).read_text(), re.MULTILINE):
        yield from (word.lower().encode(), word.upper().encode(), bytes.fromhex(word))


def redacting() -> Round:
    """One round: a sample, damaged and redacted, by both engines."""

    def run(file: Path, rng: random.Random) -> None:
        key, memory = rng.randbytes(16), rng.choice((1 << 28, 1 << 28, 1 << 14))
        logs = key_logs_of(SAMPLES / file.name) if rng.random() < 0.8 else []
        made = [redacted(file, key, memory, logs)]
        with redacting_by_oracle():
            made.append(redacted(file, key, memory, logs))
        left = [name for name in names_in(file.name) if name in made[0]]
        assert not left, left
        if logs:  # records that come together may stand in one packet, and end in another order
            made = [decoded(file, each) for each in made]
        assert made[0] == made[-1], "the engines differ"

    return on_samples("*.pcap*", run)


def decoded(file: Path, data: bytes) -> bytes:
    """What a capture says, in the order of the text. file: a place for it."""
    file.write_bytes(data)
    return dumps(sorted(map(dumps, lines(file)))).encode()


def redacted(file: Path, key: bytes, memory: int, key_logs: Sequence[str]) -> bytes:
    """The redacted capture, as an engine makes it."""
    source, out = redact.Redaction([str(file)], key, DecodeOptions(memory=memory, key_logs=key_logs)), io.BytesIO()
    with contextlib.closing(source):
        with contextlib.suppress(InputError):
            for _ in source.read():
                pass
        source.write(out)
    return out.getvalue()
