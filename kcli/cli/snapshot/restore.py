"""kcli snapshot restore: a new quorum from a snapshot."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from kcli.calendar import now_ms
from kcli.cli.options.inputs import dialect_option, quiet_option, text_format_option
from kcli.cli.terminal.cells import hanging
from kcli.cli.terminal.console import terminal_room
from kcli.cli.terminal.lines import print_line, print_note
from kcli.counting import counted
from kcli.errors import InputError, UsageError, all_of
from kcli.jsontext import dumps
from kcli.snapshots.reading.api import Loaded, load_image, parse_wanted
from kcli.snapshots.reading.files import cluster_of, metadata_directory, open_file
from kcli.snapshots.reading.names import SnapshotId, parse_snapshot_name

if TYPE_CHECKING:
    from kcli.cli.snapshot.restored_node import RestoredNode
    from kcli.snapshots.writing.restoration import Fitness, Voter


@dataclass(frozen=True, kw_only=True)
class RestoreOptions:
    """The options of `kcli snapshot restore`."""

    to: str | None
    voters: str | None
    node_id: int | None
    cluster_id: str | None
    release: str | None
    dry_run: bool
    force: bool
    form: str
    quiet: bool
    dialect: str | None


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SNAPSHOT|DIR...")
@click.option(
    "--to",
    metavar="LOGDIR",
    help="Carry out the steps in this metadata log directory of a new controller (metadata.log.dir, log.dirs).",
)
@click.option(
    "--voters",
    metavar="ID@HOST:PORT[:DIRECTORY_ID],...",
    help="The controllers of the new quorum; if they have directory ids, these are written into the metadata "
    "(KIP-853).",
)
@click.option(
    "--node-id", type=click.IntRange(min=0), metavar="N", help="The node id, if LOGDIR has no meta.properties."
)
@click.option("--cluster-id", metavar="ID", help="The cluster id; by default that of a meta.properties.")
@click.option("--release", metavar="RELEASE", help="The release of Kafka that will load it.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done to LOGDIR.")
@click.option("--force", is_flag=True, help="Replace the metadata log in LOGDIR.")
@text_format_option(paged=False)
@quiet_option("Print only errors, and the actions taken.")
@dialect_option
def restore(sources: tuple[str, ...], **values: Any) -> int:
    """Start a new quorum from a snapshot: check the snapshot and print the steps; with --to carry out those of a node.

    SNAPSHOT is a file; DIR is a metadata log, of which kcli takes the newest snapshot and the log after it, with
    `@OFFSET` or `@TIME` the state at that point. Of several DIRs, nodes of a lost quorum, kcli takes the one with the
    longest log by epoch. It first shows which of its records may be uncommitted, and what the others lack, as `kcli
    snapshot doctor` does.

    kcli creates a `__cluster_metadata-0` in LOGDIR with only this snapshot, and a meta.properties if there is none.
    Without --voters the voters are those of the snapshot or, below kraft.version 1, those of
    `controller.quorum.voters`. Exit code 1: the snapshot is not suitable, and nothing was done.

    \b
    kcli snapshot restore backup/00000000000000001496-0000000001.checkpoint --release 4.4
    kcli snapshot restore backup --to /var/kafka/meta --node-id 1 --cluster-id q1Sh-9_ISia_zwGINzRvyQ
    kcli snapshot restore node1/data node2/data node3/data
    """
    from kcli.cli.snapshot.restored_node import RestoredNode
    from kcli.snapshots.writing import restoration

    options = RestoreOptions(**values)
    if not options.to and (options.dry_run or options.force or options.node_id is not None):
        raise UsageError("--node-id, --dry-run and --force are for --to LOGDIR")
    voters = restoration.parse_voters(options.voters) if options.voters else []
    level = restoration.release_level(options.release) if options.release else None
    source = sources[0] if len(sources) == 1 else survivor_of(sources, options)
    wanted = parse_wanted(source)
    cluster_id = options.cluster_id or cluster_beside(str(wanted.path))
    node = RestoredNode(options.to, options.node_id, cluster_id) if options.to else None
    loaded = load_image(wanted, dialect=options.dialect)
    image = loaded.loader.image
    if not image.provenance.end_offset:
        raise InputError("no snapshot `<offset>-<epoch>.checkpoint`, and no log that leads to one", file=source)
    chosen = restoration.new_voters(image, voters)
    found = [*soundness(loaded, options.dialect), *restoration.fitness(image, chosen, level)]
    found += node.fitness(image, chosen) if node is not None else []
    unfit = any(each.severity == "error" for each in found)
    print_fitness([each for each in found if not options.quiet or each.severity == "error"], options.form)
    if unfit:
        return 1
    rewritten = restoration.with_voters(image, chosen) or len(loaded.sources) > 1 or not is_snapshot(loaded.sources[0])
    if node is not None:
        directory = next((each.directory for each in chosen if each.id == node.node_id), None)
        carry_out(node, loaded, directory, options, rewritten=rewritten)
    if not options.quiet:
        words = {"--cluster-id": (node.cluster_id if node else cluster_id) or "ID", "--voters": options.voters}
        show = print_note if node is not None and options.form == "text" else print_line
        for number, step in enumerate(steps(source, chosen, loaded, words, node), 1):
            show(dumps({"step": number, "what": step}) if options.form == "jsonl" else f"{number}. {step}")
    return 0


def print_fitness(found: Iterable[Fitness], form: str) -> None:
    """Print the findings on the snapshot's fitness."""
    for each in found:
        if form == "jsonl":
            print_line(dumps({"severity": each.severity, "what": each.what}))
            continue
        for line in hanging(f"{each.severity:<5}  ", each.what, terminal_room()):
            print_line(line)


