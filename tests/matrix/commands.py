"""kcli's commands as click knows them, and command lines that try every value of every option of theirs."""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from kcli.cli.main import cli
from tests.matrix.inputs import Input

__all__ = ["NOT_RUN", "Command", "commands"]

# Commands that are no question with one answer; each has tests of its own.
NOT_RUN = {
    "broker serve": "serves until it is interrupted",
    "capture": "captures until it is interrupted",
    "pipeline run": "starts Spark",
    "proxy": "serves until it is interrupted",
    "top": "shows traffic on a terminal until it is ended",
}

# Values of an option whose type does not say them, by its metavar, else by its name; OUT and OTHER are files to write.
TEXTS: dict[str, tuple[str, ...]] = {
    "NAME|DIR": ("kip-227-draft", "kip-1018", "no-such"),
    "HOST:PORT[,...]": ("127.0.0.1:1", ":x", "[::1"),
    "FILE|KEY=VALUE": ("retry.backoff.ms=10", "no.such.key=1", "=", "sasl.mechanism=PLAIN"),
    "RELEASE": ("4.4", "3.9", "0.0", "x"),
    "release": ("4.4", "3.9", "0.0", "x"),
    "KIND,...": ("topics,groups", "clients,addresses,racks", "records", ""),
    "T": ("+0.1s", "2026-11-21T00:00:00Z", "2999-01-01", "yesterday", "orders"),
    "NAME": ("Fetch", "produce", "3", "-1", "99999", "Nothing"),
    "name": ("Fetch", "FetchResponse", "FetchRequest", "PartitionRecord", "Nothing", ""),
    "words": ("fetch", "zzz", ""),
    "kind": ("request", "record", "x"),
    "topic": ("__consumer_offsets", "__transaction_state", "__cluster_metadata", "orders", "no/topic"),
    "[PATH]": ("/image", "/image/topics/byName", "/image/configs/**", "nowhere", ""),
    "GLOB": ("**", "/image/*", "[", ""),
    "ID=OFFSET": ("1=5", "1", "x=y", "1=99999999999999999999"),
    "OFFSET-EPOCH": ("796-1", "00000000000000000796-0000000001", "x", "-1--1"),
    "CAPTURED=LIVE": ("a=b", "orders=orders", "a", "=", "a=../x"),
    "X|max": ("max", "1000000", "0", "-1", "nan", "x"),
    "TOPIC[:PARTITION]...": ("orders", "orders:0", ":", "orders:x"),
    "EXPR": (
        "api = 'Fetch' and latency_ms > 0.1",
        "request->>'$.transactionalId' = 'x' or 'UNKNOWN_SERVER_ERROR' in errors",
        "no_such_column > 1",
        "(response->>'$.throttleTimeMs')::int >= 0",
        "exists(select 1)",
        "api",
        "",
    ),
    "OUT": ("OUT", "-", "OTHER"),
    "FILE": ("OUT", "-", "OTHER"),
    "DIR": ("OUT",),
    "NEW": ("OUT",),
    "LOGDIR": ("OUT",),
    "ID@HOST:PORT[:DIRECTORY_ID],...": ("1@h:9093", "1@h:1:AAAAAAAAAAAAAAAAAAAAAg,2@[::1]:1", "1@h", "1@h:0", "x"),
    "FILE|DIR": ("OUT", "-"),
    "URL": (),
    "FILE|URL": ("OUT", "ftp://x"),
}
STRANGE = ("", "x", "é\x1b[31m\u202e\n", "1,2", "{}", "=", "0")
SIZES = ("0", "1", "64k", "1G", "-1", "9" * 30, "x")
PATHS = ("OUT", "missing/file")

# What a command gets where a line says nothing else, so that it has something to do, and ends soon. BROKER is an
# embedded one.
USUAL = {
    "broker move-leader": "--bootstrap BROKER --to 0 --timeout 0.1",
    "decode response": "--api Fetch --api-version 17",
    "down-convert": "--to-magic 1 --output OUT",
    "fetch-session replay": "--speed max",
    "produce": "--bootstrap BROKER",
    "redact": "--output OUT",
    "replay": "--speed max",
    "report": "--output OUT",
    "send": "--bootstrap BROKER",
    "snapshot extract": "--output .",
    "snapshot fetch": "--bootstrap BROKER",
}
PRODUCER = ("max.block.ms=300", "delivery.timeout.ms=300")
QUICK = ("default.api.timeout.ms=300", "request.timeout.ms=300", "socket.connection.setup.timeout.ms=300")
# Options that are left alone: what they start takes too long here.
LEFT_OUT = {"master", "sql", "py_files", "conf", "throughput"}
TALL = {"repeat", "clients", "num_records", "record_size"}  # a high value only asks for much work
MANY = 80  # combinations of choices for each input
DAMAGED = 5  # for a cut or damaged one that part of them
COSTLY = {
    "compare": 1,
    "diagnose": 1,
    "fetch-session replay": 2,
    "produce": 1,
    "replay": 1,
    "report": 1,
    "schema export": 1,
    "send": 2,
    "sql": 2,
    "stats": 8,
}  # the same where each run takes long


