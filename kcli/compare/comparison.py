"""Compares captures of before and after a change: what is new and gone, and what is worse or better beyond noise."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kcli.compare.capture_side import SHORTEST_S, Captured, Key, block_seconds, slow_limits
from kcli.compare.measures import KEYS, MEASURED, MEASURES, RATED, Measure
from kcli.compare.ranks import beyond_chance, inner_range, rank_test
from kcli.counting import counted, span_text
from kcli.diagnose import INFO, Diagnosis, Finding
from kcli.diagnose.diagnosis import diagnose_together
from kcli.diagnose.finding_text import lacking_text, unjudged_text
from kcli.diagnose.scope import ALL, Scope
from kcli.diagnose.store import FactStore
from kcli.errors import InputError

WORSE, BETTER, CHANGED, UNLIKE, SAME = "worse", "better", "changed", "not comparable", "same"
FEWEST = 6  # values of a side; with fewer any order is chance
FEW_STEADY = 5  # ... of a steady measure
FEWEST_SHOWN = 3  # ... of one that is shown as too short to tell
CHANCE = 0.01  # of a comparison in which one difference is called a change, and is none
UNSTEADY = 1.5  # a side whose noise, so many times, is more than the change
DIFFERENT_LOAD = 2.0  # times
AS_MUCH = 0.9  # of a change
OTHER_TOPICS = 0.5  # share of the records that is of other topics
SHOWN_VERSIONS = 6
BROKER = KEYS.index("broker")


@dataclass(slots=True)
class Change:
    """A measure of both captures. key: what it is of. ranges: of the values of parts of each side. chance: that samples
    of one distribution differ so. values: of each side. apart: all of one side are larger than all of the other.
    reason: why it is not comparable. limits: of slow answers: the ms that are slow, by API, the most frequent first."""

    measure: Measure
    key: Key
    before: float
    after: float
    ranges: tuple[tuple[float, float], tuple[float, float]]
    chance: float
    values: tuple[int, int]
    apart: bool = False
    verdict: str = SAME
    reason: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def noises(self) -> tuple[float, float]:
        """The noise of each side: the differences between its own parts."""
        (low, high), (lowest, highest) = self.ranges
        return high - low, highest - lowest

    @property
    def noise(self) -> float:
        """The noise that a change is measured by: that of the better side. A change for the worse that also makes
        things unsteady is no smaller for that."""
        if not self.measure.worse:
            return max(self.noises)
        return self.noises[0 if (self.after - self.before) * self.measure.worse > 0 else 1]

    @property
    def gap(self) -> float:
        """The gap between the parts of both sides; below 0: they overlap."""
        lower, higher = sorted(self.ranges)
        return higher[0] - lower[1]

    @property
    def least_gap(self) -> float:
        """The gap that a change needs. Of an unsteady side the calm parts, too, have to be changed by what counts."""
        unsteady = bool(self.measure.worse) and max(self.noises) * UNSTEADY > abs(self.after - self.before)
        return max(self.measure.apart * self.noise, self.measure.least if unsteady else 0.0)

    @property
    def title(self) -> str:
        """The measured quantity, in words."""
        words = {kind: value or "" for kind, value in zip(KEYS, self.key, strict=True)}
        role = words["role"]
        made = self.measure.title.format(**words | {
            "role": role if "a {role}" in self.measure.title else f"{role}s",
            "topic": f" to {words['topic']}" if words["topic"] else "",
        })  # fmt: skip
        return made.replace("a other", "another")

    @property
    def times(self) -> float | None:
        """The ratio of the larger value to the smaller; None: the smaller is 0."""
        low, high = sorted((self.before, self.after))
        return high / low if low > 0 else None

    def as_json(self) -> dict[str, Any]:
        """Return the object of `--format jsonl`."""
        key = {kind: value for kind, value in zip(KEYS, self.key, strict=True) if value is not None}
        made: dict[str, Any] = {
            "verdict": self.verdict, "measure": self.measure.name, "of": key, "text": self.title,
            "before": round(self.before, 4), "after": round(self.after, 4), "unit": self.measure.unit,
            "noise": round(self.noise, 4), "p": self.chance, "values": list(self.values),
            "ranges": [[round(value, 4) for value in each] for each in self.ranges],
        }  # fmt: skip
        if self.limits:
            made["slow_over_ms"] = {api: round(limit, 1) for api, limit in self.limits.items()}
        return made | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True, slots=True)
class Difference:
    """A thing that only one side has. kind: broker, error, version (of requests), client, software, topic, compression,
    offer or finding. verdict: "new" or "gone". grave: a finding of a warning or worse that was not there before.
    """

    verdict: str
    kind: str
    name: str
    count: int
    grave: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the object of `--format jsonl`."""
        return {"verdict": self.verdict, "kind": self.kind, "name": self.name, "count": self.count}


