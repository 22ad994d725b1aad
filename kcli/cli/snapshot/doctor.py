"""kcli snapshot doctor: findings about a quorum, with or without a leader, and cures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kcli.cli.options.inputs import dialect_option, quiet_option, text_format_option
from kcli.cli.snapshot.live import client_config_option, is_live
from kcli.cli.terminal.cells import broken, hanging
from kcli.cli.terminal.columns import print_rows
from kcli.cli.terminal.console import terminal_room
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_line
from kcli.errors import InputError, unreadable
from kcli.finding import Finding, gravest_first
from kcli.jsontext import dumps
from kcli.snapshots.quorum.election import Quorum, quorum_of
from kcli.snapshots.quorum.node import QuorumNode, read_node
from kcli.snapshots.quorum.quorum_findings import findings

if TYPE_CHECKING:
    from kcli.snapshots.quorum.answers import ControllerAnswer

PAUSE = 1.2  # seconds, in which a running controller writes something, if only that nothing was written

INDENT = " " * 10  # below a finding's severity


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="HOST:PORT|DIR...")
@text_format_option()
@client_config_option
@quiet_option("Only findings.")
@dialect_option
def doctor(sources: tuple[str, ...], form: str, settings: tuple[str, ...], quiet: bool, dialect: str | None) -> int:
    """Find out why a quorum has no leader: reachable nodes, their logs, electable nodes, and commands that help.

    HOST:PORT are controllers: kcli asks each on its own port, and the controllers that they name. DIR is a node's log
    directory (meta.properties beside `__cluster_metadata-0`), or a copy of it. You can give both kinds, and as many
    nodes as you have. Exit code 1: a warning or worse; 3: nothing could be judged.

    \b
    kcli snapshot doctor localhost:9093,localhost:9095,localhost:9097
    kcli snapshot doctor node1/data node2/data node3/data
    """
    live = [each for each in sources if is_live(each)]
    nodes, problems = read_nodes([each for each in sources if each not in live], dialect)
    found, tables = list[Finding](), list[list[list[str]]]()
    if nodes:
        quorum, running = look_again(nodes, dialect)
        found += findings(quorum, running=running, dialect=dialect)
        tables.append(folder_table(quorum))
    if live:
        answers, judged = judge_live(live, settings, quiet)
        found += judged
        tables.append(answer_table(answers))
    found = gravest_first(found)
    if form == "text" and not quiet:
        for headings, *rows in tables:
            print_rows(headings, rows)
    for each in found:
        show(each, form)
    conclude(problems, quiet)
    return 1 if any(each.severity != "info" for each in found) else 0


def look_again(nodes: list[QuorumNode], dialect: str | None) -> tuple[Quorum, bool]:
    """Judge nodes. If one is behind, read it again later, to learn whether the nodes are running."""
    quorum = quorum_of(nodes)
    if all(node.place == quorum.best.place for node in nodes):
        return quorum, False
    time.sleep(PAUSE)
    again, unread = read_nodes([node.path for node in nodes], dialect)
    if unread:
        return quorum, True
    return quorum_of(again), [node.place for node in again] != [node.place for node in nodes]


def judge_live(
    addresses: list[str], settings: tuple[str, ...], quiet: bool
) -> tuple[list[ControllerAnswer], list[Finding]]:
    """Ask the controllers, and judge their answers."""
    from kcli.cli.snapshot.doctor_live import ask_controllers
    from kcli.snapshots.quorum.answers import judge_answers

    answers = ask_controllers(addresses, settings, quiet)
    return answers, judge_answers(answers)


def answer_table(answers: list[ControllerAnswer]) -> list[list[str]]:
    """Return the controllers in rows of columns."""
    rows = [["node", "controller", "answers", "leader", "epoch"]]
    for each in answers:
        leader = "?" if each.error else "none" if each.leader < 0 else str(each.leader)
        node = "?" if each.node is None else str(each.node)
        rows.append(
            [node, each.address, "no" if each.error else "yes", leader, "?" if each.epoch < 0 else f"{each.epoch}"]
        )
    return rows


def read_nodes(paths: Sequence[str], dialect: str | None) -> tuple[list[QuorumNode], list[InputError]]:
    """Read the nodes' folders; and what could not be read."""
    nodes, problems = list[QuorumNode](), list[InputError]()
    for path in paths:
        try:
            nodes.append(read_node(path, dialect))
        except OSError as error:
            problems.append(unreadable(error, error.filename or path))
        except InputError as error:
            problems.append(error.within(path))
    return nodes, problems


def folder_table(quorum: Quorum) -> list[list[str]]:
    """Return the nodes in rows of columns."""
    rows = [["node", "folder", "directory id", "log end", "epoch", "votes", "can win"]]
    for node in quorum.nodes:
        votes = verdict_text(quorum, quorum.voter(node) is not None and not quorum.is_stranger(node))
        row = ["?" if node.id is None else str(node.id), node.path, node.identity.directory_id or "-", f"{node.end}"]
        rows.append([*row, f"{node.epoch}", votes, verdict_text(quorum, node.id in quorum.electable)])
    return rows


def verdict_text(quorum: Quorum, yes: bool) -> str:
    """Return the cells that depend on the voters."""
    return "?" if not quorum.is_known else "yes" if yes else "no"


def show(found: Finding, form: str) -> None:
    """Print a finding."""
    if form == "jsonl":
        print_line(dumps(found.row()))
        return
    severity, room = found.severity if found.severity == "info" else found.severity.upper(), terminal_room()
    for line in hanging(f"{severity:<8}  ", f"{found.finding}: {found.text}", room):
        print_line(line)
    for line in broken(f"do: {found.advice}", room, INDENT) if found.severity != "info" else ():
        print_line(line)
