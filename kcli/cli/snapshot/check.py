"""kcli snapshot check: would another metadata.version hold this metadata, and nodes of its release start with it?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcli.cli.options.inputs import dialect_option, quiet_option, text_format_option
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_line, print_note
from kcli.errors import InputError
from kcli.jsontext import dumps
from kcli.snapshots.reading.api import Loaded, load_image, parse_wanted
from kcli.snapshots.reading.names import parse_snapshot_name
from kcli.snapshots.rules.levels import level_name
from kcli.snapshots.rules.supported import newest_level, release_of
from kcli.topic_names import METADATA_FOLDER

if TYPE_CHECKING:
    from kcli.snapshots.rules.compatibility import Misfit
    from kcli.snapshots.rules.preflight import Obstacle

MOST = 20  # records that are named


@click.command()
@click.argument("source", metavar="FILE|DIR")
@click.option(
    "--against",
    required=True,
    metavar="VERSION",
    help="A release (3.9), a metadata.version (3.9-IV0) or a feature level.",
)
@text_format_option()
@quiet_option("No summary, no warnings.")
@dialect_option
def check(source: str, against: str, form: str, quiet: bool, dialect: str | None) -> int:
    """Check whether another metadata.version or release, older or newer, can load a cluster's metadata.

    FILE is a snapshot; for a directory kcli takes the newest snapshot and the log after it, with `@OFFSET` or `@TIME`
    the state at that point. kcli shows which metadata would be lost, features and nodes without support, records that
    would be written in another version, and whether Kafka would refuse the change. It also shows superseded records
    that nodes still replay and the release can't read, so that nodes would not start, with the remedy. If VERSION is a
    release, kcli assumes that all nodes run it; for a metadata.version or a level the nodes registered now must support
    it, as for kafka-features. Exit code 1: something would be lost, or nodes would not start.

    \b
    kcli snapshot check __cluster_metadata-0 --against 3.9
    """
    from kcli.snapshots.rules.compatibility import Misfit, is_release, misfits, parse_level

    target = parse_level(against)
    wanted = parse_wanted(source)
    loaded = load_image(wanted, dialect=dialect)
    loader = loaded.loader
    found = list(misfits(loader.image, target, renewed=is_release(against)))
    for each in found:
        write_misfit(each, form)
    hindrances = list(obstacles(loaded, target, dialect))
    for obstacle in hindrances:
        name, offset = Path(obstacle.file).name, obstacle.offset
        text = f"nodes of {release_of(target)} stop at record {offset} of {name}: {obstacle.what}"
        found.append(Misfit("error", text, 1))
        write(form, text, "error", file=obstacle.file, offset=offset)
    ahead = still_ahead(loader.image.level, target)
    # With a level ahead a snapshot of now would have such records again.
    for text in cures(hindrances, source, is_enough=ahead is None):
        write(form, text, "note")
    if ahead is not None:
        found.append(ahead)
        write(form, ahead.what, ahead.severity)
    if not quiet:
        print_note(summary(loader.image.level, target))
    conclude([InputError(text, file=source) for _, text in loader.problems], quiet)
    return 1 if any(each.severity == "error" for each in found) else 0


def obstacles(loaded: Loaded, target: int, dialect: str | None) -> Iterator[Obstacle]:
    """Find the records that nodes of the level's release can't replay, but for levels that are still in force."""
    from kcli.snapshots.rules.preflight import Preflight

    preflight, image = Preflight(release_of(target), dialect), loaded.loader.image
    partition = Path(loaded.sources[0]).absolute().parent if loaded.sources else Path()
    newest = parse_snapshot_name(Path(loaded.sources[0]).name) if loaded.sources else None
    found = list(preflight.obstacles(loaded.sources, newest.id.end_offset if newest else 0))
    found += preflight.bootstrap(partition.parent) if partition.name == METADATA_FOLDER else []
    for each in found[:MOST]:
        name, level = each.features or ("", 0)
        if each.is_bootstrap or not level or image.features.get(name) != level:
            yield each


def still_ahead(level: int | None, target: int) -> Misfit | None:
    """Return that the level in force is too new for that release: a note with the first step if Kafka lowers it, else
    an error; None if it is not.
    """
    from kcli.snapshots.rules.compatibility import Misfit, refused_by_kafka

    release = release_of(target)
    if level is None or level <= newest_level(release):
        return None
    step = f"metadata.version {level_name(level)} is in force: nodes of {release} "
    if refused_by_kafka(level, target):
        return Misfit("error", f"{step}do not start, and Kafka does not lower it so far", 1)
    step += "start once it is lowered, "
    return Misfit(
        "note", f"{step}and a snapshot stands after the record that set it (kcli snapshot create --log DIR)", 1
    )


def cures(found: list[Obstacle], source: str, *, is_enough: bool) -> Iterator[str]:
    """Yield the steps after which the older nodes start. is_enough: a snapshot has no such records any more."""
    if is_enough and any(not each.is_bootstrap for each in found):
        log = shlex.quote(source.partition("@")[0])
        text = "cure, on each node while it is stopped: a snapshot after these records, from which nodes start"
        yield f"{text}: kcli snapshot create --log {log}"
    for path in sorted({each.file for each in found if each.is_bootstrap}):
        yield f"cure: move {path} away; only an empty log needs it"


def write_misfit(found: Misfit, form: str) -> None:
    needs = None if found.needs is None else level_name(found.needs)
    example = f": {found.example}{', ...' * (found.count > 1)}" if found.example else ""
    text = f"{found.what} ({found.count:,}{example})" + (f": from {needs} on" if needs else "")
    row = {"what": found.what, "count": found.count, "example": found.example or None, "needs": needs}
    write(form, text, found.severity, **row)


def write(form: str, text: str, severity: str, **row: object) -> None:
    """Print a line. row: the object's own members in JSON."""
    if form == "jsonl":
        plain = {"severity": severity, "what": text, "count": 1, "example": None, "needs": None}
        print_line(dumps(plain | {"file": None, "offset": None} | row))
    else:
        print_line(f"{severity:<5}  {text}")


def summary(level: int | None, target: int) -> str:
    """Return the step from level to level, and Kafka's answer to it."""
    from kcli.snapshots.rules.compatibility import refused_by_kafka

    if level is None:
        return f"no metadata.version here -> {level_name(target)}"
    step = f"metadata.version {level_name(level)} -> {level_name(target)}"
    if target > level:
        return f"{step}: an upgrade"
    if target == level:
        return f"{step}: no change"
    if refused_by_kafka(level, target):
        return f"{step}: Kafka refuses this downgrade, even if nothing would be lost"
    return f"{step}: a downgrade that Kafka allows"
