"""The verdict on a metadata log: what to look at, the worst first."""

from collections.abc import Callable, Iterable, Iterator

from kcli.counting import counted, rounded_bytes, span_text
from kcli.report.metadata_answers import MetadataReport
from kcli.report.verdict import BAD, GOOD, NOTE, WARNING, Finding, Verdict, verdict_of
from kcli.snapshots.rules.policy import violations

ELECTIONS = 3  # leader epochs that are no wonder


def judge_metadata(report: MetadataReport) -> Verdict:
    """Judge the answers."""
    return verdict_of([each for rule in RULES for each in rule(report)])


def metadata_figures(report: MetadataReport) -> Iterable[tuple[str, str]]:
    """Yield (name, figure): the page's first line."""
    image, log = report.image, report.survey.log
    yield "metadata.version", image.metadata_version or "none"
    yield "brokers", f"{len(image.brokers):,}"
    yield "topics", f"{len(image.topics):,}"
    yield "partitions", f"{image.partition_count():,}"
    yield "offset", f"{image.provenance.end_offset:,}"
    yield "leader epoch", f"{image.provenance.epoch:,}"
    if log.records:
        yield "log", f"{log.records:,} records, {rounded_bytes(log.size)}"
    if log.first_ms is not None and log.last_ms is not None:
        yield "time", span_text((log.last_ms - log.first_ms) / 1000)


def damage(report: MetadataReport) -> Iterator[Finding]:
    if report.problems:
        more = f", and {len(report.problems) - 1:,} more" if len(report.problems) > 1 else ""
        yield Finding(BAD, f"Not everything could be read: {report.problems[0].text}{more}.", "files")
    survey = report.survey
    for text in violations(survey.ids, survey.begin, max(survey.end, survey.latest)):
        yield Finding(BAD, f"{text[0].upper()}{text[1:]}.", "files")


def partitions(report: MetadataReport) -> Iterator[Finding]:
    counts = report.image.count_facts()
    total = report.image.partition_count()
    if counts["offline"]:
        yield Finding(BAD, f"{counted(counts['offline'], 'partition')} without a leader.", "short_partitions")
    if short := counts["under-replicated"]:
        yield Finding(WARNING, f"{short:,} of {counted(total, 'partition')} under-replicated.", "short_partitions")
    if not counts["offline"] and not short and total:
        yield Finding(GOOD, "Every partition has a leader, and all its replicas in sync.", "short_partitions")
    if moved := counts["not-preferred"]:
        yield Finding(NOTE, f"{counted(moved, 'partition')} not led by the preferred replica.", "brokers")


def the_past(report: MetadataReport) -> Iterator[Finding]:
    rows = report.answers.by_name["states_over_time"].rows
    now = report.image.count_facts()
    for name, fact in (("without leader", "offline"), ("under-replicated", "under-replicated")):
        most = max((count for _, state, count in rows if state == name), default=0)
        if most > now[fact]:
            text = f"Up to {counted(most, 'partition')} {name} at one time."
            yield Finding(WARNING if fact == "offline" else NOTE, text, "states_over_time")


def brokers(report: MetadataReport) -> Iterator[Finding]:
    fenced = [number for number, each in sorted(report.image.brokers.items()) if each.get("fenced")]
    leaving = [
        number
        for number, each in sorted(report.image.brokers.items())
        if each.get("inControlledShutdown") and number not in fenced
    ]
    for numbers, state, level in (fenced, "fenced", WARNING), (leaving, "in controlled shutdown", NOTE):
        if numbers:
            named = ", ".join(map(str, numbers[:5])) + ", ..." * (len(numbers) > 5)
            yield Finding(level, f"{counted(len(numbers), 'broker')} {state}: {named}.", "brokers")


def quorum(report: MetadataReport) -> Iterator[Finding]:
    epochs = report.answers.by_name["epochs"].rows
    if len(epochs) > 1:
        level = WARNING if len(epochs) > ELECTIONS else NOTE
        yield Finding(level, f"The quorum had {counted(len(epochs), 'leader epoch')} in this log.", "epochs")
    behind = [row for row in report.answers.by_name["nodes"].rows if row[3]]
    if behind:
        most = max(row[3] for row in behind)
        text = f"{counted(len(behind), 'node')} behind the others, by up to {counted(most, 'record')}."
        yield Finding(NOTE, text, "nodes")


def files(report: MetadataReport) -> Iterator[Finding]:
    alone = [row for row in report.answers.by_name["files"].rows if row[5] == "all"]
    if alone:
        yield Finding(NOTE, f"All of the state rests on one file of this node: {alone[0][0]}.", "files")


RULES: tuple[Callable[[MetadataReport], Iterator[Finding]], ...] = (
    damage, partitions, the_past, brokers, quorum, files,
)  # fmt: skip
