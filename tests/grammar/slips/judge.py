"""The score of slips named: `python -m tests.grammar.slips.judge CAPTURE... [--seed N] [--most N]`.

On each right frame one random slip of each kind is made. Counted are, by kind: slips whose kind and byte are named, in
the first hint or among all; and those that can't be known. The last are of two rules: the damaged frame is itself a
likely message of that version, to its last byte; or a hint mends the frame to exactly the right message, though by
another name: two slips that leave the same bytes.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kcli.errors import SchemaError
from kcli.grammar.slips.hints import request_hints, response_hints
from kcli.grammar.slips.search import Hint
from tests.grammar.slips.making import KINDS, REPEATED, Made, Sample, frames_of, make, make_everywhere

Making = Callable[[Sample, str, random.Random], Made | None]


class Score(NamedTuple):
    """Counts of a kind of slip, and those that were not named, in words."""

    counts: Counter[str]
    missed: list[str]


def hints_of(sample: Sample, frame: bytes) -> list[Hint]:
    if sample.is_request:
        return request_hints(frame)
    return response_hints(frame, sample.api, sample.version)


def outcome(sample: Sample, made: Made) -> tuple[str, list[Hint]]:
    if passes(sample, made.frame):
        return "passes", []
    hints = hints_of(sample, made.frame)
    named = [
        i
        for i, hint in enumerate(hints)
        if hint.slip == made.kind and (hint.at == made.at or hint.frame == sample.frame)
    ]
    if named:
        return ("first" if not named[0] else "named"), hints
    if any(hint.frame == sample.frame for hint in hints):
        return "same bytes", hints
    return "missed", hints


def passes(sample: Sample, frame: bytes) -> bool:
    """Whether a damaged frame is a message of its version, as likely as the right one."""
    if frame == sample.frame:
        return True
    if sample.is_request:
        sample = sample._replace(api=int.from_bytes(frame[:2], "big"), version=int.from_bytes(frame[2:4], "big"))
    try:
        return sample.layout.reads(frame)
    except (KeyError, SchemaError):
        return False


def score(
    samples: Iterable[Sample], seed: int, kinds: Iterable[str] = KINDS, making: Making = make
) -> dict[str, Score]:
    """making: `make`, or `make_everywhere`."""
    scores = {kind: Score(Counter(), []) for kind in kinds}
    chances = {kind: random.Random(f"{seed} {kind}") for kind in scores}
    for sample in samples:
        for kind, each in scores.items():
            made = making(sample, kind, chances[kind])
            if made is None:
                continue
            how, hints = outcome(sample, made)
            each.counts[how] += 1
            if how == "missed":
                said = [(hint.slip, hint.at, hint.oddness) for hint in hints]
                each.missed.append(
                    f"{kind} at {made.at} ({made.path}) of {sample[1:]}, {len(made.frame)} bytes: {said}"
                )
    return scores


def table(scores: dict[str, Score]) -> str:
    """As Markdown."""
    lines = [
        "| slip | made | passes as it is | same bytes | known | named first | among the hints | % |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    total: Counter[str] = Counter()
    for kind, (counts, _) in scores.items():
        total += counts
        lines.append(line(kind, counts))
    return "\n".join([*lines, line("all", total)])


def share(counts: Counter[str]) -> float:
    """Per cent of the slips that can be known and were named."""
    named = counts["first"] + counts["named"]
    return 100 * named / (named + counts["missed"]) if named + counts["missed"] else 100.0


def falsely_named(samples: Iterable[Sample]) -> list[Sample]:
    """The right frames that have a hint."""
    return [sample for sample in samples if hints_of(sample, sample.frame)]


def line(kind: str, counts: Counter[str]) -> str:
    named = counts["first"] + counts["named"]
    known = named + counts["missed"]
    cells = (counts.total(), counts["passes"], counts["same bytes"], known, counts["first"], named)
    return f"| {kind} | {' | '.join(map(str, cells))} | {share(counts):.1f} |"


def show_missed(scores: dict[str, Score], most: int) -> None:
    """Slips that were not named, so many of each kind."""
    for _, missed in scores.values():
        print(*missed[:most], sep="\n", end="\n" if missed[:most] else "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, help="Of the frames.")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--missed", type=int, default=0, help="Show so many of each kind.")
    given = parser.parse_args()
    samples = [*frames_of(given.files, given.most)][:: given.every]
    start = time.process_time()
    scores = score(samples, given.seed, given.kind or KINDS)
    print(table(scores))
    repeated = score(samples, given.seed, REPEATED, make_everywhere)
    print(f"in every entry of an array:\n{table(repeated)}")
    show_missed(repeated, given.missed)
    show_missed(scores, given.missed)
    print(f"right frames with a hint: {len(falsely_named(samples))} of {len(samples)}")
    print(f"{time.process_time() - start:.1f} s of processor time, {len(samples)} frames")


if __name__ == "__main__":
    main()