@dataclass(slots=True)
class Comparison:
    """changes: all measures that both sides have, the gravest first. unlike: why the captures as a whole can't be
    compared. block_seconds: of a block of time. unoffered: sides in which no broker says which versions it speaks.
    unnamed: sides with connections that began before, whose clients named their software then."""

    before: Diagnosis
    after: Diagnosis
    changes: list[Change]
    differences: list[Difference]
    block_seconds: float
    unlike: list[str] = field(default_factory=list)
    unoffered: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    @property
    def is_worse(self) -> bool:
        """Return whether something is worse beyond noise."""
        return any(each.verdict == WORSE for each in self.changes) or any(each.grave for each in self.differences)

    @property
    def compared(self) -> bool:
        """Return whether there was a measure to compare."""
        return any(each.verdict != UNLIKE for each in self.changes)

    @property
    def damage(self) -> InputError | None:
        """The error of files that were read only in part."""
        return self.before.damage or self.after.damage


def compare(
    before: Sequence[str],
    after: Sequence[str],
    moved: Callable[[int], None] = lambda count: None,
    scopes: tuple[Scope, Scope] = (ALL, ALL),
    **options: Any,
) -> Comparison:
    """Compare captures; the files of a side are read as one. scopes: of each side; options: of DecodeOptions.
    Raises InputError if it is unreadable."""
    with ExitStack() as stack:
        stores = [stack.enter_context(FactStore()) for _ in scopes]
        found = diagnose_together(stores, (before, after), scopes, moved, options)
        return compared(*(Captured(store, each) for store, each in zip(stores, found, strict=True)))


def compared(before: Captured, after: Captured) -> Comparison:
    """Compare two sides."""
    seconds = block_seconds(before.seconds, after.seconds)
    limits = slow_limits(before.times(), after.times())
    nodes = before.nodes(), after.nodes()
    for side, (own, others) in zip((before, after), (nodes, nodes[::-1]), strict=True):
        side.cut(seconds)
        side.name_brokers({**others, **own})
        side.make("slow_limits", api=[*limits], ms=[*limits.values()])
    unlike = [*unlike_sides(before, after)]
    measures = MEASURES if min(before.blocks, after.blocks) >= FEWEST else ()
    changes = [each for measure in measures for each in changes_of(measure, before, after)]
    for each in changes:
        if each.measure.name == "slow-answers":
            each.limits = limits
    judge(changes, partial(excuse, before, after))
    order = (WORSE, BETTER, UNLIKE, CHANGED, SAME)
    changes.sort(key=lambda each: (order.index(each.verdict), -(each.times or 1e9)))
    differences: list[Difference] = []
    if before.has_exchanges and after.has_exchanges:  # of nothing read nothing is gone
        differences += one_sided("broker", before.brokers, after.brokers)
        differences += [*differences_of(before, after), *offers_of(before, after)]
        differences += findings_of(before, after, changes)
    sides = (("before", before), ("after", after))
    unoffered = tuple(name for name, side in sides if side.has_exchanges and not side.offers())
    unnamed = tuple(name for name, side in sides if side.mid_stream)
    return Comparison(before.diagnosis, after.diagnosis, changes, differences, seconds, unlike, unoffered, unnamed)


def unlike_sides(before: Captured, after: Captured) -> Iterator[str]:
    """Return why captures as a whole can't be compared, or only in part."""
    for name, side, other in (("before", before, after), ("after", after, before)):
        if side.diagnosis.unknown:
            yield f"{name}: {lacking_text(side.diagnosis.unknown)}"
        elif side.blocks < FEWEST:
            yield f"{name} is {span_text(side.seconds)} long, {too_short_beside(side, other)}"
        if side.early:
            yield f"{name}: {counted(side.early, 'exchange')} before its first packet left out: its clock was set back"
        for part in side.diagnosis.unjudged:
            if part.unread:
                yield f"{name}, not read: {unjudged_text(part)}"
    if text := other_topics(before, after):
        yield text
    times = max(before.load, after.load) / max(min(before.load, after.load), 1e-9)
    if times > DIFFERENT_LOAD and before.load and after.load:
        yield f"the load is {before.load:,.0f} and {after.load:,.0f} records a second"


def too_short_beside(side: Captured, other: Captured) -> str:
    """Return why a side has too few blocks: by itself, or because blocks fit the other, which is far longer."""
    if side.seconds < FEWEST * SHORTEST_S:
        return "too short to tell changes from noise"
    return f"too short beside {span_text(other.seconds)}; --since and --until compare a part of each"


