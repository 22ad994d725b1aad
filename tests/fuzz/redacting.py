"""Damaged captures, redacted: nothing but a KcliError is raised, and no name of the sound capture is left."""

from __future__ import annotations

import contextlib
import functools
import io
import random
from pathlib import Path

from kcli.errors import InputError
from kcli.redact.redacting import Redaction
from tests.fuzz.samples import SAMPLES, Round, on_samples
from tests.redact.leaks import forms_of, lines, names_of

__all__ = ["redacting"]


@functools.cache
def names_in(sample: str) -> frozenset[bytes]:
    """What must not be in a redacted copy of a sample, in any form."""
    return frozenset(form for name in names_of(lines(SAMPLES / sample)) for form in forms_of(name))


def redacting() -> Round:
    """One round: a sample, damaged and redacted."""

    def run(file: Path, rng: random.Random) -> None:
        source, out = Redaction([str(file)], rng.randbytes(16)), io.BytesIO()
        with contextlib.closing(source), contextlib.suppress(InputError):
            for _ in source.read():
                pass
            source.write(out)
        left = [name for name in names_in(file.name) if name in out.getvalue()]
        assert not left, left

    return on_samples("*.pcap*", run)