def survivor_of(sources: tuple[str, ...], options: RestoreOptions) -> str:
    """Return the quorum's node with the log to begin with, and notes on the others. Raises InputError."""
    from kcli.cli.snapshot.doctor import read_nodes, show
    from kcli.snapshots.quorum.election import quorum_of
    from kcli.snapshots.quorum.quorum_findings import findings, survivor

    nodes, problems = read_nodes(sources, options.dialect)
    if problems:
        raise all_of(problems)
    quorum = quorum_of(nodes)
    quorum = replace(quorum, best=quorum.longest)
    for each in [survivor(quorum), *findings(quorum)] if not options.quiet else ():
        show(each, options.form)
    return quorum.best.path


def cluster_beside(path: str) -> str | None:
    """Return the cluster id in the meta.properties beside the source's partition folder."""
    return cluster_of(metadata_directory(path) if Path(path).is_dir() else Path(path).absolute().parent)


def soundness(loaded: Loaded, dialect: str | None) -> Iterator[Fitness]:
    """Yield faults of the files, and of the place in the log."""
    from kcli.snapshots.rules.verification import verify
    from kcli.snapshots.writing.restoration import Fitness

    loader, errors = loaded.loader, set[str]()
    for path in filter(is_snapshot, loaded.sources):
        with open_file(path) as file:
            errors |= {each.message for each in verify(file.data, file.name, dialect=dialect, mapped=file.mapped)
                       if each.is_error}  # fmt: skip
    yield from (Fitness("error", each) for each in sorted(errors))
    yield from (Fitness("error", text) for _, text in loader.problems[:20] if not errors)
    if loader.held is not None:
        end = loader.image.provenance.end_offset
        yield Fitness("error", f"offset {end} is inside a metadata transaction")
    if loaded.note is not None:
        yield Fitness("note", loaded.note)


def is_snapshot(path: str) -> bool:
    return parse_snapshot_name(Path(path).name) is not None


def copier(path: str) -> Callable[[IO[bytes]], object]:
    def write(stream: IO[bytes]) -> None:
        with Path(path).open("rb") as source:
            shutil.copyfileobj(source, stream, 1 << 20)

    return write


def rewriter(loaded: Loaded) -> Callable[[IO[bytes]], object]:

    from kcli.snapshots.writing.write import write_snapshot

    return lambda stream: write_snapshot(loaded.loader.image, stream.write, now_ms=now_ms())


def carry_out(
    node: RestoredNode, loaded: Loaded, directory: str | None, options: RestoreOptions, *, rewritten: bool
) -> None:
    """Make the node's log directory with the snapshot, rewritten or copied. Raises UsageError if there is a log."""
    source, provenance = loaded.sources[0], loaded.loader.image.provenance
    name = SnapshotId(provenance.end_offset, provenance.epoch).file_name
    final = node.partition / name
    stays = not rewritten and final.exists() and final.samefile(source)
    remove = node.in_the_way(final if stays else None)
    if remove and not options.force:
        files_text = f"{counted(len(remove), 'file')}, {remove[0].name} first"
        raise UsageError(f"{node.partition}: a metadata log exists already ({files_text}): --force removes it")
    if options.dry_run:
        done = [*(f"would remove {each}" for each in remove), f"would {'keep' if stays else 'write'} {final}"]
        done += [] if node.known else [f"would write {node.log_dir / 'meta.properties'}"]
        for text in done:
            print_step(options.form, text, what=text)
        return
    writer = rewriter(loaded) if rewritten else copier(source)
    with node.locked():
        for text in node.put(name, None if stays else writer, directory, remove):
            print_step(options.form, text, what=text)


def print_step(form: str, text: str, **row: str) -> None:
    print_line(dumps(row) if form == "jsonl" else text)


def steps(
    source: str, voters: list[Voter], loaded: Loaded, options: dict[str, str | None], node: RestoredNode | None
) -> Iterator[str]:
    """Yield the steps to take, by hand and with this command; after one node's part the rest."""
    from kcli.snapshots.writing.restoration import named

    image = loaded.loader.image
    if node is None:
        yield "Stop every broker, then every controller, and copy their metadata logs away."
    given = [word for name, value in options.items() if value for word in (name, value)]
    numbers = [str(each.id) for each in voters if node is None or each.id != node.node_id]
    for number in numbers or ([] if voters else ["N"]):
        words = ["kcli", "snapshot", "restore", source, "--to", "LOGDIR", "--node-id", number, *given]
        yield f"On controller {number}: {shlex.join(words)}"
    if image.kraft_version:
        addresses = ",".join(each.address for each in voters)
        value = f"controller.quorum.bootstrap.servers={addresses}, no controller.quorum.voters"
    else:
        named_voters = ",".join(map(str, voters)) or "ID@HOST:PORT,... of the new controllers"
        value = f"controller.quorum.voters={named_voters}"
    yield f"In every server.properties: {value}"
    brokers = sorted(image.brokers.keys() - {each.id for each in voters})
    if brokers:
        text = f"On nodes that are brokers only ({named(brokers)}): remove __cluster_metadata-0"
        yield f"{text}; meta.properties and the partitions stay."
    first = voters[0].address if voters else "HOST:PORT"
    yield f"Start the controllers, then the brokers. Look at the quorum: kcli snapshot watch {first}"