def topics_apart(before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """Return the share of records that would have to be of another topic for both sides to have the same mix."""
    totals = sum(before.values()), sum(after.values())
    if not all(totals):
        return 0.0
    names = {*before, *after}
    return sum(abs(before.get(name, 0) / totals[0] - after.get(name, 0) / totals[1]) for name in names) / 2


def changes_of(measure: Measure, before: Captured, after: Captured) -> Iterator[Change]:
    """Yield a measure of all that both sides have."""
    import numpy

    samples_before, samples_after = before.samples(measure), after.samples(measure)
    by_mean = measure.means or measure.counts
    centre = numpy.mean if by_mean else numpy.median
    for key in sorted({*samples_before, *samples_after}, key=str):
        values = [found.get(key, numpy.zeros(side.blocks if measure.counts else 0))
                  for found, side in ((samples_before, before), (samples_after, after))]  # fmt: skip
        if min(map(len, values)) < FEWEST_SHOWN or not both_know(key, before, after):
            continue
        first, second = (inner_range(each, steady_mean if by_mean else numpy.median) for each in values)
        sizes = (len(values[0]), len(values[1]))
        was, is_now = (float(centre(each)) for each in values)
        apart = bool(values[0].max() < values[1].min() or values[1].max() < values[0].min())
        chance = rank_test(values[0], values[1], by_time=measure.by_time)
        yield Change(measure, key, was, is_now, (first, second), chance, sizes, apart)


def steady_mean(values: Any) -> float:
    """Return the mean without the least and the largest: what clients do once, as they start, is no noise."""
    import numpy

    return float(numpy.sort(values)[1:-1].mean()) if len(values) > 2 else float(values.mean())


def both_know(key: Key, before: Captured, after: Captured) -> bool:
    """Return whether what a measure is of is there on both sides. An error may be new."""
    parts = zip(KEYS, key, strict=True)
    return all(
        value is None or value in side.known.get(kind, (value,)) for kind, value in parts for side in (before, after)
    )


def judge(changes: Sequence[Change], excuse: Callable[[Change], str]) -> None:
    """Set the verdict of each change: whether it is one, and in which direction."""
    judged = [each for each in changes if min(each.values) >= fewest(each.measure)]
    significant: dict[int, bool] = {}
    for directed in (True, False):  # measures that can get worse are tested apart from those that only change
        alike = [each for each in judged if bool(each.measure.worse) == directed]
        significant |= zip(map(id, alike), beyond_chance([each.chance for each in alike], CHANCE), strict=True)
    for each in changes:
        shift, measure = each.after - each.before, each.measure
        if abs(shift) < measure.least or (each.times or 1e9) < measure.times or each.gap < each.least_gap:
            continue
        sure = significant.get(id(each), False) or (measure.steady and each.apart and id(each) in significant)
        if not (sure or (each.apart and measure.worse and each.chance <= CHANCE)):
            continue
        each.reason = excuse(each) or ("" if sure else too_short(each))
        verdicts = {0: CHANGED, 1: WORSE, -1: BETTER}
        direction = (1 if shift > 0 else -1) * measure.worse
        each.verdict = UNLIKE if each.reason else verdicts[direction]
    leave_out_consequences(changes)


def leave_out_consequences(changes: Sequence[Change]) -> None:
    """Set back the verdicts of changes that follow others: of the same API, role and topic, or of all brokers alike."""
    verdicts = {(each.measure.name, each.key): each.verdict for each in changes}
    measured = {(each.measure.name, each.verdict) for each in changes}
    brokers: dict[str, set[str]] = {}
    for each in changes:
        if each.key[BROKER] is not None:
            brokers.setdefault(each.measure.name, set()).add(each.verdict)
    for each in changes:
        measure, verdict = each.measure, each.verdict
        of_all = brokers.get(measure.name) == {verdict} and (measure.follows, verdict) in measured
        if measure.follows and (of_all or verdicts.get((measure.follows, each.key)) == verdict):
            each.verdict = SAME


def fewest(measure: Measure) -> int:
    """Return how many values of a measure each side needs."""
    return FEW_STEADY if measure.steady else FEWEST


def too_short(change: Change) -> str:
    """Return why all values of one side may be larger than all of the other by chance."""
    unit = "blocks of time" if change.measure.by_time else "connections"
    counts = f"{change.values[0]} and {change.values[1]} {unit}"
    if min(change.values) < fewest(change.measure):
        return f"too short to tell: {counts} have it, {fewest(change.measure)} of each are needed"
    return f"too short to tell: {counts} differ so by chance in one of so many measures"


def excuse(before: Captured, after: Captured, change: Change) -> str:
    """Return how the sides differ so that a change is to be expected; "": they do not."""
    rises = change.after > change.before
    api, role, topic = change.key[:3]
    if "size" in change.measure.excuse:
        old, new = (side.sizes.get((api, role), 1.0) for side in (before, after))
        if (new > old) == rises and max(old, new) > DIFFERENT_LOAD * min(old, new):
            return f"requests and responses are {times_word(old, new)}: {old:,.0f} bytes before, {new:,.0f} after"
    if "rate" in change.measure.excuse and topic is not None:
        old, new = (side.topics.get(topic, 0) / max(side.seconds, 0.001) for side in (before, after))
        if (new > old) == rises and max(old, new) > AS_MUCH * (change.times or 1.0) * min(old, new):
            return f"the topic gets {old:,.0f} records a second before, {new:,.0f} after"
    if "load" in change.measure.excuse:
        old, new = before.load, after.load
        if (new > old) == rises and max(old, new) > DIFFERENT_LOAD * min(old, new):
            return f"the load is {times_word(old, new)}: {old:,.0f} records a second before, {new:,.0f} after"
    if "topics" in change.measure.excuse and topic is None:
        return other_topics(before, after)
    return ""


def other_topics(before: Captured, after: Captured) -> str:
    """Return how many records are of topics that differ; "" if they are few."""
    apart = topics_apart(before.topics, after.topics)
    return f"{apart:.0%} of the records are of other topics" if apart > OTHER_TOPICS else ""


def times_word(before: float, after: float) -> str:
    times = max(before, after) / max(min(before, after), 1e-9)
    return f"{times:,.1f} times as large" if after > before else f"smaller by {times:,.1f} times"


def differences_of(before: Captured, after: Captured) -> Iterator[Difference]:
    """Yield what only one side has, and APIs whose requests changed version."""
    for (kind, names_before), (_, names_after) in zip(before.sets(), after.sets(), strict=True):
        for each in one_sided(kind, names_before, names_after):
            # A client names its software as it connects.
            if kind != "software" or not (before if each.verdict == "new" else after).mid_stream:
                yield each
    versions_before, versions_after = before.versions(), after.versions()
    for name, (versions, count) in versions_after.items():
        old = versions_before.get(name)
        if old is not None and old[0] != versions:
            yield Difference("new", "version", f"{name} {old[0]} -> {versions}", count)


def one_sided(kind: str, before: Counter[str], after: Counter[str]) -> Iterator[Difference]:
    for verdict, names, other_names in (("new", after, before), ("gone", before, after)):
        for name, count in sorted(names.items(), key=lambda each: (-each[1], each[0])):
            if name not in other_names:
                yield Difference(verdict, kind, name, count)


def offers_of(before: Captured, after: Captured) -> Iterator[Difference]:
    """Yield the APIs whose newest version on brokers changed: the brokers were upgraded."""
    offers_before, offers_after = before.offers(), after.offers()
    if not offers_before or not offers_after:
        return
    changed = sorted(api for api in {*offers_before, *offers_after} if offers_before.get(api) != offers_after.get(api))
    for verdict, offered in (("new", offers_after), ("gone", offers_before)):
        names = [f"{api} {offered[api]}" for api in changed if api in offered]
        if names:
            more = f", {len(names) - SHOWN_VERSIONS} more" if len(names) > SHOWN_VERSIONS else ""
            yield Difference(verdict, "offer", ", ".join(names[:SHOWN_VERSIONS]) + more, len(names))


def findings_of(before: Captured, after: Captured, changes: Sequence[Change]) -> Iterator[Difference]:
    """Yield findings of which one side has more. changes: judged ones."""
    worse = {each.measure.name for each in changes if each.verdict == WORSE}
    judged = {each.measure.name for each in changes if each.verdict != UNLIKE}
    rates = [(each.key[0], each.verdict) for each in changes if each.measure.name == "rate"]
    steady = {api for api, _ in rates} - {api for api, verdict in rates if verdict != SAME}
    findings_before, findings_after = (
        {name: [*each] for name, each in grouped(side.diagnosis.findings)} for side in (before, after)
    )
    for verdict, own, others in (("new", findings_after, findings_before), ("gone", findings_before, findings_after)):
        for name, found in own.items():
            if len(found) > len(others.get(name, ())):
                first = found[0]
                measures = MEASURED.get(name)
                excused = measures is not None and judged.issuperset(measures) and worse.isdisjoint(measures)
                excused = excused or RATED.get(name) in steady
                grave = verdict == "new" and first.severity != INFO and not excused
                yield Difference(verdict, "finding", f"{name}: {first.text}", len(found), grave)


def grouped(findings: Sequence[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    for name in dict.fromkeys(each.finding for each in findings):
        yield name, [each for each in findings if each.finding == name]
