"""The score of slips named in batches: `python -m tests.records.slips.judge CAPTURE... [--seed N]`.

As `tests/grammar/slips/judge.py`, in right batches of Produce requests and Fetch responses.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterable

from kcli.grammar.slips.search import Hint
from kcli.records.record_faults import field_faults
from kcli.records.slips.hints import batch_hints
from tests.grammar.slips.judge import Score, show_missed, table
from tests.records.slips.making import COVERED, CRC, MAKERS, Made, Sample, batches_of


def outcome(sample: Sample, made: Made) -> tuple[str, list[Hint]]:
    hints = batch_hints(made.batch)
    if made.batch == sample.data or (not hints and not field_faults(made.batch, produced=True)):
        return "passes", []
    named = [i for i, hint in enumerate(hints) if (hint.slip, hint.at) == (made.kind, made.at)]
    if named:
        return ("first" if not named[0] else "named"), hints
    return ("same bytes" if any(is_same(hint.frame, sample.data) for hint in hints) else "missed"), hints


def is_same(mended: bytes, data: bytes) -> bool:
    """Whether two batches are the same but for their checksums."""
    return mended[:CRC] == data[:CRC] and mended[COVERED:] == data[COVERED:]


def score(samples: Iterable[Sample], seed: int, each: int = 1) -> dict[str, Score]:
    """each: slips of a kind in a batch."""
    scores = {kind: Score(Counter(), []) for kind in MAKERS}
    chances = {kind: random.Random(f"{seed} {kind}") for kind in scores}
    for sample in samples:
        for kind, (counts, missed) in scores.items():
            for _ in range(each):
                made = MAKERS[kind](sample, chances[kind])
                if made is not None:
                    how, hints = outcome(sample, made)
                    counts[how] += 1
                    if how == "missed":
                        said = [(hint.slip, hint.at, hint.oddness) for hint in hints]
                        missed.append(f"{kind} at {made.at} of {sample.batch}: {said}")
    return scores


def falsely_named(samples: Iterable[Sample]) -> list[Sample]:
    """The right batches that have a hint."""
    return [sample for sample in samples if batch_hints(sample.data)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--missed", type=int, default=0, help="Show so many of each kind.")
    given = parser.parse_args()
    samples = [*batches_of(given.files, given.most)]
    scores = score(samples, given.seed, given.each)
    print(table(scores))
    print(f"right batches with a hint: {len(falsely_named(samples))} of {len(samples)}")
    show_missed(scores, given.missed)


if __name__ == "__main__":
    main()
