"""Damaged captures, redacted: nothing but a KcliError is raised, and no name of the sound capture is left.

Both engines write the same.
"""

from __future__ import annotations

import contextlib
import functools
import io
import random
from pathlib import Path
from unittest.mock import patch

from kcli.core import COMPILED
from kcli.errors import InputError
from kcli.redact import redacting as redact
from tests.fuzz.samples import SAMPLES, Round, on_samples
from tests.redact.leaks import forms_of, lines, names_of

__all__ = ["redacting"]


@functools.cache
def names_in(sample: str) -> frozenset[bytes]:
    """What must not be in a redacted copy of a sample, in any form."""
    return frozenset(form for name in names_of(lines(SAMPLES / sample)) for form in forms_of(name))


def redacting() -> Round:
    """One round: a sample, damaged and redacted, by both engines."""

    def run(file: Path, rng: random.Random) -> None:
        key, memory = rng.randbytes(16), rng.choice((1 << 28, 1 << 28, 1 << 14))
        made = [redacted(file, key, memory, compiled) for compiled in ((True, False) if COMPILED else (False,))]
        left = [name for name in names_in(file.name) if name in made[0]]
        assert not left, left
        assert made[0] == made[-1], "the engines differ"

    return on_samples("*.pcap*", run)


def redacted(file: Path, key: bytes, memory: int, compiled: bool) -> bytes:
    """The redacted capture, as an engine makes it."""
    with patch.object(redact, "COMPILED", compiled):
        source, out = redact.Redaction([str(file)], key, memory=memory), io.BytesIO()
    with contextlib.closing(source):
        with contextlib.suppress(InputError):
            for _ in source.read():
                pass
        source.write(out)
    return out.getvalue()