class Command(NamedTuple):
    """name: "decode pcap"; params: click's."""

    name: str
    params: Sequence[click.Parameter]

    @property
    def choices(self) -> list[click.Parameter]:
        return [param for param in self.params if isinstance(param.type, click.Choice)]

    def lines(self, inputs: Sequence[Input], rng: random.Random, each: int = MANY) -> Iterator[list[str]]:
        """Command lines: on every sound input that fits all combinations of the two choices with the most values
        (`each` of them, when they are more), on its damaged copies some of them, others each time, and on other inputs
        a few; the other options are there by chance, and each value of each at least once."""
        each = COSTLY.get(self.name, each)
        widest = sorted(self.choices, key=lambda param: -len(values_of(param)))[:2]
        combined = list(itertools.product(*(["", *values_of(param)] for param in widest)))
        fitting = [one for one in inputs if one.fits(self.name)]
        names = [str(param.name) for param in widest]
        seen: set[tuple[str, str]] = set()
        for one in inputs:
            if each < DAMAGED and not one.sound and rng.random() < 0.75:
                continue  # each run takes long: one of four is enough
            most = each if one in fitting and one.sound else max(each // DAMAGED, 1) if one in fitting else min(2, each)
            for chosen in combined if len(combined) <= most else rng.sample(combined, most):
                yield self.line(one, rng, seen, dict(zip(names, chosen, strict=True)))
        for param in self.params:
            for value in values_of(param):
                if (str(param.name), value) not in seen:
                    yield self.line(rng.choice(fitting or inputs), rng, seen, {str(param.name): value})

    def line(self, one: Input, rng: random.Random, seen: set[tuple[str, str]], given: dict[str, str]) -> list[str]:
        """One command line: what is given, the input, and by chance a value of each other choice and of none to two
        other options."""
        free: list[click.Parameter] = [
            param for param in self.params if isinstance(param, click.Option) and param.name not in given
        ]
        others = rng.sample(free, min(rng.choice((0, 1, 1, 2)), len(free)))
        others += [param for param in self.choices if param.name not in given and param not in others]
        given = given | {str(param.name): rng.choice(["", *values_of(param)]) for param in others}
        usual = USUAL.get(self.name, "").split()
        words, files = self.name.split(), []
        for param in self.params:
            value = given.get(str(param.name), "")
            if isinstance(param, click.Argument):
                value = value or argument(param, one, rng)
                files += [value] if value or param.required else []
            elif value:
                words += [value] if is_flag(param) else [param.opts[-1], *([value] * max(param.nargs, 1))]
            elif param.opts[-1] in usual:
                at = usual.index(param.opts[-1])
                words += usual[at : at + 2]
            elif param.required:
                words += [param.opts[-1], str(one.path)]
            seen.add((str(param.name), value))
        if any("--config" in param.opts for param in self.params):
            words += [
                word
                for setting in (*QUICK, *(PRODUCER if self.name == "produce" else ()))
                for word in ("--config", setting)
            ]
        return [*words, "--", *files]


def is_flag(param: click.Parameter) -> bool:
    return bool(getattr(param, "is_flag", False))


def argument(param: click.Parameter, one: Input, rng: random.Random) -> str:
    if param.name in ("name", "words", "topic", "place", "partitions", "shell", "verb"):
        return rng.choice(["", *values_of(param)])
    if isinstance(param.type, click.types.IntParamType):
        return rng.choice(["", *values_of(param)])
    return str(one.path)


def values_of(param: click.Parameter) -> list[str]:
    """Every value of a flag or a choice; of anything else some that are right, at the edge, and wrong."""
    kind = param.type
    if param.name in LEFT_OUT:
        return []
    if is_flag(param):
        return [*param.opts[-1:], *param.secondary_opts]
    if isinstance(kind, click.Choice):
        return [str(choice) for choice in kind.choices]
    if isinstance(kind, (click.IntRange, click.FloatRange)):
        tall = param.name in TALL
        edges = [
            kind.min, None if tall else kind.max, (kind.min or 0) + 1, kind.min - 1 if kind.min is not None else None,
        ]  # fmt: skip
        high = [] if tall else ["2147483648", "9" * 30]
        return [f"{edge:g}" if isinstance(edge, float) else str(edge) for edge in edges if edge is not None] + high
    if isinstance(kind, (click.types.IntParamType, click.types.FloatParamType)):
        return ["0", "-1", "7", "2147483648", "9" * 30, "x"]
    if isinstance(kind, click.Path):
        return list(PATHS)
    if type(kind).__name__ == "Size":
        return list(SIZES)
    metavar = getattr(param, "metavar", None) or ""
    return list(TEXTS.get(metavar, TEXTS.get(str(param.name), STRANGE)))


def commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[Command]:
    """Every command that is no group, NOT_RUN among them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))
        else:
            yield Command(" ".join((*path, name)), found.params)
