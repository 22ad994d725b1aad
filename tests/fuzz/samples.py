"""Rounds on damaged copies of the samples, each in a folder of its own, under the sample's name."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.damage import damaged

__all__ = ["ROOT", "SAMPLES", "Round", "on_samples"]

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
LARGEST = 160_000  # bytes of a seed: more only makes the rounds slow

Round = Callable[[random.Random], bytes]


def on_samples(pattern: str, run: Callable[[Path, random.Random], None]) -> Round:
    """One round of `run` on a damaged copy of one of the samples; it gives the damaged bytes."""
    seeds = [path for path in sorted(SAMPLES.glob(pattern)) if 0 < path.stat().st_size <= LARGEST]
    assert seeds, f"no sample is a {pattern}"

    def round_(rng: random.Random) -> bytes:
        seed = rng.choice(seeds)
        data = damaged(seed.read_bytes(), rng)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / seed.name
            file.write_bytes(data)
            run(file, rng)
        return data

    return round_
